"""Fitted boosting models: predictions agree, importances, and checks of X."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from sumwise import GradientBoostingClassifier, GradientBoostingRegressor, Subsample
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.boosting import fitted as fitted_boosting
from sumwise.losses import Quantile
from tests.estimators.boosting.fits import (
    BINARY,
    FOUR,
    GROWTHS,
    PLAIN,
    PREDICT,
    SMALL,
    X,
    Y,
    raw_of,
)

# Predictions agree with each other


@pytest.mark.parametrize("growth", GROWTHS)
def test_stages_end_in_the_model_and_equal_its_truncations(fit, growth):
    model = fit(growth=growth)
    for name in [name for name in PREDICT if hasattr(model, name)]:
        stages = list(getattr(model, f"staged_{name}")(X))
        assert len(stages) == model.best_iteration_ == 6
        assert np.array_equal(stages[-1], getattr(model, name)(X))
        for n_rounds, stage in enumerate(stages, start=1):
            truncated = model.truncate(n_rounds)
            assert np.array_equal(stage, getattr(truncated, name)(X))


def test_truncate_leaves_the_model_alone(fit):
    model = fit()
    before = raw_of(model, X)
    short = model.truncate(2)
    assert short.best_iteration_ == 2
    assert short.n_trees_ == 2 * fit.loss.n_outputs
    assert short.apply(X).shape == (len(X), short.n_trees_)
    assert model.best_iteration_ == 6
    assert np.array_equal(raw_of(model, X), before)
    assert np.array_equal(raw_of(model.truncate(6), X), before)


@pytest.mark.parametrize("n_rounds", [0, -1, 7, 2.0, 1.5, "2", None, True])
def test_truncate_refuses_rounds_that_are_not_there(n_rounds):
    model = GradientBoostingRegressor(**SMALL).fit(X, Y)
    with pytest.raises((DataError, ParameterError), match="n_rounds"):
        model.truncate(n_rounds)


def test_score_is_the_sum_of_leaf_values_in_the_order_of_trees(fit):
    model = fit()
    ensemble = model.ensemble_
    leaves = model.apply(X)
    assert leaves.dtype == np.int32
    raw = np.repeat(ensemble.base_score[:, None], len(X), axis=1)
    for tree, (start, output) in enumerate(zip(ensemble.start[:-1], ensemble.output, strict=True)):
        assert np.all(ensemble.feature[start + leaves[:, tree]] == -1)
        raw[output] += ensemble.value[start + leaves[:, tree]]
    assert np.array_equal(raw, raw_of(model, X))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_probabilities_scores_and_labels_agree(n_classes):
    y = BINARY if n_classes == 2 else FOUR
    model = GradientBoostingClassifier(**SMALL).fit(X, y)
    probabilities, scores = model.predict_proba(X), model.decision_function(X)
    assert probabilities.shape == (len(X), n_classes)
    assert np.all((probabilities > 0) & (probabilities < 1))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-15)
    assert np.array_equal(model.predict(X), model.classes_[probabilities.argmax(axis=1)])
    if n_classes == 2:
        assert scores.shape == (len(X),)
        np.testing.assert_allclose(np.log(probabilities[:, 1] / probabilities[:, 0]), scores)
    else:
        exponentials = np.exp(scores)
        expected = exponentials / exponentials.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(probabilities, expected, rtol=1e-13)


def test_extreme_scores_keep_small_probabilities():
    model = GradientBoostingClassifier(**{**PLAIN, "learning_rate": 50.0}, n_estimators=2)
    model.fit([[0], [1]], [0, 1])
    probabilities = model.predict_proba([[0], [1]])
    assert np.all(probabilities > 0)
    assert probabilities[0, 1] == probabilities[1, 0] < 1e-30


@pytest.mark.parametrize("sampler", [None, Subsample(rate=0.5)])
def test_scores_in_training_equal_predictions(fit, sampler, capsys):
    weight = np.random.default_rng(1).uniform(0.5, 2, len(X))
    model = fit(sampler=sampler, sample_weight=weight, verbose=True, random_state=3)
    rows = np.arange(len(X), dtype=np.uint32)
    raws = [raw_of(model.truncate(n_rounds), X) for n_rounds in range(1, 7)]
    losses = [fit.loss.value(fit.target, raw, weight, rows) for raw in raws]
    assert model.history_["training_loss"].tolist() == losses
    assert len(capsys.readouterr().err.splitlines()) == 6


def test_boosting_lowers_the_loss(fit, capsys):
    losses = fit(verbose=True, n_estimators=20).history_["training_loss"]
    assert np.all(np.diff(losses) < 0)
    assert losses[-1] < 0.75 * losses[0]


@pytest.mark.parametrize("growth", GROWTHS)
def test_limits_of_a_tree(growth):
    params = {**SMALL, "growth": growth, "min_samples_leaf": 1}
    stumps = GradientBoostingRegressor(**params, max_depth=1).fit(X, Y)
    assert stumps.apply(X).max() == 2
    four = GradientBoostingRegressor(**params, max_leaves=4).fit(X, Y)
    assert [np.unique(leaves).size for leaves in four.apply(X).T] == [4] * 6


def test_default_limits():
    X = np.arange(2000.0)[:, None]
    y = np.random.default_rng(0).normal(size=2000)
    n_leaves = {}
    for growth in GROWTHS:
        model = GradientBoostingRegressor(n_estimators=1, min_samples_leaf=1, growth=growth)
        n_leaves[growth] = int((model.fit(X, y).ensemble_.feature < 0).sum())
    assert n_leaves["leaf"] == 31
    assert 31 < n_leaves["depth"] <= 64
    assert n_leaves["symmetric"] == 64


# Importances


def test_importances_sum_up_the_splits(fit):
    model = fit()
    ensemble = model.ensemble_
    gains, counts = np.zeros(4), np.zeros(4)
    for feature, gain in zip(ensemble.feature, ensemble.gain, strict=True):
        if feature >= 0:
            gains[feature] += gain
            counts[feature] += 1
    assert np.array_equal(model.get_feature_importances("count", normalize=False), counts)
    np.testing.assert_allclose(model.get_feature_importances("gain", normalize=False), gains)
    np.testing.assert_allclose(model.get_feature_importances("count"), counts / counts.sum())
    np.testing.assert_allclose(model.feature_importances_, gains / gains.sum())
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_importances_find_the_feature_that_matters():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[:, 2] = 7.0
    model = GradientBoostingRegressor(**SMALL).fit(X, X[:, 1])
    assert model.feature_importances_.argmax() == 1
    assert model.feature_importances_[2] == 0


def test_importances_without_a_split_are_zero():
    model = GradientBoostingRegressor(n_estimators=2).fit([[1.0, 2.0], [1.0, 2.0]], [0, 1])
    assert model.feature_importances_.tolist() == [0, 0]
    assert model.get_feature_importances("count").tolist() == [0, 0]


def test_importances_of_an_unknown_kind():
    model = GradientBoostingRegressor(**SMALL).fit(X, Y)
    with pytest.raises(ParameterError, match=r"kind.*cover.*gain.*count"):
        model.get_feature_importances("cover")


def test_raw_scores_of_a_regressor():
    model = GradientBoostingRegressor(**SMALL, loss="poisson").fit(X, FOUR)
    np.testing.assert_allclose(np.exp(model.predict(X, raw=True)), model.predict(X))
    several = GradientBoostingRegressor(**SMALL, loss=Quantile((0.2, 0.8))).fit(X, Y)
    raw = several.predict(X, raw=True)
    np.testing.assert_array_equal(np.sort(raw, axis=1), several.predict(X))
    assert not hasattr(model, "decision_function")  # scikit-learn's regressors have none


def test_rounds_under_names_of_scikit_learn():
    model = GradientBoostingRegressor(**SMALL)
    for name in ("n_iter_", "n_estimators_"):
        assert not hasattr(model, name)
    assert model.fit(X, Y).n_iter_ == model.n_estimators_ == model.best_iteration_ == 6


def test_predict_checks_the_number_of_features():
    model = GradientBoostingRegressor(**SMALL).fit(X, Y)
    for method in (model.predict, model.apply):
        with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4"):
            method(X[:, :3])


INPUTS = {
    "float64": X,
    "float32": X.astype(np.float32),
    "column-major": np.asfortranarray(X),
    "strided": np.repeat(X, 2, axis=0)[::2],
    "read-only": np.broadcast_to(X[:1], X.shape),
    "one row": X[:1],
    "no rows": X[:0],
    "too few features": X[:, :3],
    "one dimension": X[0],
    "three dimensions": X[None],
    "big endian": X.astype(">f8"),
    "float16": X.astype(np.float16),
    "integers": np.arange(8).reshape(2, 4),
    "booleans": np.ones((2, 4), dtype=bool),
    "complex": X.astype(complex),
    "objects": X.astype(object),
    "strings": X.astype(str),
    "masked": np.ma.masked_invalid(X),
    "list": X.tolist(),
    "frame": pd.DataFrame(X, columns=list("abcd")),
    "sparse": sparse.csr_matrix(np.ones((2, 4))),
    "text": "no matrix",
    "nothing": None,
}


def describe(call):
    """What a call returns or raises, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = call()
            result = found.shape, found.dtype, found.tobytes()
        except Exception as error:
            result = type(error), str(error)
    return result, [(warning.category, str(warning.message)) for warning in caught]


