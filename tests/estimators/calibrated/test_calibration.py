"""Functions from scores to probabilities, without trees."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logit, softmax
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from sumwise.errors import DataError
from sumwise.estimators.calibrated.calibration import (
    METHODS,
    IsotonicCalibration,
    LogisticCalibration,
    TemperatureCalibration,
    fit_calibration,
    fit_sigmoid,
)
from sumwise.losses.links import LINKS

RNG = np.random.default_rng(0)
N_ROWS = 500


def make_two(seed=0, n_rows=N_ROWS):
    """Scores that are twice the true log odds, classes and weights."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n_rows).round(2) * 4
    class_idx = (rng.random(n_rows) < expit(scores / 2)).astype(int)
    return scores, class_idx, rng.integers(1, 4, n_rows).astype(float)


def make_many(n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    raw = rng.normal(size=(N_ROWS, n_classes)) * 3
    truth = softmax(raw / 3, axis=1).cumsum(axis=1)
    return raw, (rng.random((N_ROWS, 1)) > truth).sum(axis=1), rng.random(N_ROWS) + 0.5


def fit(method, values, class_idx, weight=None, to_shares=None):
    classes = np.unique(class_idx)
    link = LINKS["logistic" if classes.size == 2 else "softmax"]
    return fit_calibration(method, values, class_idx, classes, weight, to_shares or link)


# --- two classes ---


@pytest.mark.parametrize("is_weighted", [False, True])
def test_sigmoids_are_those_of_scikit_learn(is_weighted):
    scores, class_idx, weight = make_two()
    rival = _SigmoidCalibration().fit(scores, class_idx, weight if is_weighted else None)
    own = weight if is_weighted else np.ones(N_ROWS)
    slope, intercept = fit_sigmoid(scores, class_idx == 1, own)
    np.testing.assert_allclose([-slope, -intercept], [rival.a_, rival.b_], rtol=1e-4, atol=1e-4)


def test_a_sigmoid_minimizes_the_log_loss_of_smoothed_targets():
    scores, class_idx, weight = make_two(seed=1)
    n_in, n_out = weight[class_idx == 1].sum(), weight[class_idx == 0].sum()
    target = np.where(class_idx == 1, (n_in + 1) / (n_in + 2), 1 / (n_out + 2))

    def find_loss(line):
        z = line[0] * scores + line[1]
        return (weight * (np.logaddexp(0, z) - target * z)).sum()

    best = minimize(find_loss, [0.0, 0.0], tol=1e-12)
    found = fit_sigmoid(scores, class_idx == 1, weight)
    np.testing.assert_allclose(found, best.x, rtol=1e-4)
    assert find_loss(found) <= best.fun + 1e-9


def test_sigmoids_of_odd_scores_are_finite():
    is_class = np.arange(40) >= 20
    ones = np.ones(40)
    slope, intercept = fit_sigmoid(np.arange(40.0), is_class, ones)  # separated
    assert 0.0 < slope < 100.0
    np.testing.assert_allclose(-intercept / slope, 19.5)
    assert fit_sigmoid(np.full(40, 3.0), is_class, ones) == (0.0, 0.0)  # all equal
    slope, _ = fit_sigmoid(1e12 + np.arange(40.0), is_class, ones)
    assert np.isfinite(slope)
    assert slope > 0.0
    slope, _ = fit_sigmoid(-np.arange(40.0), is_class, ones)  # the wrong way round
    assert slope < 0.0


@pytest.mark.parametrize("is_weighted", [False, True])
def test_isotonic_curves_are_those_of_scikit_learn_within_their_bounds(is_weighted):
    scores, class_idx, weight = make_two()
    weight = weight if is_weighted else np.ones(N_ROWS)
    own = fit("isotonic", scores[:, np.newaxis], class_idx, weight)
    rival = IsotonicRegression(out_of_bounds="clip").fit(scores, class_idx, weight)
    lowest = 1 / (weight.sum() + 2)
    # Between the scores, curves to other ends have other slopes.
    for new, tolerance in ((scores, 1e-12), (np.linspace(-20, 20, 301), lowest)):
        expected = np.clip(rival.predict(new), lowest, 1 - lowest)
        found = own.predict(new[:, np.newaxis], LINKS["logistic"])
        np.testing.assert_allclose(found[:, 1], expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert found.min() > 0.0
    assert found.max() < 1.0


def test_the_temperature_minimizes_the_log_loss():
    scores, class_idx, weight = make_two()
    own = fit("temperature", scores[:, np.newaxis], class_idx, weight)
    assert isinstance(own, TemperatureCalibration)
    assert 1.6 < own.temperature < 2.5  # scores are twice the log odds
    rival = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-8)
    rival.fit(scores[:, np.newaxis], class_idx, weight)
    np.testing.assert_allclose(1 / own.temperature, rival.coef_[0, 0], rtol=0.03)
    assert 1 / own.temperature < rival.coef_[0, 0]  # smoothed targets


def test_half_the_log_odds_have_the_same_temperature():
    scores, class_idx, _ = make_two()
    half = LINKS["half_logistic"]
    own = fit("temperature", scores[:, np.newaxis], class_idx)
    other = fit("temperature", scores[:, np.newaxis] / 2, class_idx, to_shares=half)
    np.testing.assert_allclose(own.temperature, other.temperature, rtol=1e-12)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_temperatures_are_bounded(factor):
    """Separated classes ask for a temperature of 0, scores without information for infinity."""
    _scores, class_idx, _ = make_two()
    separated = factor * (2.0 * class_idx - 1.0)[:, np.newaxis]
    assert 0.009 < fit("temperature", separated, class_idx).temperature < 101
    reversed_scores = -separated
    assert 0.009 < fit("temperature", reversed_scores, class_idx).temperature < 101


# --- several classes ---


@pytest.mark.parametrize("is_weighted", [False, True])
def test_several_classes_have_one_curve_each(is_weighted):
    raw, class_idx, weight = make_many()
    weight = weight if is_weighted else np.ones(N_ROWS)
    shares = softmax(raw, axis=1)
    lowest = 1 / (weight.sum() + 2)
    curves = np.empty_like(raw)
    for k in range(3):
        curve = IsotonicRegression(y_min=lowest, y_max=1 - lowest)
        curves[:, k] = curve.fit(shares[:, k], class_idx == k, weight).predict(shares[:, k])
    found = fit("isotonic", raw, class_idx, weight).predict(raw, LINKS["softmax"])
    np.testing.assert_allclose(found, curves / curves.sum(axis=1, keepdims=True), rtol=1e-12)


def smooth(class_idx, n_classes, weight):
    rest = 1 / (weight.sum() + 2)
    is_class = np.arange(n_classes) == class_idx[:, np.newaxis]
    return np.where(is_class, 1 - rest, rest / (n_classes - 1))


@pytest.mark.parametrize("n_classes", [3, 5])
def test_multinomial_functions_minimize_the_log_loss(n_classes):
    raw, class_idx, weight = make_many(n_classes)
    own = fit("logistic", raw, class_idx, weight)
    assert isinstance(own, LogisticCalibration)
    centered = raw - raw.mean(axis=1, keepdims=True)
    target = weight[:, np.newaxis] * smooth(class_idx, n_classes, weight)

    def find_loss(line):
        return -(target * log_softmax(centered * line[0] + line[1], axis=1)).sum()

    line = np.array([own.slope, own.intercept])
    best = find_loss(line)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 0.1):
        for _ in range(20):
            assert find_loss(line + size * rng.normal(size=line.shape)) > best
    assert (own.slope > 0.2).all()  # scores are three times the log odds
    assert (own.slope < 0.6).all()
    np.testing.assert_allclose(own.intercept.sum(), 0.0, atol=1e-12)


