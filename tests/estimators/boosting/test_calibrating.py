"""Boosting that learns from rows unseen by its trees."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_diabetes
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss

import sumwise
from sumwise import GradientBoostingClassifier, GradientBoostingRegressor, Quantile
from sumwise.errors import DataError, DataWarning, ParameterError
from sumwise.estimators.calibrated.unseen import draw_folds
from sumwise.estimators.forests.parameters import draw_seed
from sumwise.export.portable import Affine, Curve, Link, Share, describe, list_nodes
from tests.naive.portable import predict_label, predict_row

SMALL = {"n_estimators": 15, "max_leaves": 8, "min_samples_leaf": 5, "random_state": 0}
OVERFIT = {"n_estimators": 60, "learning_rate": 0.5, "min_samples_leaf": 2, "random_state": 0}


def make_rows(n_rows=300, n_classes=2, seed=0):
    """Noisy classes: many rounds make boosting overconfident."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4)).round(2)
    score = X[:, 0] + 0.5 * X[:, 1] + rng.logistic(size=n_rows)
    return X, np.digitize(score, [0.0] if n_classes == 2 else [-1.0, 1.0])


def make_numbers(n_rows=300, seed=0):
    """The noise grows with the second feature."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, 3))
    return X, 5 * X[:, 0] + (0.1 + 2 * X[:, 1]) * rng.normal(size=n_rows)


def covers(bounds, y):
    return (bounds[..., 0] <= y) & (y <= bounds[..., 1])


# --- equal to scikit-learn's on the same rows ---


@pytest.mark.parametrize(("method", "rival"), [("isotonic", "isotonic"), ("logistic", "sigmoid")])
@pytest.mark.filterwarnings("ignore:Since FrozenEstimator does not appear to accept")
@pytest.mark.parametrize("is_weighted", [False, True])
def test_two_classes_are_calibrated_as_by_scikit_learn(method, rival, is_weighted):
    X, y = make_rows(500)
    train, valid = (X[:300], y[:300]), (X[300:], y[300:])
    weight = np.random.default_rng(1).integers(0, 3, 200) if is_weighted else None
    model = GradientBoostingClassifier(
        **SMALL, calibrate=method, calibration_rows="holdout", early_stopping=False
    )
    model.fit(*train, X_val=valid[0], y_val=valid[1], sample_weight_val=weight)
    plain = GradientBoostingClassifier(**SMALL).fit(*train)
    expected = CalibratedClassifierCV(FrozenEstimator(plain), method=rival).fit(*valid, weight)
    found, known = model.predict_proba(valid[0]), expected.predict_proba(valid[0])
    if method == "isotonic":
        lowest = 1 / ((200 if weight is None else weight.sum()) + 2)
        known = np.clip(known, lowest, 1 - lowest)
    np.testing.assert_allclose(found, known, atol=2e-4 if method == "logistic" else 1e-12)
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_cross_validation_predicts_rows_by_models_of_the_others(n_classes):
    """The same as by hand; the final model has learned from all rows."""
    X, y = make_rows(n_classes=n_classes)
    model = GradientBoostingClassifier(**SMALL, calibrate="logistic", calibration_rows=3).fit(X, y)
    plain = GradientBoostingClassifier(**SMALL)
    folds = draw_folds(3, len(y), y, None, draw_seed(0))
    raw = np.empty((len(y), 1 if n_classes == 2 else 3))
    for k in range(3):
        own = clone(plain).fit(X[folds != k], y[folds != k])
        raw[folds == k] = own.decision_function(X[folds == k]).reshape(-1, raw.shape[1])
    plain.fit(X, y)
    plain._learn_from_unseen(raw, y, None)  # not calibrated: calibrate is None
    assert not plain._is_calibrated()
    plain.set_params(calibrate="logistic")._learn_from_unseen(raw, y, None)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))


# --- better probabilities ---


def find_calibration_error(shares, y, n_bins=10):
    """Mean distance of the confidence from the accuracy, over bins of equal size."""
    confidence, is_right = shares.max(axis=1), shares.argmax(axis=1) == y
    bins = np.array_split(np.argsort(confidence, kind="stable"), n_bins)
    return np.mean([abs(confidence[rows].mean() - is_right[rows].mean()) for rows in bins])


@pytest.mark.parametrize("method", ["isotonic", "logistic", "temperature"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_overconfident_probabilities_improve(method, n_classes):
    X, y = make_rows(600, n_classes)
    X_new, y_new = make_rows(2000, n_classes, seed=1)
    plain = GradientBoostingClassifier(**OVERFIT).fit(X, y).predict_proba(X_new)
    model = GradientBoostingClassifier(**OVERFIT, calibrate=method).fit(X, y)
    found = model.predict_proba(X_new)
    assert log_loss(y_new, found) < 0.7 * log_loss(y_new, plain)
    before, after = (find_calibration_error(shares, y_new) for shares in (plain, found))
    assert after < 0.06 < 0.15 < before
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X_new), found.argmax(axis=1))


def test_calibration_undoes_class_weights():
    """Probabilities are those of the rows as they are; only sample weights change them."""
    X, y = make_rows(600)
    weighted = GradientBoostingClassifier(**SMALL, scale_pos_weight=20.0, calibrate="logistic")
    X_new, y_new = make_rows(2000, seed=1)
    assert abs(weighted.fit(X, y).predict_proba(X_new)[:, 1].mean() - y_new.mean()) < 0.05
    plain = clone(weighted).set_params(calibrate=None).fit(X, y)
    assert plain.predict_proba(X_new)[:, 1].mean() > y_new.mean() + 0.2


def test_a_temperature_does_not_change_labels():
    X, y = make_rows(n_classes=3)
    model = GradientBoostingClassifier(**SMALL, calibrate="temperature").fit(X, y)
    plain = clone(model).set_params(calibrate=None).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


# --- coverage ---

REGRESSORS = {
    "cv": GradientBoostingRegressor(**SMALL, conformal=True),
    "holdout": GradientBoostingRegressor(
        **SMALL, conformal=True, calibration_rows="holdout", validation_fraction=0.3
    ),
    "quantiles": GradientBoostingRegressor(
        **SMALL, conformal=True, loss=Quantile([0.1, 0.5, 0.9]), calibration_rows=3
    ),
}


@pytest.mark.parametrize("name", REGRESSORS)
def test_intervals_cover_simulated_targets(name):
    """Ten splits of 300 and 500 rows: the mean coverage has a standard deviation below 0.011."""
    shares = []
    for seed in range(10):
        X, y = make_numbers(800, seed)
        model = clone(REGRESSORS[name]).set_params(random_state=seed).fit(X[:300], y[:300])
        shares.append(covers(model.predict_interval(X[300:], 0.8), y[300:]).mean())
    assert 0.8 - 0.03 < np.mean(shares) < 0.8 + 0.05


def test_intervals_cover_real_targets():
    X, y = load_diabetes(return_X_y=True)
    shares = []
    for seed in range(8):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:300], order[300:]
        model = clone(REGRESSORS["cv"]).fit(X[train], y[train])
        shares.append(covers(model.predict_interval(X[test], 0.9), y[test]).mean())
    assert 0.87 < np.mean(shares) < 0.95


def test_quantile_intervals_are_wider_where_there_is_noise():
    X, y = make_numbers(800)
    model = clone(REGRESSORS["quantiles"]).set_params(n_estimators=40).fit(X, y)
    X_new, y_new = make_numbers(2000, seed=1)
    bounds = model.predict_interval(X_new, 0.8)
    width = bounds[:, 1] - bounds[:, 0]
    is_noisy = X_new[:, 1] > 0.5
    assert width[is_noisy].mean() > 1.5 * width[~is_noisy].mean()
    assert (width >= 0).all()
    for part in (is_noisy, ~is_noisy):
        assert 0.7 < covers(bounds[part], y_new[part]).mean() < 0.9
    sharp = model.predict_interval(X_new, 0.2)  # levels 0.5 and 0.5
    assert (sharp[:, 0] <= sharp[:, 1]).all()
    assert 0.1 < covers(sharp, y_new).mean() < 0.3


@pytest.mark.parametrize(
    ("loss", "lowest", "highest"),
    [("poisson", 0.0, np.inf), ("squared_log_error", -1.0, np.inf), ("cross_entropy", 0.0, 1.0)],
)
def test_intervals_stay_where_targets_can_be(loss, lowest, highest):
    X, y = make_numbers(300)
    y = np.clip(np.exp(0.3 * y) - 1.0, 0.0, highest)
    model = GradientBoostingRegressor(**SMALL, loss=loss, conformal=True, calibration_rows=2)
    bounds = model.fit(X, y).predict_interval(X, 0.9)
    assert bounds[:, 0].min() >= lowest
    assert bounds[:, 1].max() <= highest
    assert covers(bounds, y).mean() > 0.85
    with pytest.warns(DataWarning, match="intervals are infinite: coverage=0.999 needs at least"):
        bounds = model.predict_interval(X, 0.999)
    assert (bounds[:, 0] == lowest).all()
    assert (bounds[:, 1] == highest).all()


def test_several_targets_have_an_interval_each():
    X, y = make_numbers(400)
    both = np.column_stack([y, 100 * X[:, 2]])
    model = GradientBoostingRegressor(**SMALL, conformal=True, calibration_rows=2).fit(X, both)
    bounds = model.predict_interval(X, 0.8)
    assert bounds.shape == (400, 2, 2)
    for k in range(2):
        assert 0.75 < covers(bounds[:, k], both[:, k]).mean() < 0.97


@pytest.mark.parametrize("rows", ["cv", "holdout"])
def test_sets_cover_classes(rows):
    shares, by_class, sizes = [], [], []
    for seed in range(8):
        X, y = make_rows(800, 3, seed)
        model = GradientBoostingClassifier(
            **SMALL, conformal=True, calibration_rows=rows, validation_fraction=0.3
        )
        sets = model.fit(X[:300], y[:300]).predict_set(X[300:], 0.8)
        shares.append(sets[np.arange(500), y[300:]].mean())
        sizes.append(sets.sum(axis=1).mean())
        each = model.predict_set(X[300:], 0.8, by_class=True)[np.arange(500), y[300:]]
        by_class.append([each[y[300:] == k].mean() for k in range(3)])
    assert 0.76 < np.mean(shares) < 0.86
    assert (np.mean(by_class, axis=0) > 0.74).all()
    assert 1.0 < np.mean(sizes) < 2.5


def test_sets_hold_the_most_probable_class():
    X, y = make_rows()
    model = GradientBoostingClassifier(**SMALL, conformal=True, calibrate="logistic").fit(X, y)
    sets = model.predict_set(X, 0.05)
    assert (sets.sum(axis=1) == 1).all()
    plain = clone(model).set_params(calibrate=None).fit(X, y)
    np.testing.assert_array_equal(sets.argmax(axis=1), plain.predict(X))
    np.testing.assert_array_equal(model.predict_set(X, 0.9), plain.predict_set(X, 0.9))
    with pytest.warns(DataWarning, match=r"all classes belong to all sets: .* at least 999 "):
        assert model.predict_set(X, 0.999).all()


# --- rows ---


def test_rows_of_weight_zero_do_not_count():
    X, y = make_numbers(200)
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 3, 200).astype(float)
    wild = np.where(weight > 0, y, 1e6)
    model = GradientBoostingRegressor(**SMALL, conformal=True, calibration_rows=3)
    bounds = model.fit(X, wild, sample_weight=weight).predict_interval(X)
    kept = weight > 0
    again = model.fit(X[kept], y[kept], sample_weight=weight[kept]).predict_interval(X)
    np.testing.assert_array_equal(bounds, again)


def test_groups_stay_together():
    """Rows of a group are equal: models that have seen the group would know its target."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 8)
    X, y = groups[:, np.newaxis].astype(float), rng.normal(size=40)[groups]
    params = {**SMALL, "min_samples_leaf": 1, "max_leaves": 40, "n_estimators": 50}
    model = GradientBoostingRegressor(**params, conformal=True)
    alone = np.diff(model.fit(X, y).predict_interval(X, 0.8), axis=1).mean()
    together = np.diff(model.fit(X, y, groups=groups).predict_interval(X, 0.8), axis=1).mean()
    assert together > 5 * alone


