"""The boosting estimators as users see them."""

import inspect
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score, learning_curve
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from sumwise import Columns, GradientBoostingClassifier, GradientBoostingRegressor, Subsample, load
from sumwise.errors import DataError, DataWarning, ParameterError, TrainingError
from sumwise.estimators.boosting import base as boosting_base
from sumwise.estimators.boosting import fitted as fitted_boosting
from sumwise.estimators.boosting.rows import LabeledRows
from sumwise.losses import Exponential, Logistic, Multinomial, Poisson, Quantile, Squared

GROWTHS = ["leaf", "depth", "symmetric"]
PREDICT = ["predict", "predict_proba", "decision_function"]
SMALL = {"n_estimators": 6, "min_samples_leaf": 2, "learning_rate": 0.3}
# One tree's leaf is exactly the mean of its rows.
PLAIN = {"learning_rate": 1.0, "l2": 0.0, "min_samples_leaf": 1, "min_child_weight": 0.0}


def make_table(n_rows=150, seed=0):
    """Return X with few and many distinct values, missing ones and infinities, and a target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    X[:, 1] = rng.integers(0, 5, n_rows)
    X[rng.random(n_rows) < 0.2, 2] = np.nan
    X[rng.random(n_rows) < 0.1, 3] = np.inf
    X[rng.random(n_rows) < 0.1, 3] = -np.inf
    y = X[:, 0] + 0.5 * X[:, 1] + np.isnan(X[:, 2]) + (X[:, 3] > 1) + rng.normal(size=n_rows)
    return X, y


X, Y = make_table()
BINARY = (np.median(Y) < Y).astype(int)
FOUR = np.digitize(Y, np.quantile(Y, [0.25, 0.5, 0.75]))
FITS = {
    "regression": (GradientBoostingRegressor, {}, Y, Squared()),
    "quantile": (GradientBoostingRegressor, {"loss": Quantile(level=0.7)}, Y, Quantile(level=0.7)),
    "poisson": (GradientBoostingRegressor, {"loss": "poisson"}, FOUR, Poisson()),
    "two classes": (GradientBoostingClassifier, {}, BINARY, Logistic()),
    "exponential": (GradientBoostingClassifier, {"loss": "exponential"}, BINARY, Exponential()),
    "four classes": (GradientBoostingClassifier, {}, FOUR, Multinomial(4)),
}


@pytest.fixture(params=FITS)
def fit(request):
    """A function that fits one kind of model; its target and loss are attributes."""
    kind, options, target, loss = FITS[request.param]

    def fit_model(X=X, y=target, sample_weight=None, init_score=None, **params):
        model = kind(**{**SMALL, **options, **params})
        return model.fit(X, y, sample_weight, init_score)

    fit_model.target, fit_model.loss = target.astype(np.float64), loss
    return fit_model


def raw_of(model, X):
    """Raw scores of shape (n_outputs, n_rows)."""
    score = getattr(model, "decision_function", model._predict_raw)
    return np.ascontiguousarray(score(X).reshape(len(X), -1).T)


# The four ages


def fit_ages(**params):
    X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    init_score = params.pop("init_score", None)
    model = GradientBoostingRegressor(n_estimators=2, max_leaves=2, **PLAIN, **params)
    return model.fit(X, [14, 16, 24, 26], init_score=init_score), X


@pytest.mark.parametrize("growth", GROWTHS)
def test_four_ages(growth):
    model, X = fit_ages(growth=growth)
    first, second = model.staged_predict(X)
    assert first.tolist() == [15, 15, 25, 25]
    assert (second - first).tolist() == [-1, 1, -1, 1]
    assert second.tolist() == [14, 16, 24, 26]
    assert model.ensemble_.feature.tolist() == [0, -1, -1, 1, -1, -1]
    assert model.ensemble_.gain.tolist() == [50, 0, 0, 2, 0, 0]


def test_four_ages_from_zero():
    # Without the mean as a start the first tree itself says 15 and 25.
    model, _ = fit_ages(init_score=np.zeros(4))
    assert model.ensemble_.base_score.tolist() == [0]
    assert model.ensemble_.value.tolist() == [20, 15, 25, 0, -1, 1]


def test_learning_rate_scales_each_step():
    X = [[0], [1]]
    params = {**PLAIN, "n_estimators": 3, "learning_rate": 0.5}
    model = GradientBoostingRegressor(**params).fit(X, [0, 8])
    assert [stage.tolist() for stage in model.staged_predict(X)] == [[2, 6], [1, 7], [0.5, 7.5]]


def test_scores_without_bound_are_an_error():
    for n_estimators in (1, 2):
        model = GradientBoostingRegressor(
            n_estimators=n_estimators, learning_rate=1e300, min_samples_leaf=1
        )
        with pytest.raises(TrainingError, match="learning_rate"):
            model.fit([[0], [1]], [0, 1e10])


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
    for tree, (start, output) in enumerate(zip(ensemble.start, ensemble.output, strict=True)):
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


# Early stopping


STOPPING = {"early_stopping": True, "n_estimators": 200, "learning_rate": 0.5, "random_state": 0}


def test_early_stopping_keeps_the_best_round(fit):
    model = fit(**STOPPING, n_iter_no_change=4)
    losses = model.history_["validation_loss"]
    assert list(model.history_) == ["validation_loss"]
    assert model.best_iteration_ == losses.argmin() + 1
    assert model.n_trees_ == model.best_iteration_ * fit.loss.n_outputs
    assert len(losses) == model.best_iteration_ + 4 < 200
    assert len(list(model.staged_predict(X))) == model.best_iteration_


def test_early_stopping_measures_the_held_out_rows(fit, seen_rows):
    weight = np.random.default_rng(1).uniform(0.5, 2, len(X))
    weight[::7] = 0
    model = fit(**STOPPING, sample_weight=weight, validation_fraction=0.25)
    (rows,) = seen_rows
    assert np.intersect1d(rows.train, rows.valid).size == 0
    assert np.array_equal(np.union1d(rows.train, rows.valid), np.flatnonzero(weight))
    assert rows.valid.size == np.ceil(0.25 * np.count_nonzero(weight))
    losses = [
        fit.loss.value(fit.target, raw_of(model.truncate(n_rounds), X), weight, rows.valid)
        for n_rounds in range(1, model.best_iteration_ + 1)
    ]
    assert model.history_["validation_loss"][: model.best_iteration_].tolist() == losses


def test_early_stopping_is_deterministic(fit, bytes_of):
    first, again, other = (
        fit(**{**STOPPING, "random_state": seed}, sampler=Subsample()) for seed in (0, 0, 1)
    )
    assert bytes_of(first) == bytes_of(again)
    assert bytes_of(first) != bytes_of(other)


def test_patience_only_says_when_to_stop():
    impatient, patient = (
        GradientBoostingRegressor(**STOPPING, n_iter_no_change=n).fit(X, Y) for n in (1, 30)
    )
    n_rounds = len(impatient.history_["validation_loss"])
    assert n_rounds == impatient.best_iteration_ + 1
    same = patient.history_["validation_loss"][:n_rounds]
    assert np.array_equal(impatient.history_["validation_loss"], same)
    prefix = patient.truncate(impatient.best_iteration_)
    assert np.array_equal(impatient.predict(X), prefix.predict(X))


def test_too_few_rounds_to_stop():
    model = GradientBoostingRegressor(**{**STOPPING, "n_estimators": 3}).fit(X, Y)
    assert model.history_["validation_loss"].size == 3
    assert model.best_iteration_ <= 3


def test_the_first_of_equal_rounds_is_kept():
    constant = np.ones((len(X), 1))
    model = GradientBoostingRegressor(**STOPPING, n_iter_no_change=3).fit(constant, Y)
    assert model.best_iteration_ == 1
    assert np.unique(model.history_["validation_loss"].round(12)).size == 1
    assert model.history_["validation_loss"].size <= 4


def test_held_out_rows_have_the_shares_of_the_classes(seen_rows):
    y = np.repeat(["a", "b", "c"], [100, 40, 10])
    GradientBoostingClassifier(**STOPPING, validation_fraction=0.2).fit(X, y)
    (rows,) = seen_rows
    assert np.bincount(rows.target[rows.valid].astype(int)).tolist() == [20, 8, 2]


@pytest.mark.parametrize("n_rare", [1, 2, 3])
def test_early_stopping_with_a_rare_class(n_rare, seen_rows):
    y = np.zeros(len(X), dtype=int)
    y[:70] = 1
    y[70 : 70 + n_rare] = 2
    model = GradientBoostingClassifier(**{**STOPPING, "n_estimators": 5}).fit(X, y)
    (rows,) = seen_rows
    if n_rare > 1:
        assert 2 in rows.target[rows.train]
    assert model.classes_.tolist() == [0, 1, 2]
    assert np.isfinite(model.predict_proba(X)).all()


def test_early_stopping_with_more_classes_than_held_out_rows():
    y = np.repeat(np.arange(15), 10)
    params = {**STOPPING, "n_estimators": 2, "validation_fraction": 0.02}
    model = GradientBoostingClassifier(**params).fit(X, y)
    assert model.predict_proba(X).shape == (150, 15)


def test_early_stopping_needs_a_row_to_hold_out():
    model = GradientBoostingRegressor(early_stopping=True)
    with pytest.raises(DataError, match="leave none to train on"):
        model.fit(X[:1], Y[:1])
    with pytest.raises(DataError, match="leave none to train on"):
        model.fit(X, Y, sample_weight=np.arange(len(X)) == 3)
    assert model.fit(X[:2], Y[:2]).n_trees_ >= 1


def test_early_stopping_needs_a_row_to_train_on():
    model = GradientBoostingRegressor(early_stopping=True, validation_fraction=0.99)
    with pytest.raises(DataError, match="validation_fraction"):
        model.fit(X[:2], Y[:2])


@pytest.mark.parametrize(("size", "weight"), [(1e154, 1.0), (1e204, 1e-100), (2e178, 1e-50)])
def test_early_stopping_where_the_loss_overflows(size, weight):
    # A single loss is finite, their sum is not, so that no round is better than another.
    y = size * np.random.default_rng(0).choice([-1, 1], len(X))
    model = GradientBoostingRegressor(**STOPPING)
    with pytest.raises(TrainingError, match=r"large|not a number|not finite"):
        model.fit(X, y, np.full(len(X), weight))


def test_without_early_stopping_nothing_is_recorded(fit):
    model = fit()
    assert model.history_ == {}
    assert model.best_iteration_ == 6


# Initial scores


def test_predictions_do_not_contain_the_initial_score(fit):
    shape = (len(X), fit.loss.n_outputs)
    init_score = np.random.default_rng(0).normal(size=shape)
    model = fit(init_score=init_score)
    # With a log link the best constant is still added: 0 may be far from any sensible mean.
    assert model.ensemble_.base_score.any() == (fit.loss.link == "log")
    rows = np.arange(len(X), dtype=np.uint32)
    raw = raw_of(model, X)
    start, end = (
        fit.loss.value(fit.target, np.ascontiguousarray(scores), np.empty(0), rows)
        for scores in (init_score.T, init_score.T + raw)
    )
    assert end < 0.8 * start


def test_the_best_constant_as_initial_score_gives_the_same_trees(fit):
    plain = fit()
    constant = np.tile(plain.ensemble_.base_score, (len(X), 1))
    model = fit(init_score=constant)
    for name in ("feature", "threshold", "left", "value", "gain", "n_rows"):
        assert np.array_equal(getattr(model.ensemble_, name), getattr(plain.ensemble_, name))


def test_training_continues_from_the_scores_of_another_model(fit):
    first = fit(n_estimators=3)
    start = raw_of(first, X)
    second = fit(n_estimators=3, init_score=start.T)
    if fit.loss.link == "log":  # the best constant comes first, and it is not quite zero
        ratio = fit.target.mean() / np.exp(start).mean()
        np.testing.assert_allclose(second.ensemble_.base_score, np.log(ratio), rtol=1e-12)
        return
    whole = fit(n_estimators=6)
    raw = start + raw_of(second, X)
    np.testing.assert_allclose(raw, raw_of(whole, X), rtol=1e-12, atol=1e-12)


def test_initial_score_of_one_output_may_be_flat_or_a_column(bytes_of):
    init_score = np.linspace(-1, 1, len(X))
    flat, column, listed = (
        GradientBoostingClassifier(**SMALL).fit(X, BINARY, init_score=score)
        for score in (init_score, init_score[:, None], init_score.tolist())
    )
    assert bytes_of(flat) == bytes_of(column) == bytes_of(listed)


# Weights


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize(
    "params", [{}, {"sampler": Subsample()}, {"early_stopping": True}], ids=str
)
def test_weight_zero_is_the_same_as_no_row(fit, growth, params, bytes_of):
    weight = np.random.default_rng(2).choice([0.0, 0.5, 1.0, 3.0], len(X))
    kept = weight > 0
    params = {**params, "growth": growth, "random_state": 5}
    with_zeros = fit(sample_weight=weight, **params)
    y = fit.target[kept]
    y = y if isinstance(with_zeros, GradientBoostingRegressor) else y.astype(int)
    without = fit(X=X[kept], y=y, sample_weight=weight[kept], **params)
    assert bytes_of(with_zeros) == bytes_of(without)


def test_weights_of_one_are_the_same_as_none(fit, bytes_of):
    plain = bytes_of(fit())
    assert bytes_of(fit(sample_weight=np.ones(len(X)))) == plain
    assert bytes_of(fit(sample_weight=1)) == plain
    assert bytes_of(fit(sample_weight=[1] * len(X))) == plain


def test_a_common_factor_of_the_weights_changes_no_prediction(fit):
    # A power of two rounds nothing; without penalties it cancels.
    weight = np.random.default_rng(2).uniform(0.1, 1, len(X))
    params = {"l2": 0.0, "min_child_weight": 0.0}
    light, heavy = (fit(sample_weight=factor * weight, **params) for factor in (0.25, 8.0))
    assert np.array_equal(raw_of(light, X), raw_of(heavy, X))


def test_the_class_of_all_the_weight_wins():
    model = GradientBoostingClassifier(**SMALL).fit(X, BINARY, sample_weight=BINARY)
    assert model.classes_.tolist() == [0, 1]
    assert model.predict(X).tolist() == [1] * len(X)
    assert np.isfinite(model.predict_proba(X)).all()


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


# Sampling


@pytest.mark.parametrize(
    "params",
    [{"sampler": Subsample(rate=0.5)}, {"columns": Columns(by_tree=0.5, by_node=0.7)}],
    ids=str,
)
def test_sampling_follows_the_seed(fit, params, bytes_of):
    models = [bytes_of(fit(**params, random_state=seed)) for seed in (0, 0, 1)]
    assert models[0] == models[1] != models[2]


def test_a_generator_as_random_state():
    params = {**SMALL, "sampler": Subsample(rate=0.5)}

    def predict(random_state):
        model = GradientBoostingRegressor(**params, random_state=random_state)
        return model.fit(X, Y).predict(X)

    assert np.array_equal(predict(np.random.RandomState(3)), predict(3))
    assert not np.array_equal(predict(None), predict(None))


def test_without_sampling_the_seed_does_not_matter(fit):
    assert np.array_equal(raw_of(fit(random_state=0), X), raw_of(fit(random_state=1), X))


def test_the_name_of_a_sampler_means_its_defaults():
    params = {**SMALL, "random_state": 0}
    by_name = GradientBoostingRegressor(**params, sampler="subsample").fit(X, Y)
    by_object = GradientBoostingRegressor(**params, sampler=Subsample()).fit(X, Y)
    assert by_name.sampler == "subsample"
    assert np.array_equal(by_name.predict(X), by_object.predict(X))


# Parameters


def test_parameters_are_keywords_only():
    signature = inspect.signature(GradientBoostingRegressor)
    assert {p.kind for p in signature.parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}
    own = dict(inspect.signature(GradientBoostingClassifier).parameters)
    assert [own.pop(name).default for name in ("class_weight", "scale_pos_weight")] == [None, 1.0]
    others = dict(signature.parameters)
    assert others.pop("multi_strategy").default == "one_output_per_tree"
    assert own == others


def test_docstrings_name_every_parameter():
    for kind in (GradientBoostingClassifier, GradientBoostingRegressor):
        assert "{parameters}" not in kind.__doc__
        for name in kind().get_params():
            assert name in kind.__doc__


def test_clone_copies_parts_and_forgets_the_fit():
    model = GradientBoostingRegressor(**SMALL, sampler=Subsample(rate=0.4), columns=Columns())
    model.fit(X, Y)
    copy = clone(model)
    assert copy.get_params(deep=False) == model.get_params(deep=False)
    assert copy.sampler is not model.sampler
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)


def test_nested_parameters():
    model = GradientBoostingRegressor(sampler=Subsample(), columns=Columns())
    assert model.get_params()["sampler__rate"] == 0.8
    model.set_params(sampler__rate=0.3, columns__by_node=0.5, n_estimators=7)
    assert (model.sampler.rate, model.columns.by_node, model.n_estimators) == (0.3, 0.5, 7)
    model.set_params(sampler=Subsample(rate=0.6), sampler__rate=0.2)
    assert model.sampler == Subsample(rate=0.2)
    assert set(GradientBoostingRegressor().get_params()) == set(model.get_params(deep=False))


@pytest.mark.parametrize(
    ("params", "change", "message"),
    [
        ({"sampler": "subsample"}, {"sampler__rate": 0.5}, r"sampler='subsample'.*Subsample\(rate"),
        ({}, {"sampler__rate": 0.5}, r"sampler=None.*Subsample\(rate=\.\.\.\)"),
        ({}, {"columns__by_tree": 0.5}, r"columns=None.*Columns\(by_tree=\.\.\.\)"),
        (
            {"sampler": Subsample()},
            {"sampler": None, "sampler__rate": 0.5},
            r"sampler=None.*Subsample",
        ),
        ({"sampler": Subsample()}, {"sampler__share": 0.5}, r"Subsample.*'share'.*rate"),
        ({}, {"subsample": 0.5}, r"no parameter 'subsample'; did you mean 'sampler'"),
    ],
)
def test_nested_parameters_that_cannot_be_set(params, change, message):
    model = GradientBoostingRegressor(**params)
    with pytest.raises(ValueError, match=message):
        model.set_params(**change)
    assert model.get_params(deep=False)["sampler"] == params.get("sampler")


def test_grid_search_over_the_parameters_of_parts():
    model = GradientBoostingRegressor(**SMALL, sampler=Subsample(), columns=Columns())
    grid = {"sampler__rate": [0.5, 1.0], "columns__by_tree": [0.25, 1.0], "max_depth": [2]}
    search = GridSearchCV(model, grid, cv=3).fit(X, Y)
    assert search.best_params_["columns__by_tree"] == 1.0
    assert search.best_estimator_.sampler.rate == search.best_params_["sampler__rate"]
    assert (model.sampler, model.columns) == (Subsample(), Columns())


def test_grid_search_over_parts():
    grid = {"sampler": [None, "subsample", Subsample(rate=0.5)]}
    search = GridSearchCV(GradientBoostingClassifier(**SMALL), grid, cv=2).fit(X, BINARY)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_pipeline_and_cross_validation():
    X_finite = np.nan_to_num(X, posinf=9, neginf=-9)
    pipeline = make_pipeline(StandardScaler(), GradientBoostingClassifier(**SMALL))
    scores = cross_val_score(pipeline, X_finite, BINARY, cv=4)
    assert scores.shape == (4,)
    assert scores.mean() > 0.6
    pipeline.set_params(gradientboostingclassifier__max_depth=1).fit(X_finite, BINARY)
    assert pipeline[-1].apply(pipeline[:-1].transform(X_finite)).max() == 2


BAD_PARAMETERS = [
    ("loss", ["absolute", None, 1], "must be one of 'auto'"),
    ("n_estimators", [0, -5, 1.5, 10.0, True, "10", None], "integer of at least 1"),
    ("learning_rate", [0, -0.1, np.nan, "0.1", None, True], "number above 0"),
    ("learning_rate", [np.inf], "finite"),
    ("growth", ["best", None, ["leaf"], 0], "one of 'leaf', 'depth', 'symmetric'"),
    ("max_leaves", [1, 0, 2.5, "8"], "integer of at least 2 or None"),
    ("max_depth", [0, -1, 3.0, "3"], "integer of at least 1 or None"),
    ("min_samples_leaf", [0, 0.1, None], "integer of at least 1"),
    ("min_child_weight", [-1, np.nan, None], "number at least 0"),
    ("min_gain", [-1e-9, np.nan, "0"], "number at least 0"),
    ("l1", [-1, np.nan], "number at least 0"),
    ("l2", [-1, np.nan, None], "number at least 0"),
    ("l2", [np.inf], "finite"),
    ("max_delta_step", [-1, np.nan], "number at least 0"),
    ("max_bins", [1, 65536, 64.0, None], "integer of at least 2 and at most 65535"),
    ("sampler", ["bagging", 0.5, Subsample, Columns()], r"Subsample\(\.\.\.\), .*'subsample', "),
    ("columns", ["columns", 0.5, Columns, Subsample()], r"Columns\(\.\.\.\) or None"),
    ("early_stopping", ["yes", 1, None], "one of 'auto', 'oob', True, False"),
    ("validation_fraction", [0, 1.0, 20, -0.1, None], "number above 0 and at most 0.99"),
    ("validation_rows", ["first", 0.2, None], "one of 'random', 'last'"),
    ("scoring", ["auc", None, 3, ["r2", 3]], "must be 'loss', the name of a scikit-learn scorer"),
    ("n_iter_no_change", [0, None, 2.5], "integer of at least 1"),
    ("tol", [-1e-9, np.nan, None], "number at least 0"),
    ("callbacks", [print, [1], "print"], "must be None or a list of functions"),
    ("warm_start", ["yes", None, 1], "one of True, False"),
    ("n_jobs", [0, 1.5, "all", True], "nonzero integer or None"),
]


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [(name, value, rule) for name, values, rule in BAD_PARAMETERS for value in values],
)
@pytest.mark.parametrize("kind", [GradientBoostingClassifier, GradientBoostingRegressor])
def test_bad_parameters(kind, name, value, rule):
    with pytest.raises(ParameterError, match=f"{name}=.*{rule}"):
        kind(**{name: value}).fit(X, BINARY)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (Subsample(rate=0), r"Subsample\(rate=0\).*\(0, 1\]"),
        (Subsample(rate=1.5), r"Subsample\(rate=1\.5\)"),
        (Subsample(rate="half"), r"Subsample\(rate='half'\)"),
        (Columns(by_tree=0), r"Columns\(by_tree=0\).*\(0, 1\]"),
        (Columns(by_level=-1), r"Columns\(by_level=-1\)"),
        (Columns(by_node=np.nan), r"Columns\(by_node=nan\)"),
    ],
    ids=repr,
)
def test_bad_parameters_of_parts(part, message):
    name = "sampler" if isinstance(part, Subsample) else "columns"
    with pytest.raises(ParameterError, match=message):
        GradientBoostingRegressor(**{name: part}).fit(X, Y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_depth": 17}, "max_depth=17.*at most 16"),
        ({"max_leaves": 2**17}, "max_leaves=131072.*at most 65536"),
    ],
)
def test_symmetric_trees_that_are_too_deep(params, message):
    with pytest.raises(ParameterError, match=message):
        GradientBoostingRegressor(growth="symmetric", **params).fit(X, Y)


def test_numpy_numbers_as_parameters(bytes_of):
    plain = GradientBoostingRegressor(n_estimators=3, l2=0.5, max_depth=2).fit(X, Y)
    params = {"n_estimators": np.int64(3), "l2": np.float32(0.5), "max_depth": np.uint8(2)}
    model = GradientBoostingRegressor(**params, random_state=np.int32(4)).fit(X, Y)
    assert np.array_equal(model.predict(X), plain.predict(X))
    assert len(bytes_of(model)) > 0


# Data


def replace_item(array, value):
    array = np.array(array, dtype=np.float64)
    array[5] = value
    return array


ONES = np.ones(len(X))
BAD_DATA = {
    "nan in y": ({"y": replace_item(Y, np.nan)}, "y contains NaN"),
    "inf in y": ({"y": replace_item(Y, np.inf)}, "y contains infinity"),
    "no y": ({"y": None}, "requires y"),
    "short y": ({"y": Y[:-1]}, r"inconsistent numbers of samples: \[150, 149\]"),
    "deep y": ({"y": np.stack([Y, Y], axis=1)[None]}, "y"),
    "flat X": ({"X": Y}, "Expected 2D array"),
    "three dimensions": ({"X": X[None]}, "dim 3"),
    "complex": ({"X": X + 1j}, "Complex data not supported"),
    "no rows": ({"X": X[:0], "y": Y[:0]}, r"0 sample\(s\)"),
    "no features": ({"X": X[:, :0]}, r"0 feature\(s\)"),
    "negative weight": ({"sample_weight": replace_item(ONES, -1)}, r"sample_weight\[5\] is -1"),
    "nan weight": ({"sample_weight": replace_item(ONES, np.nan)}, r"sample_weight\[5\] is nan"),
    "inf weight": ({"sample_weight": replace_item(ONES, np.inf)}, r"sample_weight\[5\] is inf"),
    "no weight": ({"sample_weight": 0 * ONES}, "all sample weights are zero"),
    "short weight": ({"sample_weight": ONES[1:]}, r"sample_weight.*\(149,\), expected \(150,\)"),
    "wide weight": ({"sample_weight": ONES[:, None]}, "Sample weights must be 1D"),
    "words as weight": ({"sample_weight": ["a"] * 150}, "sample_weight must be numbers"),
    "short init_score": ({"init_score": ONES[1:]}, r"init_score.*\(149,\), expected \(150,\)"),
    "wide init_score": ({"init_score": np.ones((150, 2))}, r"init_score.*expected \(150,\)"),
    "nan init_score": ({"init_score": replace_item(ONES, np.nan)}, "init_score must be finite"),
    "words as init_score": ({"init_score": ["a"] * 150}, "init_score"),
}


@pytest.mark.parametrize("name", BAD_DATA)
def test_bad_data(name):
    changes, message = BAD_DATA[name]
    with pytest.raises(ValueError, match=message):
        GradientBoostingRegressor().fit(**{"X": X, "y": Y, **changes})


def test_more_rows_than_can_be_counted():
    rows = np.broadcast_to(0.0, 1 << 32)  # takes no memory
    with pytest.raises(DataError, match="4294967296 rows are too many"):
        LabeledRows(None, X, rows, rows, None, None).find_rows()


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


@pytest.mark.parametrize("name", ["regression", "quantile", "four classes"])
def test_a_training_curve_without_words(name, capsys, bytes_of):
    kind, options, target, loss = FITS[name]
    model = kind(**SMALL, **options, track_training_loss=True).fit(X, target)
    raw = np.array([s.reshape(150, -1).T for s in model._staged_predict_raw(X)])
    expected = [
        loss.value(np.asarray(target, float), np.ascontiguousarray(r), np.empty(0), np.arange(150))
        for r in raw
    ]
    np.testing.assert_allclose(model.history_["training_loss"], expected)
    assert capsys.readouterr() == ("", "")
    assert bytes_of(model) == bytes_of(kind(**SMALL, **options).fit(X, target))


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


@pytest.mark.parametrize(
    ("params", "y", "sample_weight", "message"),
    [
        ({"l2": -1}, BINARY, None, "l2=-1"),
        ({}, BINARY, np.zeros(len(X)), "weights are zero"),
        ({"loss": "exponential"}, FOUR, None, "two classes"),
        ({"n_jobs": 0}, BINARY, None, "n_jobs=0"),
    ],
)
def test_a_failed_fit_leaves_no_model(params, y, sample_weight, message):
    model = GradientBoostingClassifier(**SMALL).fit(X, BINARY)
    with pytest.raises(ValueError, match=message):
        model.set_params(**params).fit(X, y, sample_weight)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    assert not hasattr(model, "best_iteration_")
    assert not hasattr(model, "history_")


def fail(*args):
    raise RuntimeError("broken")


@pytest.mark.parametrize(
    "params",
    [
        {"callbacks": [fail]},
        {"early_stopping": True, "scoring": fail},
        {"early_stopping": True, "random_state": None, "callbacks": [fail]},
        {"loss": "exponential", "l2": -1.0},
    ],
    ids=["callback", "scorer", "seed", "parameter"],
)
@pytest.mark.parametrize("warm_start", [False, True])
def test_a_failed_fit_leaves_nothing_of_both_fits(params, warm_start):
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = GradientBoostingClassifier(**SMALL, early_stopping=True, n_iter_no_change=20)
    model.fit(frame, BINARY)
    learned = set(vars(model)) - set(model.get_params())
    assert {"classes_", "feature_names_in_", "n_features_in_", "schema_"} <= learned
    model.set_params(n_estimators=20, n_iter_no_change=20, warm_start=warm_start, **params)
    with pytest.raises((RuntimeError, ParameterError)):
        model.fit(*((frame, BINARY) if warm_start else (X[:, :3], FOUR % 2)))
    assert set(vars(model)) == set(model.get_params())


def test_an_interrupted_fit_leaves_no_model(monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    model = GradientBoostingRegressor(**SMALL).fit(X, Y)
    monkeypatch.setattr(boosting_base, "boost", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def test_refit_starts_anew(fit, bytes_of):
    model = fit()
    model.fit(X[:60, :2], fit.target[:60])
    fresh = clone(model).fit(X[:60, :2], fit.target[:60])
    assert bytes_of(model) == bytes_of(fresh)


# Values of X


@pytest.mark.parametrize("growth", GROWTHS)
def test_missing_values_take_a_learned_direction(growth):
    X = np.array([[0.0], [1.0], [np.nan]] * 10)
    for y_missing in (0, 10):
        y = np.array([0, 10, y_missing] * 10)
        model = GradientBoostingRegressor(n_estimators=1, growth=growth, **PLAIN).fit(X, y)
        np.testing.assert_allclose(model.predict(X), y, atol=1e-9)
    alone = np.array([3, 3, 8] * 10)
    model = GradientBoostingRegressor(n_estimators=1, growth=growth, **PLAIN).fit(X, alone)
    np.testing.assert_allclose(model.predict(X), alone, atol=1e-9)
    assert model.ensemble_.threshold[0] == np.inf


def test_missing_values_unseen_in_training_go_with_the_larger_child():
    X = [[0.0], [1.0], [1.0]]
    model = GradientBoostingRegressor(n_estimators=1, **PLAIN).fit(X, [0, 9, 9])
    assert model.predict([[np.nan]])[0] == model.predict([[1.0]])[0]
    model = GradientBoostingRegressor(n_estimators=1, **PLAIN).fit(X, [0, 9, 9], [9, 1, 0])
    assert model.predict([[np.nan]])[0] == model.predict([[0.0]])[0]


@pytest.mark.parametrize("growth", GROWTHS)
def test_infinities_are_values(growth):
    X = np.array([[-np.inf], [-1e308], [0.0], [1e308], [np.inf], [np.nan]])
    y = np.array([5.0, -3.0, 8.0, 1.0, 9.0, -6.0])
    params = {**PLAIN, "n_estimators": 1, "growth": growth, "max_depth": 6}
    model = GradientBoostingRegressor(**params).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-9)
    largest = np.finfo(np.float64).max
    assert np.array_equal(model.predict([[largest]]), model.predict([[1e308]]))


def test_columns_that_say_nothing(fit, bytes_of):
    useless = np.column_stack([np.full(len(X), np.nan), np.full(len(X), 3.0), X])
    model, plain = fit(X=useless), fit()
    assert np.array_equal(raw_of(model, useless), raw_of(plain, X))
    assert model.feature_importances_[:2].tolist() == [0, 0]
    useless[:, :2] = 99
    assert np.array_equal(raw_of(model, useless), raw_of(plain, X))


def test_only_columns_that_say_nothing(fit):
    model = fit(X=np.column_stack([np.full(len(X), np.nan), np.full(len(X), 3.0)]))
    raw = raw_of(model, np.array([[1.0, 2.0], [np.nan, np.inf]]))
    assert np.array_equal(raw[:, 0], raw[:, 1])
    np.testing.assert_allclose(raw[:, 0], model.ensemble_.base_score, atol=1e-12)


@pytest.mark.parametrize("growth", GROWTHS)
def test_one_row(growth):
    model = GradientBoostingRegressor(growth=growth, n_estimators=3).fit([[1.0, 2.0]], [7.5])
    assert model.predict([[1.0, 2.0], [np.nan, 9.0]]).tolist() == [7.5, 7.5]
    assert model.n_trees_ == 3


@pytest.mark.parametrize(
    "dtype",
    ["f2", "f4", "g", ">f8", ">f4", "i1", "u1", "i2", "i4", "i8", "u8", ">i4", "O"],
)
def test_types_of_numbers_give_the_same_model(dtype, fit, bytes_of):
    numbers = np.random.default_rng(0).integers(0, 100, (len(X), 3))
    expected = fit(X=numbers.astype(np.float64))
    model = fit(X=numbers.astype(dtype))
    assert bytes_of(model) == bytes_of(expected)
    as_float, as_given = (raw_of(expected, numbers.astype(kind)) for kind in (np.float64, dtype))
    assert np.array_equal(as_float, as_given)


def test_booleans(bytes_of):
    flags = np.random.default_rng(0).random((len(X), 3)) < 0.5
    models = (
        GradientBoostingRegressor(**SMALL).fit(table, Y)
        for table in (flags, flags.astype(float), flags.tolist())
    )
    assert len(set(map(bytes_of, models))) == 1


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_layouts_give_the_same_model(kind, fit, bytes_of):
    table = X.astype(kind)
    wide = np.repeat(np.repeat(table, 2, axis=0), 3, axis=1)
    read_only = table.copy()
    read_only.flags.writeable = False
    layouts = [np.asfortranarray(table), wide[::2, ::3], table[::-1].copy()[::-1], read_only]
    expected = fit(X=table)
    for layout in layouts:
        model = fit(X=layout)
        assert bytes_of(model) == bytes_of(expected)
        assert np.array_equal(raw_of(model, layout), raw_of(expected, table))


def test_memory_mapped_data(tmp_path, fit, bytes_of):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = fit(X=mapped)
    assert bytes_of(model) == bytes_of(fit())
    assert np.array_equal(raw_of(model, mapped), raw_of(model, X))


def test_fit_changes_no_input(fit):
    table, y, weight = X.copy(), fit.target.copy(), np.linspace(0, 1, len(X))
    copies = weight.copy(), np.ones((len(X), fit.loss.n_outputs))
    fit(X=table, y=y, sample_weight=weight, init_score=copies[1])
    assert np.array_equal(table, X, equal_nan=True)
    assert np.array_equal(y, fit.target)
    assert np.array_equal(weight, copies[0])
    assert np.all(copies[1] == 1)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_integers_too_large_for_floats_give_a_warning(dtype):
    numbers = (np.arange(40)[:, None] + 2**60).astype(dtype)
    with pytest.warns(DataWarning, match=r"beyond 2\*\*53.*rounded") as record:
        GradientBoostingRegressor(**SMALL).fit(numbers, np.arange(40))
    assert [warning.filename for warning in record] == [__file__]


def test_integers_that_floats_hold_give_no_warning():
    numbers = np.arange(40)[:, None] + (2**53 - 40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GradientBoostingRegressor(n_estimators=1, max_leaves=40, **PLAIN)
        model.fit(numbers, np.arange(40))
    np.testing.assert_allclose(model.predict(numbers), np.arange(40))


# Frames


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_give_names(frame, bytes_of):
    table = frame({"size": X[:, 0], "count": X[:, 1].astype(int)})
    model = GradientBoostingRegressor(**SMALL).fit(table, Y)
    assert model.feature_names_in_.tolist() == ["size", "count"]
    plain = GradientBoostingRegressor(**SMALL).fit(X[:, :2], Y)
    assert not hasattr(plain, "feature_names_in_")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(model.predict(table), plain.predict(X[:, :2]))
    with pytest.raises(ValueError, match="same order"):
        model.predict(table[["count", "size"]])
    with pytest.raises(ValueError, match="unseen at fit time"):
        model.predict(frame({"size": X[:, 0], "number": X[:, 1]}))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X[:, :2])


def test_missing_values_of_pandas():
    numbers = pd.DataFrame({"a": pd.array([1, 2, None] * 20, dtype="Int64")})
    floats = pd.DataFrame({"a": [1.0, 2.0, np.nan] * 20})
    y = np.tile([1.0, 2.0, 3.0], 20)
    models = (GradientBoostingRegressor(**SMALL).fit(table, y) for table in (numbers, floats))
    first, second = (model.predict(floats) for model in models)
    assert np.array_equal(first, second)
    assert first[2] > first[1] > first[0]


# What is written


def test_silent_by_default(fit, capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fit(early_stopping=True, sampler=Subsample(), columns=Columns(by_tree=0.5))
        model.predict(X)
        list(model.staged_predict(X))
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


def test_verbose_writes_losses_to_standard_error(fit, capfd):
    plain = fit(early_stopping=True, random_state=0)
    model = fit(early_stopping=True, random_state=0, verbose=True)
    out, err = capfd.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert len(lines) == len(model.history_["validation_loss"]) + 1  # the best round
    assert lines[0].startswith("round 1/6  training_loss ")
    assert f"validation_loss {model.history_['validation_loss'][0]:.6g}" in lines[0]
    assert np.array_equal(raw_of(model, X), raw_of(plain, X))