def test_multinomial_functions_of_separated_classes_are_finite():
    class_idx = np.arange(60) % 3
    raw = 10.0 * (np.arange(3) == class_idx[:, np.newaxis])
    for unit in (1e-6, 1.0, 1e6):
        own = fit("logistic", unit * raw, class_idx)
        shares = own.predict(unit * raw, LINKS["softmax"])
        np.testing.assert_allclose(shares.max(axis=1), 1 - 1 / 62, rtol=1e-3)
    constant = fit("logistic", np.zeros((60, 3)), class_idx)
    np.testing.assert_allclose(constant.predict(np.zeros((1, 3)), LINKS["softmax"]), 1 / 3)


def test_adding_a_number_to_all_scores_of_a_row_changes_nothing():
    raw, class_idx, _ = make_many()
    moved = raw + RNG.normal(size=(N_ROWS, 1)) * 10
    for method in METHODS:
        found = [
            fit(method, values, class_idx).predict(values, LINKS["softmax"])
            for values in (raw, moved)
        ]
        np.testing.assert_allclose(*found, atol=1e-5)


def test_the_temperature_of_several_classes_minimizes_the_log_loss():
    raw, class_idx, weight = make_many(4)
    own = fit("temperature", raw, class_idx, weight)

    target = smooth(class_idx, 4, weight)

    def find_loss(temperature):
        return -(weight[:, np.newaxis] * target * log_softmax(raw / temperature, axis=1)).sum()

    assert find_loss(own.temperature) <= min(find_loss(t) for t in np.linspace(1, 6, 200))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_calibration_lowers_the_log_loss_of_overconfident_scores(method, n_classes):
    raw, class_idx, _ = make_many(n_classes)
    new_raw, new_idx, _ = make_many(n_classes, seed=1)
    link = LINKS["softmax"]
    if n_classes == 2:
        raw, new_raw = (np.diff(own, axis=1) for own in (raw, new_raw))
        link = LINKS["logistic"]
    own = fit(method, raw, class_idx)
    before, after = (
        -np.log(shares[np.arange(N_ROWS), new_idx]).mean()
        for shares in (link(new_raw), own.predict(new_raw, link))
    )
    assert after < 0.85 * before