def test_rows_that_early_stopping_watches_are_not_unseen(seen_rows):
    X, y = make_rows(400)
    stops = {"early_stopping": True, "n_iter_no_change": 3}
    model = GradientBoostingClassifier(
        **SMALL, **stops, calibrate="logistic", conformal=True, calibration_rows="holdout"
    )
    model.fit(X, y)
    assert model.conformal_.shares.n_rows == 40  # a tenth
    assert [rows.train.size for rows in seen_rows] == [324]
    assert [rows.valid.size for rows in seen_rows] == [36]
    model.fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    assert model.conformal_.shares.n_rows == 30
    model.set_params(early_stopping=False).fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    assert model.conformal_.shares.n_rows == 100
    assert seen_rows[-1].train.size == 300


def test_folds_stop_early_as_the_model_does(seen_rows):
    X, y = make_rows(200)
    given = {"X_val": X[150:], "y_val": y[150:]}
    model = GradientBoostingClassifier(**SMALL, calibrate="logistic", calibration_rows=2)
    model.fit(X[:150], y[:150], **given)  # early stopping is on
    assert [rows.valid.size for rows in seen_rows] == [50, 50, 50]
    model.set_params(early_stopping=False).fit(X[:150], y[:150], **given, eval_set=[(X, y)])
    assert [rows.valid.size for rows in seen_rows[3:]] == [250, 0, 0]
    model.set_params(early_stopping=True).fit(X[:150], y[:150], eval_set=[(X, y)])
    assert [rows.valid.size for rows in seen_rows[6:]] == [200, 200, 200]
    model.fit(X, y)
    assert [rows.valid.size for rows in seen_rows[9:]] == [20, 10, 10]


