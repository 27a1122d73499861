"""The parameter ``splits``: which thresholds trees may choose from."""

import numpy as np
import pytest
from scipy.sparse import csc_matrix, csr_matrix
from sklearn.base import clone
from sklearn.datasets import make_classification, make_friedman1
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import sumwise
from sumwise import (
    Columns,
    Dart,
    Forest,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    Native,
    Ordered,
    Plain,
    StackingRegressor,
    Subsample,
    TargetStatistics,
)
from sumwise.data import ranks
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.combined.shared_table import can_share, describe_reading
from tests.estimators.split_data import GROWTHS, N_ROWS, make_data
from tests.naive.binning import map_to_bins
from tests.naive.quantiles import find_candidates

SETTINGS = {"splits": "approx", "n_estimators": 6, "max_bins": 32, "random_state": 0}


def regress(**params):
    return GradientBoostingRegressor(**{**SETTINGS, **params})


def classify(**params):
    return GradientBoostingClassifier(**{**SETTINGS, **params})


def check_scores(model, X, target):
    """What training measured on rows is what the finished model predicts for them."""
    own = model.best_score_
    if hasattr(model, "classes_"):
        assert own == pytest.approx(log_loss(target, model.predict_proba(X)), rel=1e-9)
    else:
        assert own == pytest.approx(0.5 * np.mean((target - model.predict(X)) ** 2), rel=1e-9)


# What it is


@pytest.mark.parametrize("value", ["exakt", None, 1, "Approx"])
def test_other_values_are_refused(value):
    with pytest.raises(ParameterError, match=r"splits=.*'histogram'.*'approx'"):
        regress(splits=value).fit(*make_data(50))


@pytest.mark.parametrize("growth", GROWTHS)
def test_trees_are_those_of_their_candidates(growth):
    """Each round equals one on a table whose values are the bins of the naive twin."""
    X, target = make_data()
    y, max_bins = (target > 0).astype(int), 12
    options = {"growth": growth, "max_bins": max_bins, "min_samples_leaf": 5}
    model = classify(n_estimators=3, **options).fit(X, y)
    raw = np.full(N_ROWS, np.log(y.mean() / (1 - y.mean())))
    rows = range(N_ROWS)
    for n_rounds in (1, 2, 3):
        chance = 1 / (1 + np.exp(-raw))
        hessian = chance * (1 - chance)
        coded = np.empty_like(X)
        for f in range(X.shape[1]):
            thresholds = find_candidates(X[:, f], rows, rows, hessian, max_bins)
            coded[:, f] = map_to_bins(X[:, f], thresholds)
            if f == 1:
                coded[:, f] = X[:, f]
        coded[np.isnan(X)] = np.nan
        step = classify(n_estimators=1, splits="histogram", **options).fit(coded, y, None, raw)
        raw = raw + step.decision_function(coded)
        found = model.truncate(n_rounds).decision_function(X)
        np.testing.assert_allclose(found, raw, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "quantile"])
def test_equals_histogram_where_hessians_are_weights(loss, weighted, bytes_of):
    """They never change, and their quantiles are those that a histogram begins with."""
    X, y = make_data()
    weight = np.random.default_rng(1).exponential(size=N_ROWS) if weighted else None
    approx = regress(loss=loss).fit(X, y, weight)
    plain = regress(loss=loss, splits="histogram").fit(X, y, weight)
    assert bytes_of(approx.set_params(splits="histogram")) == bytes_of(plain)


def test_equals_histogram_where_values_are_few(bytes_of):
    X, target = make_data()
    X = X.round(1)
    y = np.digitize(target, [0.0, 0.7])
    options = {"max_bins": 255, "sampler": Subsample(0.5)}
    approx = classify(**options).fit(X, y)
    plain = classify(splits="histogram", **options).fit(X, y)
    assert bytes_of(approx.set_params(splits="histogram")) == bytes_of(plain)