def test_good_probabilities_stay():
    """Scores of well calibrated classes hardly change; curves of each class would change them."""
    rng = np.random.default_rng(0)
    raw = rng.normal(size=(3000, 8)) * 3
    class_idx = (rng.random((3000, 1)) > softmax(raw, axis=1).cumsum(axis=1)).sum(axis=1)
    for method in ("logistic", "temperature"):
        found = fit(method, raw, class_idx).predict(raw, LINKS["softmax"])
        assert np.abs(found - softmax(raw, axis=1)).mean() < 0.015


def test_a_class_without_rows_is_named():
    raw, class_idx, _ = make_many()
    with pytest.raises(DataError, match="none of the 500 rows to calibrate on has class 'c'"):
        fit_calibration(
            "logistic", raw, class_idx % 2, np.array(["a", "b", "c"]), None, LINKS["softmax"]
        )


def test_few_rows_are_enough():
    for method in METHODS:
        own = fit(method, np.array([[-1.0], [2.0]]), np.array([0, 1]))
        shares = own.predict(np.array([[-1.0], [0.5], [2.0]]), LINKS["logistic"])
        assert (np.diff(shares[:, 1]) >= 0).all()
        assert np.isfinite(shares).all()
        assert (shares > 0).all()
        assert (shares < 1).all()


# --- files ---


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_calibrations_are_restored(method, n_classes):
    raw, class_idx, _ = make_many(n_classes)
    raw = raw[:, 1:] if n_classes == 2 else raw
    own = fit(method, raw, class_idx)
    again = METHODS[method].restore(own.to_json(), own.to_arrays(), n_classes)
    link = LINKS["logistic" if n_classes == 2 else "softmax"]
    np.testing.assert_array_equal(own.predict(raw, link), again.predict(raw, link))


CURVE = {"curve_size": [2], "curve_x": [0.0, 1.0], "curve_y": [0.25, 0.5]}


@pytest.mark.parametrize(
    "change",
    [
        {"curve_size": [1]},
        {"curve_size": [2, 0]},
        {"curve_size": [-1]},
        {"curve_size": [2, 2]},
        {"curve_x": [0.0]},
        {"curve_x": [1.0, 0.0]},
        {"curve_x": [1.0, 1.0]},
        {"curve_x": [0.0, np.inf]},
        {"curve_x": [np.nan, 1.0]},
        {"curve_y": [0.5, 0.25]},
        {"curve_y": [0.5, 1.5]},
        {"curve_y": [-0.5, 0.5]},
        {"curve_y": [0.5, np.nan]},
        {"curve_y": [0.1, 0.2, 0.3]},
    ],
    ids=str,
)
def test_unsound_curves_are_refused(change):
    IsotonicCalibration.restore({}, {name: np.array(own) for name, own in CURVE.items()}, 2)
    arrays = {name: np.array(own) for name, own in (CURVE | change).items()}
    with pytest.raises(ValueError, match="calibration"):
        IsotonicCalibration.restore({}, arrays, 2)


@pytest.mark.parametrize(
    ("method", "data"),
    [
        ("logistic", {"slope": [1.0, 2.0], "intercept": [0.0]}),
        ("logistic", {"slope": [np.inf], "intercept": [0.0]}),
        ("logistic", {"slope": ["1", "x"], "intercept": [0.0]}),
        ("logistic", {"slope": 1.0, "intercept": [0.0]}),
        ("logistic", {"slope": [1.0]}),
        ("temperature", {"temperature": 0.0}),
        ("temperature", {"temperature": -1.0}),
        ("temperature", {"temperature": float("nan")}),
        ("temperature", {"temperature": 1e9}),
        ("temperature", {"temperature": None}),
    ],
    ids=str,
)
def test_unsound_numbers_are_refused(method, data):
    with pytest.raises((ValueError, KeyError, TypeError)):
        METHODS[method].restore(data, {}, 2)


def test_log_odds_of_calibrated_probabilities_are_linear_in_the_scores():
    scores, class_idx, _ = make_two()
    own = fit("logistic", scores[:, np.newaxis], class_idx)
    found = own.predict(np.arange(5.0)[:, np.newaxis], LINKS["logistic"])[:, 1]
    np.testing.assert_allclose(np.diff(logit(found)), own.slope[0])