def test_the_last_rows_are_held_out():
    X, y = make_numbers(300)
    model = GradientBoostingRegressor(
        **SMALL, conformal=True, calibration_rows="holdout", validation_rows="last"
    ).fit(X, y)
    plain = GradientBoostingRegressor(**SMALL).fit(X[:270], y[:270])
    residuals = np.sort(y[270:] - plain.predict(X[270:]))
    np.testing.assert_array_equal(model.conformal_.residuals.scores[:, 0], residuals)
    with pytest.raises(ParameterError, match=r"validation_rows='last'.*pass only one"):
        model.fit(X, y, groups=np.arange(300))


@pytest.mark.parametrize("container", [pd.DataFrame, np.asarray, list], ids=lambda c: c.__name__)
def test_rows_come_in_any_container(container):
    X, y = make_rows()
    model = GradientBoostingClassifier(**SMALL, calibrate="isotonic", calibration_rows=2)
    expected = clone(model).fit(X, y).predict_proba(X)
    given, labels = container(X.tolist()), np.array(["no", "yes"])[y].tolist()
    found = model.fit(given, labels)
    np.testing.assert_array_equal(found.predict_proba(given), expected)
    assert set(found.predict(given)) == {"no", "yes"}


# --- the same for any number of threads, and with what it cannot be combined ---


