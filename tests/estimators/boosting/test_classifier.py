"""GradientBoostingClassifier: labels, one class, and the exponential loss."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import learning_curve

from sumwise import GradientBoostingClassifier, GradientBoostingRegressor, load
from sumwise.errors import DataError
from tests.estimators.boosting.fits import BINARY, FOUR, PLAIN, SMALL, X, Y

# Labels


def take(names):
    return np.array(names)[BINARY]


@pytest.mark.parametrize(
    "labels",
    [
        take(["no", "yes"]),
        take(["no", "yes"]).astype(object),
        take(["no", "yes"]).tolist(),
        take([-7, -3]),
        take([-1, 1]),
        take([0, 255]).astype(np.uint8),
        take([False, True]),
        take([-2.0, 5.0]),
        take([1.0, 2.0]).astype(np.float32),
        take([2**53, 2**53 + 1]),
        pd.Series(take(["no", "yes"])),
        pd.Series(take(["no", "yes"]), dtype="category"),
    ],
    ids=lambda labels: f"{type(labels).__name__} {np.asarray(labels).dtype}",
)
def test_labels_of_any_kind(labels):
    model = GradientBoostingClassifier(**SMALL).fit(X, labels)
    plain = GradientBoostingClassifier(**SMALL).fit(X, BINARY)
    expected = np.unique(np.asarray(labels))
    assert model.classes_.tolist() == expected.tolist()
    predictions = model.predict(X)
    assert predictions.dtype == model.classes_.dtype
    assert predictions.tolist() == expected[plain.predict(X)].tolist()
    assert np.array_equal(model.predict_proba(X), plain.predict_proba(X))


def test_labels_of_four_classes_are_sorted():
    names = np.array(["d", "b", "c", "a"])[FOUR]
    model = GradientBoostingClassifier(**SMALL).fit(X, names)
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    assert model.predict_proba(X).shape == (len(X), 4)
    assert np.mean(model.predict(X) == names) > 0.8


@pytest.mark.parametrize(
    "labels",
    [np.array([0, 1.5, "a"] * 50, dtype=object), np.linspace(0, 1, 150)],
    ids=["mixed", "continuous"],
)
def test_labels_that_are_no_classes(labels):
    with pytest.raises(ValueError, match=r"Unknown label type|mixes labels of different types"):
        GradientBoostingClassifier().fit(X, labels)


# Exponential loss


def test_exponential_loss_is_adaboosts():
    X, y = [[0], [0], [0], [1], [1]], np.array([0, 0, 1, 1, 1])
    model = GradientBoostingClassifier(loss="exponential", n_estimators=1, **PLAIN).fit(X, y)
    start = 0.5 * np.log(3 / 2)
    assert model.ensemble_.base_score[0] == pytest.approx(start)
    # A Newton step in the leaf of X = 0: two rows weigh e^start, one e^-start.
    up, down = np.exp(-start), np.exp(start)
    step = (up - 2 * down) / (up + 2 * down)
    scores = model.decision_function([[0], [1]])
    np.testing.assert_allclose(scores, [start + step, start + 1])
    probabilities = model.predict_proba([[0], [1]])[:, 1]
    np.testing.assert_allclose(probabilities, 1 / (1 + np.exp(-2 * scores)))


def test_exponential_loss_is_for_two_classes():
    with pytest.raises(DataError, match=r"exponential.*two classes; y has 4"):
        GradientBoostingClassifier(loss="exponential").fit(X, FOUR)


def test_names_of_losses(bytes_of):
    def predict(**params):
        return GradientBoostingClassifier(**SMALL, **params).fit(X, BINARY).predict_proba(X)

    assert np.array_equal(predict(), predict(loss="log_loss"))
    assert not np.array_equal(predict(), predict(loss="exponential"))
    squared = GradientBoostingRegressor(**SMALL, loss="squared_error").fit(X, Y)
    assert np.array_equal(
        squared.predict(X), GradientBoostingRegressor(**SMALL).fit(X, Y).predict(X)
    )


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"loss": "exponential"},
        {"early_stopping": True, "scoring": "accuracy"},
        {"booster": "ordered"},
        {"booster": "linear", "learning_rate": 0.5},
        {"class_weight": {"one": 2, "two": 3}},
        {"scale_pos_weight": 3.0},
    ],
    ids=str,
)
def test_one_class_is_always_predicted(params, tmp_path):
    own = np.nan_to_num(X, posinf=9, neginf=-9)
    model = GradientBoostingClassifier(**{**SMALL, **params}).fit(own, np.full(150, "one"))
    model.save(tmp_path / "model")
    for fitted in (model, load(tmp_path / "model")):
        assert fitted.classes_.tolist() == ["one"]
        assert fitted.n_classes_ == 1
        np.testing.assert_array_equal(fitted.predict_proba(own), np.ones((150, 1)))
        np.testing.assert_array_equal(fitted.predict_log_proba(own), np.zeros((150, 1)))
        assert set(fitted.predict(own)) == {"one"}
        assert np.all(fitted.decision_function(own) < 0)


@pytest.mark.parametrize("encoding", ["native", "greedy", "ordered"])
def test_one_class_with_categories(encoding, tmp_path):
    frame = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(np.arange(150) % 7)})
    model = GradientBoostingClassifier(**SMALL, categorical_encoding=encoding)
    model.fit(frame, np.full(150, 4)).save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(frame), np.ones((150, 1)))


def test_learning_curves_may_start_with_one_class():
    rows = np.argsort(BINARY, kind="stable")  # small training sets have the first class alone
    _, scores, _ = learning_curve(
        GradientBoostingClassifier(**SMALL), X[rows], BINARY[rows], train_sizes=[0.3, 1.0], cv=3
    )
    assert np.isfinite(scores).all()


def test_logarithms_of_probabilities():
    for y in (BINARY, FOUR):
        model = GradientBoostingClassifier(**SMALL).fit(X, y)
        np.testing.assert_array_equal(model.predict_log_proba(X), np.log(model.predict_proba(X)))
        assert model.n_classes_ == np.unique(y).size
    sure = GradientBoostingClassifier(**SMALL).fit(X, FOUR)
    sure.ensemble_ = replace(sure.ensemble_, base_score=np.array([1e4, 0.0, 0.0, 0.0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        logs = sure.predict_log_proba(X)
    assert np.all(logs[:, 0] == 0)
    assert np.all(logs[:, 1:] < -700)
