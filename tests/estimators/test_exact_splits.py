"""``splits="exact"``: every distinct value is a candidate."""

import numpy as np
import pytest
from scipy.sparse import csc_matrix, csr_matrix
from sklearn.base import clone
from sklearn.metrics import log_loss

import sumwise
from sumwise import (
    Columns,
    Dart,
    Forest,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    Ordered,
    Plain,
    Subsample,
    TargetStatistics,
)
from sumwise.data import presorted
from sumwise.errors import DataError
from tests.estimators.split_data import GROWTHS, N_ROWS, make_data

SETTINGS = {"splits": "exact", "n_estimators": 5, "random_state": 0}


def regress(**params):
    return GradientBoostingRegressor(**{**SETTINGS, **params})


def classify(**params):
    return GradientBoostingClassifier(**{**SETTINGS, **params})


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"sampler": Subsample(0.6), "columns": Columns(by_level=0.8, by_node=0.8)},
        {"loss": "absolute_error", "min_samples_leaf": 2},
        {"monotonic_cst": [1, 0, 0, 0, 1], "interaction_cst": "pairwise"},
        {"categorical_features": [1]},
    ],
    ids=repr,
)
def test_equals_histograms_of_few_rows(params, growth):
    """There every value has a bin, and sums are exact, too.

    Thresholds may lie elsewhere: with a sampler, later rounds see other scores of the rows left
    out. Where missing is split from all values, the sides may be exchanged.
    """
    params = {"n_estimators": 1 if "sampler" in params else 5, **params}
    X, y = make_data(250)
    weight = np.random.default_rng(1).exponential(size=250)
    exact = regress(growth=growth, **params).fit(X, y, weight)
    binned = regress(growth=growth, splits="histogram", **params).fit(X, y, weight)
    for name in ("feature", "gain", "n_rows", "value"):
        own, other = getattr(exact.ensemble_, name), getattr(binned.ensemble_, name)
        np.testing.assert_array_equal(np.sort(own), np.sort(other), err_msg=name)
    if "sampler" not in params:
        np.testing.assert_array_equal(exact.predict(X), binned.predict(X))