@pytest.mark.parametrize("rows", ["cv", "holdout"])
def test_models_are_the_same_for_any_number_of_threads(rows, teams, bytes_of):
    X, y = make_rows()
    params = SMALL | {"calibrate": "isotonic", "conformal": True, "calibration_rows": rows}
    files = {
        bytes_of(GradientBoostingClassifier(**params, n_jobs=n_jobs).fit(X, y))
        for n_jobs in (1, 2, 4)
    }
    assert len(files) == 1


def test_the_trees_are_those_of_a_plain_fit(bytes_of):
    X, y = make_numbers()
    model = GradientBoostingRegressor(**SMALL, conformal=True).fit(X, y)
    plain = GradientBoostingRegressor(**SMALL).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    del model.conformal_
    assert bytes_of(model.set_params(conformal=False)) == bytes_of(plain)


def test_some_rounds_are_not_calibrated():
    X, y = make_rows()
    model = GradientBoostingClassifier(**SMALL, calibrate="isotonic", conformal=True).fit(X, y)
    plain = clone(model).set_params(calibrate=None, conformal=False).fit(X, y)
    for n_rounds in (5, 15):
        expected = plain.predict_proba(X, rounds=n_rounds)
        np.testing.assert_array_equal(model.predict_proba(X, rounds=n_rounds), expected)
        np.testing.assert_array_equal(model.truncate(n_rounds).predict_proba(X), expected)
    *_, last = model.staged_predict_proba(X)
    np.testing.assert_array_equal(last, plain.predict_proba(X))
    *_, last = model.staged_predict(X)
    np.testing.assert_array_equal(last, plain.predict(X))
    np.testing.assert_array_equal(model.predict(X, rounds=15), plain.predict(X))
    with pytest.raises(ParameterError, match=r"predict_set needs conformal=True: .* fit it again"):
        model.truncate(5).predict_set(X)