@pytest.mark.parametrize("has_names", [False, True])
@pytest.mark.parametrize("rows", INPUTS.values(), ids=INPUTS)
def test_skipping_checks_changes_nothing(rows, has_names, monkeypatch):
    table = pd.DataFrame(X, columns=list("abcd")) if has_names else X
    model = GradientBoostingRegressor(**SMALL).fit(table, Y)
    found = describe(lambda: model.predict(rows))
    monkeypatch.setattr(fitted_boosting, "needs_no_check", lambda model, rows: False)
    assert found == describe(lambda: model.predict(rows))


def test_a_plain_matrix_needs_no_check(fit, monkeypatch):
    model = fit()
    expected = model.predict(X)
    monkeypatch.setattr(fitted_boosting, "read_rows", None)
    for rows in (X, np.asfortranarray(X)):
        assert np.array_equal(model.predict(rows), expected)


CALLS = {
    **{name: (X,) for name in ["apply", *PREDICT, *(f"staged_{name}" for name in PREDICT)]},
    "get_feature_importances": (),
    "truncate": (1,),
    "save": ("unused",),
}


@pytest.mark.parametrize("method", CALLS)
def test_an_unfitted_model_says_so(method):
    model = GradientBoostingClassifier()

    def call():
        list(getattr(model, method)(*CALLS[method]))  # stages are computed as they are asked for

    with pytest.raises(NotFittedError):
        call()


def test_an_unfitted_model_has_no_fitted_attributes():
    model = GradientBoostingRegressor()
    for name in ("feature_importances_", "n_trees_", "ensemble_", "best_iteration_"):
        assert not hasattr(model, name)
    with pytest.raises(NotFittedError):
        model.predict(X)
