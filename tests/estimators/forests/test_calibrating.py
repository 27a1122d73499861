"""Forests that learn from rows unseen by their trees."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_diabetes
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss
from sklearn.utils import shuffle

from sumwise import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    Pasting,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.forests.calibrating import fill_spread, find_spread, widen
from sumwise.export.portable import describe
from sumwise.kernels.runtime.threads import Team
from tests.naive.portable import predict_label, predict_row

SMALL = {"n_estimators": 30, "random_state": 0}


def make_rows(n_rows=300, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4)).round(2)
    score = X[:, 0] + 0.5 * X[:, 1] + 0.6 * rng.logistic(size=n_rows)
    return X, np.digitize(score, [0.0] if n_classes == 2 else [-1.0, 1.0])


def make_numbers(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, 3))
    return X, 5 * X[:, 0] + (0.1 + 2 * X[:, 1]) * rng.normal(size=n_rows)


def covers(bounds, y):
    return (bounds[..., 0] <= y) & (y <= bounds[..., 1])


class Shares:
    """Knows probabilities: those of the rows, by their numbers."""

    def __init__(self, shares, classes):
        self.shares, self.classes_ = shares, classes

    _estimator_type = "classifier"

    def fit(self, X, y):
        return self

    def predict(self, rows):
        return self.classes_[self.predict_proba(rows).argmax(axis=1)]

    def predict_proba(self, rows):
        return self.shares[rows[:, 0].astype(int)]

    def __sklearn_tags__(self):
        return RandomForestClassifier().__sklearn_tags__()

    def __sklearn_is_fitted__(self):
        return True


@pytest.mark.parametrize(
    ("method", "n_classes"), [("isotonic", 2), ("isotonic", 3), ("logistic", 2)]
)
def test_out_of_bag_shares_are_calibrated_as_by_scikit_learn(method, n_classes):
    X, y = make_rows(400, n_classes)
    model = RandomForestClassifier(**SMALL, calibrate=method, oob_score=True).fit(X, y)
    known = Shares(model.oob_decision_function_, model.classes_)
    rows = np.arange(400.0)[:, np.newaxis]
    name = "sigmoid" if method == "logistic" else method
    rival = CalibratedClassifierCV(FrozenEstimator(known), method=name).fit(rows, y)
    plain = RandomForestClassifier(**SMALL).fit(X, y)
    new = Shares(plain.predict_proba(X), model.classes_)
    rival.calibrated_classifiers_[0].estimator = new
    # Isotonic curves end at 1 / (n + 2), and several are divided by their sum.
    tolerance = 1e-3 if method == "logistic" else 0.01
    np.testing.assert_allclose(model.predict_proba(X), rival.predict_proba(rows), atol=tolerance)
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("method", ["isotonic", "logistic"])
def test_probabilities_improve(kind, method):
    X, y = make_rows(500)
    X_new, y_new = make_rows(2000, seed=1)
    params = SMALL | {"max_features": None}
    plain = kind(**params).fit(X, y).predict_proba(X_new)
    model = kind(**params, calibrate=method).fit(X, y)
    assert log_loss(y_new, model.predict_proba(X_new)) < 0.9 * log_loss(y_new, plain)


FORESTS = {
    "oob": RandomForestRegressor(**SMALL, conformal=True),
    "cv": RandomForestRegressor(**SMALL, conformal=True, calibration_rows=3),
    "extra": ExtraTreesRegressor(n_estimators=10, conformal=True, calibration_rows=3),
}


@pytest.mark.parametrize("name", FORESTS)
def test_intervals_cover_targets_and_follow_the_noise(name):
    """Eight splits of 300 and 500 rows: the mean coverage has a standard deviation of 0.01."""
    shares, by_noise, widths = [], [], []
    for seed in range(8):
        X, y = make_numbers(800, seed)
        model = clone(FORESTS[name]).set_params(random_state=seed).fit(X[:300], y[:300])
        bounds = model.predict_interval(X[300:], 0.8)
        is_noisy = X[300:, 1] > 0.5
        own = covers(bounds, y[300:])
        shares.append(own.mean())
        by_noise.append([own[is_noisy].mean(), own[~is_noisy].mean()])
        width = bounds[:, 1] - bounds[:, 0]
        widths.append(width[is_noisy].mean() / width[~is_noisy].mean())
    assert 0.77 < np.mean(shares) < 0.85
    assert np.mean(widths) > 1.3
    assert np.ptp(np.mean(by_noise, axis=0)) < 0.25


def test_intervals_cover_real_targets():
    X, y = load_diabetes(return_X_y=True)
    shares = []
    for seed in range(8):
        X_own, y_own = shuffle(X, y, random_state=seed)
        model = clone(FORESTS["oob"]).fit(X_own[:300], y_own[:300])
        shares.append(covers(model.predict_interval(X_own[300:], 0.9), y_own[300:]).mean())
    assert 0.87 < np.mean(shares) < 0.95


def test_sets_cover_classes():
    shares = []
    for seed in range(8):
        X, y = make_rows(800, 3, seed)
        model = RandomForestClassifier(**SMALL, conformal=True).fit(X[:300], y[:300])
        shares.append(model.predict_set(X[300:], 0.8)[np.arange(500), y[300:]].mean())
    assert 0.77 < np.mean(shares) < 0.86


# --- the spread of trees ---


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_the_spread_is_the_standard_deviation_of_the_trees(shift, n_outputs):
    X, y = make_numbers(80)
    y = (y if n_outputs == 1 else np.column_stack([y, 10 * y])) + shift
    forest = RandomForestRegressor(n_estimators=7, random_state=0).fit(X, y)
    trees = np.array([tree.predict(X).reshape(80, -1) for tree in forest])
    base, spread = forest._predict_spread(X)
    np.testing.assert_array_equal(base, forest.predict(X).reshape(80, -1))
    np.testing.assert_allclose(spread, trees.std(axis=0, ddof=1), rtol=1e-5, atol=1e-4)


def test_out_of_bag_spreads_are_of_the_trees_that_have_not_seen_the_row():
    X, y = make_numbers(60)
    model = RandomForestRegressor(n_estimators=12, conformal=True, oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match="in the bag of every member"):
        model.set_params(n_estimators=4).fit(X, y)
    seen = np.array([np.isin(np.arange(60), rows) for rows in model.estimators_samples_])
    trees = np.where(seen, np.nan, [tree.predict(X) for tree in model])
    n_trees = (~seen).sum(axis=0)
    kept = n_trees > 0
    spread = np.full(60, np.nan)
    spread[n_trees > 1] = np.nanstd(trees[:, n_trees > 1], axis=0, ddof=1)
    spread = np.where(np.isnan(spread), np.nanmean(spread), spread)[kept]
    scores = (y - model.oob_prediction_)[kept] / (spread + 0.3 * spread.mean())
    np.testing.assert_allclose(model.conformal_.residuals.scores[:, 0], np.sort(scores))


def test_huge_targets_have_finite_intervals():
    X, y = make_numbers(100)
    for unit in (2.0**800, 2.0**-800):
        bounds = clone(FORESTS["oob"]).fit(X, unit * y).predict_interval(X)
        assert np.isfinite(bounds).all()
        np.testing.assert_allclose(
            bounds / unit, clone(FORESTS["oob"]).fit(X, y).predict_interval(X), rtol=1e-6
        )


def test_a_single_tree_has_constant_widths():
    X, y = make_numbers(150)
    model = RandomForestRegressor(n_estimators=1, conformal=True, random_state=0).fit(X, y)
    width = np.diff(model.predict_interval(X, 0.5), axis=1)
    np.testing.assert_allclose(width, width[0, 0])


def test_spreads_that_are_not_known_are_replaced_by_the_mean():
    spread = np.array([[1.0], [np.nan], [3.0]])
    assert fill_spread(spread, None).ravel().tolist() == [1.0, 2.0, 3.0]
    assert fill_spread(spread, np.array([3.0, 1.0, 1.0])).ravel().tolist() == [1.0, 1.5, 3.0]
    assert fill_spread(np.full((2, 1), np.nan), None).ravel().tolist() == [0.0, 0.0]


def test_wide_forests_have_the_same_trees():
    X, y = make_numbers(50)
    forest = RandomForestRegressor(n_estimators=3, random_state=0).fit(X, y).forest_
    wide = widen(forest, Team(1))
    assert wide.n_outputs == 2
    assert wide.feature is forest.feature
    means = wide.predict_raw(X, Team(1))
    base, _ = find_spread(forest, means, np.array([3]))
    np.testing.assert_array_equal(base, forest.predict_raw(X, Team(1)))


# --- rows ---


def test_rows_are_out_of_bag_unless_trees_have_seen_them_all():
    X, y = make_rows()
    for params, expected in [
        ({}, True),
        ({"resampling": Pasting(0.5)}, True),
        ({"calibration_rows": "oob"}, True),
        ({"bootstrap": False}, False),
        ({"calibration_rows": "cv"}, False),
        ({"calibration_rows": 3}, False),
        ({"prune": "oob"}, False),
    ]:
        model = RandomForestClassifier(n_estimators=15, conformal=True, **params)
        assert model._learns_out_of_bag() is expected
        assert model.fit(X, y).conformal_.shares.n_rows <= len(y)


def test_out_of_bag_rows_may_not_exist():
    X, y = make_rows(30)
    for params in ({"bootstrap": False}, {"leaf_posterior": "oob"}):
        model = RandomForestClassifier(calibrate="logistic", calibration_rows="oob", **params)
        with pytest.raises(ParameterError, match="calibration_rows='oob' needs rows"):
            model.fit(X, y)
    model = RandomForestRegressor(1, conformal=True, max_samples=1000, random_state=0)
    with pytest.raises(DataError, match="every row is in the bags of all trees"):
        model.fit(X, y)
    assert not hasattr(model, "forest_")


def test_more_trees_are_calibrated_again():
    X, y = make_rows()
    for rows in ("oob", 3):
        params = {"calibrate": "isotonic", "conformal": True, "calibration_rows": rows}
        model = RandomForestClassifier(10, random_state=0, warm_start=True, **params).fit(X, y)
        model.set_params(n_estimators=25).fit(X, y)
        at_once = RandomForestClassifier(25, random_state=0, **params).fit(X, y)
        np.testing.assert_array_equal(model.predict_proba(X), at_once.predict_proba(X))
        np.testing.assert_array_equal(model.predict_set(X), at_once.predict_set(X))


def test_rows_of_weight_zero_do_not_count():
    X, y = make_numbers(200)
    weight = np.random.default_rng(0).integers(0, 3, 200).astype(float)
    wild = np.where(weight > 0, y, 1e6)
    for model in FORESTS.values():
        own = clone(model).set_params(random_state=0)
        bounds = own.fit(X, wild, sample_weight=weight).predict_interval(X)
        assert np.abs(bounds).max() < 100
        assert own.conformal_.residuals.n_rows <= (weight > 0).sum()
        assert own.conformal_.residuals.weights is not None


@pytest.mark.parametrize("rows", ["oob", 2])
def test_models_are_the_same_for_any_number_of_threads(rows, teams, bytes_of):
    X, y = make_numbers()
    files = {
        bytes_of(clone(FORESTS["oob"]).set_params(n_jobs=n_jobs, calibration_rows=rows).fit(X, y))
        for n_jobs in (1, 2, 4)
    }
    assert len(files) == 1


def test_the_trees_are_those_of_a_plain_fit(bytes_of):
    X, y = make_rows()
    model = RandomForestClassifier(**SMALL, calibrate="isotonic").fit(X, y)
    del model.calibration_
    assert bytes_of(model.set_params(calibrate=None)) == bytes_of(
        RandomForestClassifier(**SMALL).fit(X, y)
    )


# --- outputs ---


def test_several_labels_per_row_are_refused():
    X, y = make_rows(60)
    for params in ({"calibrate": "logistic"}, {"conformal": True}):
        with pytest.raises(DataError, match="for one label per row"):
            RandomForestClassifier(**params).fit(X, np.column_stack([y, y]))


def test_several_targets_have_an_interval_each():
    X, y = make_numbers()
    both = np.column_stack([y, 100 * X[:, 2]])
    bounds = clone(FORESTS["oob"]).fit(X, both).predict_interval(X, 0.8)
    assert bounds.shape == (300, 2, 2)
    for k in range(2):
        assert covers(bounds[:, k], both[:, k]).mean() > 0.8


def test_counts_have_no_negative_bounds():
    X, y = make_numbers()
    counts = np.random.default_rng(0).poisson(np.exp(y / 3))
    model = RandomForestRegressor(**SMALL, criterion="poisson", conformal=True).fit(X, counts)
    assert model.predict_interval(X, 0.9).min() == 0.0


def test_temperatures_are_for_boosting():
    with pytest.raises(ParameterError, match="must be one of 'isotonic', 'logistic'"):
        RandomForestClassifier(calibrate="temperature").fit(*make_rows(30))


@pytest.mark.parametrize("method", ["isotonic", "logistic"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_calibrated_forests_are_described(method, n_classes):
    X, y = make_rows(150, n_classes)
    model = RandomForestClassifier(6, calibrate=method, random_state=0, calibration_rows=2)
    model.fit(X, np.array(["a", "b", "c"])[y])
    X = np.vstack([X[:40], np.full((1, 4), np.nan)])
    portable = describe(model)
    found = np.array([predict_row(portable, row) for row in X.tolist()])
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=1e-12)
    assert [predict_label(portable, row) for row in X.tolist()] == model.predict(X).tolist()