def test_a_continued_model_is_calibrated_on_given_rows_only():
    X, y = make_rows(400)
    train, valid = (X[:300], y[:300]), {"X_val": X[300:], "y_val": y[300:]}
    params = SMALL | {"calibrate": "logistic", "calibration_rows": "holdout"}
    model = GradientBoostingClassifier(**params, early_stopping=False, warm_start=True)
    model.fit(*train, **valid).set_params(n_estimators=25).fit(*train, **valid)
    at_once = GradientBoostingClassifier(**params | {"n_estimators": 25}, early_stopping=False)
    at_once.fit(*train, **valid)
    np.testing.assert_array_equal(model.predict_proba(X), at_once.predict_proba(X))
    with pytest.raises(ParameterError, match=r"continues another .* pass X_val"):
        model.set_params(n_estimators=30).fit(*train)
    begun = GradientBoostingClassifier(**SMALL).fit(X, y)
    other = GradientBoostingClassifier(n_estimators=20, calibrate="isotonic")
    with pytest.raises(ParameterError, match="continues another"):
        other.fit(X, y, init_model=begun)
    assert not hasattr(other, "ensemble_")


def test_a_calibrated_model_is_not_refitted():
    X, y = make_rows()
    model = GradientBoostingClassifier(**SMALL, calibrate="logistic").fit(X, y)
    with pytest.raises(ParameterError, match="cannot be refitted"):
        model.refit(X, y)
    assert not model.set_params(calibrate=None).refit(X, y)._is_calibrated()


def test_initial_scores_are_refused():
    X, y = make_numbers()
    model = GradientBoostingRegressor(**SMALL, conformal=True)
    with pytest.raises(ParameterError, match="cannot be combined with init_score"):
        model.fit(X, y, init_score=np.zeros(len(y)))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"calibrate": "sigmoid"}, "calibrate='sigmoid'; must be one of 'isotonic', 'logistic'"),
        ({"calibrate": True}, "calibrate=True; must be one of"),
        ({"conformal": "cv"}, "conformal='cv'; must be one of True, False"),
        ({"calibration_rows": "oob"}, "must be 'auto', 'cv', 'holdout' or a number of folds"),
        ({"calibration_rows": 1}, "a number of folds, at least 2"),
        ({"calibration_rows": None}, "calibration_rows=None; must be"),
    ],
)
def test_parameters_are_checked(params, message):
    with pytest.raises(ParameterError, match=message):
        GradientBoostingClassifier(**params).fit(*make_rows(50))