def test_finds_what_bins_miss():
    """A step between two of many values."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(4_000, 1))
    edge = np.sort(X[:, 0])[1234]
    y = (X[:, 0] > edge).astype(float)
    one_split = {
        "n_estimators": 1,
        "max_leaves": 2,
        "learning_rate": 1.0,
        "l2": 0.0,
        "max_bins": 16,
    }
    assert regress(**one_split).fit(X, y).score(X, y) == 1.0
    assert regress(splits="histogram", **one_split).fit(X, y).score(X, y) < 1.0


@pytest.mark.parametrize(
    "params",
    [
        {"columns": Columns(by_tree=0.8, by_node=0.7)},
        {"growth": "symmetric", "monotonic_cst": [1, 0, 0, -1, 0]},
        {"growth": "depth", "sampler": "goss"},
        {"booster": Dart(drop_rate=0.5, skip_drop=0.0), "sampler": "mvs"},
        {"booster": Ordered(), "growth": "symmetric"},
        {"categorical_features": [1], "sampler": "bayesianbootstrap"},
        {"categorical_features": [1], "categorical_encoding": TargetStatistics(native_limit=2)},
    ],
    ids=repr,
)
def test_any_number_of_threads_gives_the_same_bytes(params, bytes_of, teams):
    X, target = make_data(3_000)
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
        {"booster": Ordered(permutations=1), "growth": "symmetric"},
        {"booster": Ordered(permutations=1, prefixes="all"), "n_estimators": 2},
        {"categorical_features": [1]},
        {"categorical_features": [1], "growth": "symmetric"},
        {"categorical_features": [1], "categorical_encoding": TargetStatistics(native_limit=2)},
        {
            "categorical_features": [1],
            "categorical_encoding": TargetStatistics(native_limit=2),
            "growth": "symmetric",
            "monotonic_cst": [1, 0, -1, 0, 0],
        },
    ],
    ids=repr,
)
def test_training_knows_what_the_model_predicts(params):
    """Values of new rows lie anywhere between those of training rows."""
    n_rows = 120 if "all" in repr(params) else N_ROWS
    X, target = make_data(n_rows)
    X_val, target_val = make_data(200, seed=1)
    model = regress(**params).fit(X, target, X_val=X_val, y_val=target_val)
    own = model.history_["validation_loss"][model.best_iteration_ - 1]
    expected = 0.5 * np.mean((target_val - model.predict(X_val)) ** 2)
    assert own == pytest.approx(expected, rel=1e-9)
    y, y_val = target > 0.3, target_val > 0.3
    model = classify(**params).fit(X, y, X_val=X_val, y_val=y_val)
    own = model.history_["validation_loss"][model.best_iteration_ - 1]
    assert own == pytest.approx(log_loss(y_val, model.predict_proba(X_val)), rel=1e-9)


def test_held_out_rows_shape_nothing(bytes_of):
    X, y = make_data()
    model = regress(early_stopping=True, validation_rows="last", validation_fraction=0.2)
    other = X.copy()
    other[-140:] += 0.5
    trees = [model.fit(rows, y).ensemble_ for rows in (X, other)]
    n = min(tree.n_trees for tree in trees)
    first, second = (tree.truncate(n) for tree in trees)
    np.testing.assert_array_equal(first.threshold, second.threshold)


@pytest.mark.parametrize("growth", GROWTHS)
def test_monotone_constraints_hold(growth):
    X, target = make_data(1_500)
    model = classify(growth=growth, monotonic_cst=[1, 0, -1, 0, 0], n_estimators=10)
    model.fit(X, target > 0.3)
    for f, sign in ((0, 1), (2, -1)):
        rows = np.tile(X[5], (400, 1))
        rows[:, f] = np.linspace(-3, 3, 400)
        assert (sign * np.diff(model.decision_function(rows)) >= 0).all()


@pytest.mark.parametrize("params", [{}, {"sampler": Subsample(0.5)}, {"growth": "symmetric"}])
def test_goes_on_as_if_there_had_been_no_end(params, bytes_of):
    X, target = make_data()
    y = target > 0.3
    whole = classify(n_estimators=6, **params).fit(X, y)
    half = classify(n_estimators=3, **params).fit(X, y)
    again = classify(n_estimators=6, **params).fit(X, y, init_model=half)
    assert bytes_of(again) == bytes_of(whole)
    half.set_params(n_estimators=6, warm_start=True).fit(X, y)
    assert bytes_of(half) == bytes_of(whole)


@pytest.mark.parametrize("kind", [csr_matrix, csc_matrix])
def test_sparse_input_gives_the_same_bytes(kind, bytes_of):
    X, target = make_data()
    X[np.random.default_rng(1).random(X.shape) < 0.5] = 0.0
    y = target > 0.3
    dense = classify(early_stopping=True).fit(X, y)
    sparse = classify(early_stopping=True).fit(kind(X), y)
    assert bytes_of(sparse) == bytes_of(dense)
    np.testing.assert_array_equal(sparse.predict_proba(kind(X)), dense.predict_proba(X))


def test_sparse_input_that_would_take_too_much_memory(monkeypatch):
    monkeypatch.setattr(presorted, "_MOST_SPARSE_BYTES", 36 * 5 * N_ROWS - 1)
    X, y = make_data()
    with pytest.raises(DataError, match=r"900 rows and 5 features.*Use splits='histogram'"):
        regress().fit(csr_matrix(X), y)
    regress().fit(X, y)


def test_float32_and_integers_are_read_as_they_are():
    X, target = make_data()
    X = X.astype(np.float32)
    model, wide = (regress().fit(rows, target) for rows in (X, X.astype(np.float64)))
    np.testing.assert_array_equal(model.predict(X), wide.predict(X))
    counts = np.nan_to_num(X * 100).astype(np.int32)
    model, wide = (regress().fit(rows, target) for rows in (counts, counts.astype(np.float64)))
    np.testing.assert_array_equal(model.predict(counts), wide.predict(counts))


def test_saved_and_cloned(tmp_path):
    X, target = make_data()
    model = classify().fit(X, target > 0.3)
    model.save(tmp_path / "model")
    again = sumwise.load(tmp_path / "model")
    assert again.splits == clone(model).splits == "exact"
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_columns_without_values():
    X, y = make_data()
    X[:, 0], X[:, 2] = np.nan, 7.0
    X[:300, 2] = np.nan  # one value, or missing
    for growth in GROWTHS:
        model = regress(growth=growth, booster=Plain()).fit(X, y)
        assert 0 not in model.ensemble_.feature
        assert np.isfinite(model.predict(X)).all()
    model = regress().fit(np.full((50, 2), np.nan), y[:50])
    assert model.ensemble_.feature.max() == -1
