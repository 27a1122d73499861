"""Metrics: their values are those of scikit-learn, for averages and single predictions."""

import numpy as np
import pytest
from sklearn import metrics as theirs
from sklearn.metrics import fbeta_score, make_scorer

from sumwise import AutoEnsembleClassifier, AutoEnsembleRegressor
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.auto.metrics import choose_loss, measure_area, resolve_metric

RNG = np.random.default_rng(0)
WEIGHT = RNG.integers(1, 4, 40).astype(float)
LABELS = np.array(["a", "b", "c"])
Y = RNG.integers(0, 3, 40)
SHARES = RNG.dirichlet(np.ones(3), 40)
Y2 = Y % 2
SHARES2 = np.round(RNG.dirichlet(np.ones(2), 40), 1)  # with ties
NUMBERS, PREDICTED = RNG.normal(size=40), RNG.normal(size=40)


def resolve(metric, classes=None):
    owner = AutoEnsembleRegressor() if classes is None else AutoEnsembleClassifier()
    return resolve_metric(metric, owner, classes)


CASES = {
    "log_loss": (LABELS, SHARES, Y, theirs.log_loss, SHARES),
    "accuracy": (LABELS, SHARES, Y, theirs.accuracy_score, LABELS[SHARES.argmax(axis=1)]),
    "roc_auc": (LABELS[:2], SHARES2, Y2, theirs.roc_auc_score, SHARES2[:, 1]),
    "rmse": (None, PREDICTED, NUMBERS, theirs.root_mean_squared_error, PREDICTED),
    "mae": (None, PREDICTED, NUMBERS, theirs.mean_absolute_error, PREDICTED),
}


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_scikit_learn(name, weight):
    classes, predicted, y, function, their_predicted = CASES[name]
    their_y = y if classes is None else classes[y]
    expected = function(their_y, their_predicted, sample_weight=weight)
    metric = resolve(name, classes)
    score = metric.measure(predicted, y, weight)
    assert metric.show(score) == pytest.approx(expected)
    assert score == pytest.approx(metric.sign * expected)


def test_area_of_several_classes():
    expected = theirs.roc_auc_score(LABELS[Y], SHARES, multi_class="ovr")
    metric = resolve("roc_auc", LABELS)
    assert metric.measure(SHARES, Y, None) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["log_loss", "accuracy", "roc_auc", None])
def test_what_is_looked_at_is_linear(name):
    metric = resolve(name, LABELS)
    several = np.stack([SHARES, SHARES[::-1]])
    compact = metric.compact(several, Y)
    np.testing.assert_allclose(compact.mean(axis=0), metric.compact(several.mean(axis=0), Y))


def test_defaults():
    assert resolve(None, LABELS).name == "log_loss"
    assert resolve(None).name == "rmse"
    assert choose_loss(resolve("mae"), is_class=False) == "absolute_error"
    assert choose_loss(resolve("rmse"), is_class=False) == "auto"


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        ("neg_log_loss", "neg_log_loss"),
        ("balanced_accuracy", "balanced_accuracy"),
        (make_scorer(fbeta_score, beta=2, average="macro"), "fbeta_score"),
        (theirs.log_loss, "log_loss"),
    ],
)
def test_scorers_and_functions(metric, name):
    found = resolve(metric, LABELS)
    assert found.name == name
    assert not found.is_quick
    assert np.isfinite(found.measure(SHARES, Y, WEIGHT))
    assert found.measure(np.eye(3)[Y], Y, None) > found.measure(SHARES, Y, None)


def test_a_scorer_of_numbers():
    found = resolve("r2")
    assert found.measure(PREDICTED, NUMBERS, None) == theirs.r2_score(NUMBERS, PREDICTED)
    assert found.is_quick is False


def test_unknown_metrics_are_refused():
    with pytest.raises(ParameterError, match="metric='rsme'; must be 'rmse', 'mae'"):
        resolve("rsme")
    with pytest.raises(ParameterError, match="must be 'log_loss', 'roc_auc', 'accuracy'"):
        resolve(3, LABELS)


def test_a_score_that_cannot_be_computed_is_the_worst():
    metric = resolve("roc_auc", LABELS[:2])
    score = metric.measure(SHARES2, np.zeros(40, dtype=int), None)
    assert score == -np.inf
    assert np.isnan(metric.show(score))
    with pytest.raises(DataError, match="metric 'roc_auc' gives nan"):
        metric.require_score(SHARES2, np.zeros(40, dtype=int), None)


def test_area_by_pairs():
    scores, is_positive = np.array([1.0, 1.0, 2.0, 3.0]), np.array([True, False, False, True])
    # Of four pairs, the positive row is above in two, and ties in one.
    assert measure_area(scores, is_positive, None) == 2.5 / 4


def test_the_standard_error_of_a_mean():
    errors = np.random.default_rng(0).normal(size=4000)
    found = resolve("mae").estimate_error(errors, np.zeros(4000), None)
    assert found == pytest.approx(np.abs(errors).std() / np.sqrt(4000), rel=0.4)
    assert np.isnan(resolve("mae").estimate_error(np.ones(1), np.zeros(1), None))