def test_candidates_follow_the_hessians():
    """Where the model is sure of all but some rows, candidates lie among these."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(4_000, 1))
    unsure = (X[:, 0] > 0.9) & (X[:, 0] < 0.91)
    y = np.where(unsure, X[:, 0] > 0.9057, X[:, 0] > 0.5).astype(int)
    raw = np.where(unsure, 0.0, 12.0 * (2 * y - 1))
    own = {"n_estimators": 1, "max_leaves": 2, "max_bins": 8, "min_samples_leaf": 1}
    thresholds = {
        splits: classify(splits=splits, **own).fit(X, y, None, raw).ensemble_.threshold[0]
        for splits in ("histogram", "approx")
    }
    assert abs(thresholds["approx"] - 0.9057) < 0.003
    assert not 0.9 < thresholds["histogram"] < 0.91


# With everything else


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"growth": "symmetric", "monotonic_cst": [1, 0, 0, -1, 0]},
        {"growth": "depth", "sampler": "goss", "columns": Columns(by_node=0.7)},
        {"booster": Dart(drop_rate=0.5, skip_drop=0.0), "sampler": "mvs"},
        {"booster": Plain(trees_per_round=3), "sampler": Subsample(0.6)},
        {"booster": Forest()},
        {"booster": Ordered()},
        {"booster": Ordered(permutations=1), "growth": "symmetric"},
        {"interaction_cst": "pairwise", "max_bins": 2},
        {"categorical_features": [1], "sampler": "bayesianbootstrap"},
        {"categorical_features": [1], "categorical_encoding": TargetStatistics(native_limit=2)},
    ],
    ids=repr,
)
def test_any_number_of_threads_gives_the_same_bytes(params, bytes_of, teams):
    X, target = make_data(5_000)
    for make, y in ((regress, target), (classify, np.digitize(target, [0.0, 1.0]))):
        if make is classify and "monotonic_cst" in params:
            y = y > 0
        models = [
            make(n_estimators=3, early_stopping=True, n_jobs=n, **params).fit(X, y)
            for n in (1, 2, 4)
        ]
        assert len({bytes_of(model) for model in models}) == 1


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"growth": "symmetric"},
        {"sampler": Subsample(0.3)},
        {"booster": Dart(drop_rate=0.5, skip_drop=0.0)},
        {"booster": Plain(trees_per_round=2), "sampler": "goss"},
        {"booster": Forest()},
        {"booster": Ordered(), "min_samples_leaf": 5},
        {"booster": Ordered(permutations=1, prefixes="all"), "n_estimators": 2},
        {"categorical_features": [1]},
        {"categorical_features": [1], "categorical_encoding": TargetStatistics(native_limit=2)},
    ],
    ids=repr,
)
def test_training_knows_what_the_model_predicts(params):
    n_rows = 120 if "all" in repr(params) else N_ROWS
    X, target = make_data(n_rows)
    X_val, target_val = make_data(200, seed=1)
    model = regress(**params).fit(X, target, X_val=X_val, y_val=target_val)
    check_scores(model, X_val, target_val)
    y, y_val = target > 0.3, target_val > 0.3
    model = classify(**params).fit(X, y, X_val=X_val, y_val=y_val)
    check_scores(model, X_val, y_val)


@pytest.mark.parametrize("growth", GROWTHS)
def test_many_categories_beside_new_bins(growth):
    X, target = make_data(4_000)
    rng = np.random.default_rng(1)
    X[:, 1] = rng.integers(0, 400, 4_000)
    y = target + rng.normal(size=400)[X[:, 1].astype(int)] > 0.5
    own = {"categorical_features": [1], "categorical_encoding": Native(smoothing=2)}
    model = classify(growth=growth, **own)
    model.fit(X[:3_500], y[:3_500], X_val=X[3_500:], y_val=y[3_500:])
    assert model.get_feature_importances()[1] > 0
    check_scores(model, X[3_500:], y[3_500:])


def test_dart_drops_trees_whose_bins_are_gone():
    X, target = make_data()
    y = target > 0.3
    dart = Dart(drop_rate=1.0, skip_drop=0.0)
    seen = []
    model = classify(booster=dart, callbacks=[lambda state: seen.append(dict(state.scores))])
    model.fit(X, y)
    own = log_loss(y, model.predict_proba(X))
    assert seen[-1]["training_loss"] == pytest.approx(own, rel=1e-9)


def test_monotone_constraints_hold():
    X, target = make_data(2_000)
    y = target > 0.3
    grid = np.linspace(-3, 3, 400)
    for growth in GROWTHS:
        model = classify(growth=growth, monotonic_cst=[1, 0, -1, 0, 0], n_estimators=10).fit(X, y)
        for f, sign in ((0, 1), (2, -1)):
            rows = np.tile(X[5], (400, 1))
            rows[:, f] = grid
            assert (sign * np.diff(model.decision_function(rows)) >= 0).all()


@pytest.mark.parametrize("params", [{}, {"sampler": Subsample(0.5)}, {"growth": "symmetric"}])
def test_goes_on_as_if_there_had_been_no_end(params, bytes_of):
    X, target = make_data()
    y = target > 0.3
    whole = classify(**params).fit(X, y)
    half = classify(**{**params, "n_estimators": 3}).fit(X, y)
    assert bytes_of(classify(**params).fit(X, y, init_model=half)) == bytes_of(whole)
    half.set_params(n_estimators=6, warm_start=True).fit(X, y)
    assert bytes_of(half) == bytes_of(whole)


def test_out_of_bag_rows_stop_a_fit():
    X, target = make_data()
    model = classify(sampler=Subsample(0.5), early_stopping="oob", n_estimators=200).fit(
        X, target > 0
    )
    assert 1 < model.best_iteration_ < 200


@pytest.mark.parametrize("kind", [csr_matrix, csc_matrix])
def test_sparse_input_gives_the_same_bytes(kind, bytes_of):
    X, target = make_data()
    X[np.random.default_rng(1).random(X.shape) < 0.5] = 0.0
    y = target > 0.3
    dense = classify(early_stopping=True).fit(X, y)
    sparse = classify(early_stopping=True).fit(kind(X), y)
    assert bytes_of(sparse) == bytes_of(dense)
    np.testing.assert_array_equal(sparse.predict_proba(kind(X)), dense.predict_proba(X))
    mixed = classify().fit(kind(X), y, X_val=X[:100], y_val=y[:100])
    check_scores(mixed, X[:100], y[:100])


def test_sparse_input_with_few_values_is_bundled_as_ever(bytes_of):
    X, target = make_data()
    X = csr_matrix(np.column_stack([X[:, 1] == k for k in range(9)]).astype(float))
    y = target > 0.3
    approx, plain = classify().fit(X, y), classify(splits="histogram").fit(X, y)
    assert bytes_of(approx.set_params(splits="histogram")) == bytes_of(plain)


def test_sparse_input_that_would_take_too_much_memory(monkeypatch):
    monkeypatch.setattr(ranks, "_MOST_SPARSE_BYTES", 4 * 5 * N_ROWS - 1)
    X, y = make_data()
    with pytest.raises(DataError, match=r"900 rows and 5 features.*Use splits='histogram'"):
        regress().fit(csr_matrix(X), y)
    regress(splits="histogram").fit(csr_matrix(X), y)
    regress().fit(X, y)


def test_frames_and_float32(bytes_of):
    pandas = pytest.importorskip("pandas")
    X, target = make_data()
    X = X.astype(np.float32)
    names = list("abcde")
    frame = pandas.DataFrame(X, columns=names)
    frame["b"] = frame["b"].astype("int16")
    model = classify().fit(frame, target > 0.3)
    own = classify().fit(X, target > 0.3)
    np.testing.assert_array_equal(model.predict_proba(frame), own.predict_proba(X))


def test_saved_and_cloned(tmp_path):
    X, target = make_data()
    model = classify().fit(X, target > 0.3)
    model.save(tmp_path / "model")
    again = sumwise.load(tmp_path / "model")
    assert again.splits == clone(model).splits == "approx"
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_linear_models_have_no_splits():
    X, y = make_data()
    own = {"booster": "linear"}
    approx, plain = regress(**own).fit(X, y), regress(splits="histogram", **own).fit(X, y)
    np.testing.assert_array_equal(approx.predict(X), plain.predict(X))


def test_hessians_of_ones_own():
    class Zero:
        def gradient(self, y, raw):
            return raw - y, np.zeros_like(raw)

    class Wrong:
        def gradient(self, y, raw):
            return raw - y, np.full_like(raw, np.inf)

    X, y = make_data()
    model = regress(loss=Zero(), min_child_weight=0.0).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    with pytest.raises(ParameterError, match="must be finite"):
        regress(loss=Wrong()).fit(X, y)


def test_members_make_their_own_tables():
    X, y = make_data(400)
    approx, plain = regress(), regress(splits="histogram")
    assert can_share(plain, {})
    assert not can_share(approx, {})
    assert describe_reading(plain) != describe_reading(approx)
    members = [("a", approx), ("b", regress(max_depth=2)), ("c", plain)]
    stack = StackingRegressor(members, cv=2).fit(X, y)
    np.testing.assert_array_equal(
        stack.named_estimators_["a"].predict(X), approx.fit(X, y).predict(X)
    )


# How good it is


def test_as_good_as_other_candidates():
    X, y = make_classification(3_000, 12, n_informative=6, flip_y=0.1, random_state=0)
    data = train_test_split(X, y, random_state=0)
    own = {"n_estimators": 60, "max_bins": 16}
    losses = {
        splits: log_loss(
            data[3], classify(splits=splits, **own).fit(data[0], data[2]).predict_proba(data[1])
        )
        for splits in ("histogram", "approx")
    }
    assert losses["approx"] < 1.05 * losses["histogram"]


def test_as_good_as_xgboost():
    xgboost = pytest.importorskip("xgboost")
    rival = {"tree_method": "approx", "max_bin": 64, "n_estimators": 60, "learning_rate": 0.2}
    rival |= {"max_depth": 4, "min_child_weight": 1.0, "n_jobs": 1}
    own = {"growth": "depth", "max_depth": 4, "min_samples_leaf": 1, "min_child_weight": 1.0}
    own |= {"n_estimators": 60, "learning_rate": 0.2, "max_bins": 64}
    X, y = make_classification(4_000, 12, n_informative=6, flip_y=0.1, random_state=1)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    ours = log_loss(y_test, classify(**own).fit(X, y).predict_proba(X_test))
    theirs = xgboost.XGBClassifier(**rival).fit(X, y).predict_proba(X_test)
    assert ours < 1.05 * log_loss(y_test, theirs)
    X, y = make_friedman1(4_000, noise=1.0, random_state=0)
    counts = np.random.default_rng(0).poisson(np.exp(y / 8))
    X, X_test, counts, counts_test = train_test_split(X, counts, random_state=0)
    ours = regress(loss="poisson", **own).fit(X, counts).predict(X_test)
    theirs = xgboost.XGBRegressor(objective="count:poisson", **rival).fit(X, counts).predict(X_test)
    losses = [np.mean(mean - counts_test * np.log(mean)) for mean in (ours, theirs)]
    assert losses[0] < losses[1] + 0.02 * abs(losses[1])