@pytest.mark.parametrize("rows", ["cv", "holdout"])
def test_few_rows_of_a_class_are_a_clear_error(rows):
    X, y = make_rows(100)
    rare = np.where(np.arange(100) == 3, 2, y)
    model = GradientBoostingClassifier(**SMALL, calibrate="logistic", calibration_rows=rows)
    with pytest.raises(DataError, match="class 2"):
        model.fit(X, rare)
    assert not hasattr(model, "ensemble_")
    with pytest.raises(DataError, match="n_samples=1"):
        model.fit(X[:1], y[:1])


def test_a_single_class_needs_no_calibration():
    X, _ = make_rows(60)
    model = GradientBoostingClassifier(**SMALL, calibrate="isotonic", conformal=True)
    model.fit(X, np.full(60, 7))
    assert (model.predict_proba(X) == 1.0).all()
    assert (model.predict(X) == 7).all()
    assert model.predict_set(X).all()


def test_targets_of_another_length_are_refused_as_usual():
    X, y = make_rows(60)
    for rows in ("cv", "holdout"):
        model = GradientBoostingClassifier(**SMALL, calibrate="logistic", calibration_rows=rows)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            model.fit(X, y[:-1])


def test_a_link_of_the_users_own_has_no_temperature():
    class OwnLink:
        def gradient(self, y, raw):
            return 1 / (1 + np.exp(-raw)) - y, np.full(y.size, 0.25)

        def link(self, raw):
            return 1 / (1 + np.exp(-raw))

    X, y = make_rows(80)
    model = GradientBoostingClassifier(n_estimators=2, loss=OwnLink(), calibration_rows=2)
    with pytest.raises(ParameterError, match="calibrate='temperature' divides log odds"):
        model.set_params(calibrate="temperature").fit(X, y)
    shares = model.set_params(calibrate="isotonic").fit(X, y).predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


# --- elsewhere ---


def test_cross_validation_by_round_and_stacks_take_calibrated_models():
    X, y = make_rows(120)
    model = GradientBoostingClassifier(**SMALL, calibrate="logistic", calibration_rows=2)
    result = sumwise.cv(model, X, y, cv=2, return_estimator=True)
    assert not result.estimators[0]._is_calibrated()
    stack = sumwise.StackingClassifier([model, clone(model)], cv=2).fit(X, y)
    assert all(own._is_calibrated() for own in stack.estimators_)


NODES = {
    ("isotonic", 2): {Curve, Affine},
    ("logistic", 2): {Affine, Link},
    ("temperature", 2): {Affine, Link},
    ("isotonic", 3): {Link, Curve, Share},
    ("logistic", 3): {Affine, Link},
    ("temperature", 3): {Affine, Link},
}


@pytest.mark.parametrize(("method", "n_classes"), NODES)
def test_calibrated_models_are_described(method, n_classes):
    X, y = make_rows(150, n_classes)
    loss = "exponential" if n_classes == 2 else "auto"
    model = GradientBoostingClassifier(
        n_estimators=4, loss=loss, calibrate=method, conformal=True, calibration_rows=2
    ).fit(X, np.array(["a", "b", "c"])[y])
    portable = describe(model)
    assert {type(node) for node in list_nodes(portable.output)} >= NODES[method, n_classes]
    X = np.vstack([X[:30], 100 * X[:5], np.full((1, 4), np.nan)])
    found = np.array([predict_row(portable, row) for row in X.tolist()])
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=1e-12)
    assert [predict_label(portable, row) for row in X.tolist()] == model.predict(X).tolist()


def test_a_fit_without_calibration_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GradientBoostingClassifier(**SMALL, calibrate="isotonic").fit(*make_rows())
