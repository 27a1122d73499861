"""Properties that hold for every table and every setting."""

import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise import (
    Columns,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    Subsample,
    load,
)
from sumwise.errors import SumwiseError

GROWTHS = ["leaf", "depth", "symmetric"]
# The same examples in every run: a failure is a bug of the change at hand.
few = settings(derandomize=True, deadline=None, max_examples=30)
many = settings(derandomize=True, deadline=None, max_examples=60)

seeds = st.integers(0, 10**6)
growths = st.sampled_from(GROWTHS)


@st.composite
def tables(draw, max_rows=40):
    """Few distinct values, some missing or infinite; a continuous target, so that no two
    splits gain the same unless they part the rows alike."""
    rng = np.random.default_rng(draw(seeds))
    n_rows, n_features = draw(st.integers(2, max_rows)), draw(st.integers(1, 4))
    values = draw(
        st.lists(st.sampled_from([-np.inf, -2.5, 0.0, 0.5, 1.0, 7.0, np.inf, np.nan]), min_size=1)
    )
    X = rng.choice(values, (n_rows, n_features))
    return X, rng.normal(size=n_rows)


@st.composite
def parameters(draw):
    return {
        "growth": draw(growths),
        "n_estimators": draw(st.integers(1, 4)),
        "learning_rate": draw(st.sampled_from([0.1, 0.5, 1.0])),
        "max_leaves": draw(st.none() | st.integers(2, 12)),
        "max_depth": draw(st.integers(1, 5)),
        "min_samples_leaf": draw(st.integers(1, 8)),
        "min_child_weight": draw(st.sampled_from([0.0, 1.0, 3.5])),
        "l1": draw(st.sampled_from([0.0, 0.3])),
        "l2": draw(st.sampled_from([0.0, 1.0])),
        "max_delta_step": draw(st.sampled_from([0.0, 0.5])),
    }


def model_bytes(model):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(path)
        return path.read_bytes()


def iterate_trees(model):
    """Yield a dict of each tree's arrays, children counted within the tree."""
    ensemble = model.ensemble_
    for start, end in pairwise(ensemble.start):
        names = ("feature", "left", "value", "n_rows", "weight")
        yield {name: getattr(ensemble, name)[start:end] for name in names}


# Trees


@many
@given(tables(), parameters())
def test_leaves_hold_the_rows_that_reach_them(table, params):
    X, y = table
    model = GradientBoostingRegressor(**params).fit(X, y)
    for tree, leaves in zip(iterate_trees(model), model.apply(X).T, strict=True):
        is_leaf = tree["feature"] < 0
        counts = np.bincount(leaves, minlength=is_leaf.size)
        assert np.array_equal(counts[is_leaf], tree["n_rows"][is_leaf])
        assert not counts[~is_leaf].any()
        assert tree["n_rows"][0] == len(X)
        for node in np.flatnonzero(~is_leaf):
            left = tree["left"][node]
            assert tree["n_rows"][node] == tree["n_rows"][left] + tree["n_rows"][left + 1]


@many
@given(tables(), parameters())
def test_no_leaf_is_too_small(table, params):
    params["growth"] = "leaf" if params["growth"] == "symmetric" else params["growth"]
    model = GradientBoostingRegressor(**params).fit(*table)
    for tree in iterate_trees(model):
        if tree["feature"].size > 1:
            is_leaf = tree["feature"] < 0
            assert tree["n_rows"][is_leaf].min() >= params["min_samples_leaf"]
            assert tree["weight"][is_leaf].min() >= params["min_child_weight"]


@many
@given(tables(), parameters())
def test_no_value_of_a_symmetric_tree_comes_from_too_few_rows(table, params):
    # A level has one split for all its nodes. Where that would leave a child too small, both
    # children keep the value of their parent; otherwise each has that of its own rows.
    params.update(growth="symmetric", max_delta_step=0.0)
    model = GradientBoostingRegressor(**params).fit(*table)
    X, y = table
    raw = np.full(len(y), model.ensemble_.base_score[0])
    for tree, leaves in zip(iterate_trees(model), model.apply(X).T, strict=True):
        members = find_members(tree, leaves)
        for node in np.flatnonzero(tree["feature"] >= 0):
            children = tree["left"][node] + np.arange(2)
            valid = tree["n_rows"][children].min() >= params["min_samples_leaf"]
            valid &= tree["weight"][children].min() >= params["min_child_weight"]
            for child in children:
                gradient = (raw - y)[members[child]].sum()
                shrunk = np.sign(gradient) * max(abs(gradient) - params["l1"], 0)
                curvature = tree["weight"][child] + params["l2"]
                step = -params["learning_rate"] * shrunk / curvature if valid else None
                expected = step if valid else tree["value"][node]
                assert tree["value"][child] == pytest.approx(expected, rel=1e-9, abs=1e-12)
        raw += tree["value"][leaves]


def find_members(tree, leaves):
    """Return which rows reach each node, from the leaves they end in."""
    members = [leaves == node for node in range(tree["feature"].size)]
    for node in reversed(range(tree["feature"].size)):
        if tree["feature"][node] >= 0:
            left = tree["left"][node]
            members[node] = members[left] | members[left + 1]
    return members


@few
@given(tables(), parameters())
def test_trees_keep_their_limits(table, params):
    model = GradientBoostingRegressor(**params).fit(*table)
    for tree in iterate_trees(model):
        depth = np.zeros(tree["feature"].size, dtype=int)
        for node in np.flatnonzero(tree["feature"] >= 0):
            depth[tree["left"][node] + np.arange(2)] = depth[node] + 1
        assert depth.max() <= params["max_depth"]
        n_leaves = np.count_nonzero(tree["feature"] < 0)
        assert params["max_leaves"] is None or n_leaves <= params["max_leaves"]
        if params["growth"] == "symmetric":
            assert n_leaves == 2 ** depth.max()


# Sizes and magnitudes


@pytest.mark.parametrize("n_rows", [65_535, 65_536, 65_537])
@pytest.mark.parametrize("growth", GROWTHS)
def test_no_sum_overflows_where_one_bin_holds_almost_all_rows(n_rows, growth):
    # 17 features: a full tile and one more. Every gradient of the large bin has the same sign.
    X = np.zeros((n_rows, 17), dtype=np.float32)
    X[0, [0, 16]] = -1
    X[-1, [0, 16]] = 1
    y = np.full(n_rows, 1.0)
    y[0], y[-1] = -7.0, 9.0
    model = GradientBoostingRegressor(
        growth=growth,
        n_estimators=1,
        learning_rate=1.0,
        l2=0.0,
        min_samples_leaf=1,
    ).fit(X, y, init_score=np.zeros(n_rows))
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-12)
    assert model.ensemble_.n_rows[0] == n_rows


@pytest.mark.parametrize("n_rows", [65_535, 65_537])
def test_no_sum_overflows_with_weights_of_all_sizes(n_rows):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (n_rows, 2))
    y = X[:, 0] + 10.0 * X[:, 1]
    weight = 10.0 ** rng.uniform(-4, 4, n_rows)
    model = GradientBoostingRegressor(
        n_estimators=1, learning_rate=1.0, l2=0.0, min_samples_leaf=1, min_child_weight=0.0
    ).fit(X, y, weight)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-6, atol=1e-6)


magnitudes = st.floats(-300, 300).map(lambda exponent: 10.0**exponent)


def fit_or_refuse(model, *args):
    """Fit, or return None after an error that was raised on purpose."""
    try:
        return model.fit(*args)
    except SumwiseError:
        return None


@pytest.mark.filterwarnings("error")
@many
@given(seeds, st.lists(magnitudes, min_size=1, max_size=4), growths, st.booleans())
def test_targets_of_any_magnitude(seed, sizes, growth, weighted):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (30, 2))
    y = rng.choice([-1, 1], 30) * rng.choice(sizes, 30)
    weight = rng.choice(sizes, 30) if weighted else None
    params = {"min_samples_leaf": 1, "learning_rate": 1.0, "min_child_weight": 0.0, "l2": 0.0}
    model = GradientBoostingRegressor(n_estimators=1, growth=growth, **params)
    if fit_or_refuse(model, X, y, weight):
        # A leaf is a mean of targets; the smallest weights keep one digit only.
        span = y.max() - y.min()
        predictions = model.predict(X)
        assert np.isfinite(predictions).all()
        assert np.all((y.min() - span <= predictions) & (predictions <= y.max() + span))


@pytest.mark.filterwarnings("error")
@many
@given(seeds, st.lists(magnitudes, min_size=1, max_size=4), st.integers(2, 3))
def test_weights_of_any_magnitude(seed, sizes, n_classes):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (30, 2))
    y = np.arange(30) % n_classes
    weight = rng.choice(sizes, 30)
    for loss in ["log_loss", "exponential"][: 4 - n_classes]:
        model = GradientBoostingClassifier(n_estimators=5, loss=loss, min_samples_leaf=1)
        if fit_or_refuse(model, X, y, weight):
            probabilities = model.predict_proba(X)
            assert np.all((probabilities >= 0) & (probabilities <= 1))
            np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-12)


@few
@given(seeds, magnitudes, st.booleans())
def test_initial_scores_of_any_magnitude(seed, size, is_class):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 5, (30, 2)), rng.integers(0, 2, 30)
    init_score = size * rng.normal(size=30)
    kind = GradientBoostingClassifier if is_class else GradientBoostingRegressor
    model = kind(n_estimators=3, min_samples_leaf=1)
    if fit_or_refuse(model, X, y, None, init_score):
        raw = model.decision_function(X) if is_class else model.predict(X)
        assert np.isfinite(raw).all()


@few
@given(seeds, st.floats(0, 300), growths)
def test_steps_of_any_length(seed, exponent, growth):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 3
    for kind in (GradientBoostingRegressor, GradientBoostingClassifier):
        model = kind(n_estimators=20, learning_rate=10.0**exponent, growth=growth)
        model.set_params(min_samples_leaf=1, min_child_weight=0.0)
        if fit_or_refuse(model, X, y):
            assert np.isfinite(getattr(model, "predict_proba", model.predict)(X)).all()


@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-300, 1e-200, 1e154, 1e200, 1e300])
@pytest.mark.parametrize("of", ["y", "weight"])
def test_importances_of_any_magnitude_are_numbers(size, of):
    X, y, weight = np.arange(6.0)[:, None], np.array([-3.0, -2, -1, 1, 2, 3]), np.ones(6)
    y, weight = (size * y, weight) if of == "y" else (y, size * weight)
    params = {"min_samples_leaf": 1, "l2": 0.0, "min_child_weight": 0.0}
    model = GradientBoostingRegressor(n_estimators=3, **params)
    if fit_or_refuse(model, X, y, weight):
        assert np.isfinite(model.predict(X)).all()
        assert np.isfinite(model.feature_importances_).all()


@few
@given(tables(), growths, st.integers(-400, 400))
def test_a_power_of_two_as_unit_changes_nothing(table, growth, exponent):
    X, y = table
    params = {"n_estimators": 3, "min_samples_leaf": 1, "l2": 0.0, "growth": growth}
    unit = 2.0**exponent
    model = GradientBoostingRegressor(**params).fit(X, y)
    scaled = GradientBoostingRegressor(**params).fit(X, unit * y)
    assert np.array_equal(scaled.predict(X), unit * model.predict(X))


# Symmetries

SYMMETRIC = {"n_estimators": 4, "learning_rate": 0.5, "min_samples_leaf": 1, "max_depth": 4}


@many
@given(tables(), growths, seeds)
def test_weights_are_repetitions(table, growth, seed):
    X, y = table
    counts = np.random.default_rng(seed).integers(0, 4, len(y))
    counts[0] = 1
    params = {**SYMMETRIC, "growth": growth}
    weighted = GradientBoostingRegressor(**params).fit(X, y, counts)
    repeated = GradientBoostingRegressor(**params)
    repeated.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    # Where a missing value goes that no row had follows the number of rows, so only seen ones.
    seen = X[counts > 0]
    np.testing.assert_allclose(weighted.predict(seen), repeated.predict(seen), rtol=1e-9, atol=1e-9)


@few
@given(tables(), growths, seeds)
def test_weights_are_repetitions_for_classes(table, growth, seed):
    X, score = table
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 4, len(X))
    y = np.arange(len(X)) % 2
    params = {**SYMMETRIC, "growth": growth, "min_child_weight": 0.0}
    # Scores that differ give gradients that differ, so that no two splits are as good.
    weighted = GradientBoostingClassifier(**params).fit(X, y, counts, init_score=score)
    repeated = GradientBoostingClassifier(**params)
    repeated.fit(*(np.repeat(a, counts, axis=0) for a in (X, y)), None, np.repeat(score, counts))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), rtol=1e-9, atol=1e-9
    )


@few
@given(tables(), parameters(), seeds)
def test_the_order_of_rows_changes_no_byte(table, params, seed):
    X, y = table
    order = np.random.default_rng(seed).permutation(len(y))
    weight = np.random.default_rng(seed).uniform(0.5, 2, len(y))
    model = GradientBoostingRegressor(**params).fit(X, y, weight)
    shuffled = GradientBoostingRegressor(**params).fit(X[order], y[order], weight[order])
    assert model_bytes(model) == model_bytes(shuffled)


@few
@given(tables(), parameters(), seeds)
def test_the_order_of_features_changes_no_prediction(table, params, seed):
    X, y = table
    order = np.random.default_rng(seed).permutation(X.shape[1])
    model = GradientBoostingRegressor(**params).fit(X, y)
    shuffled = GradientBoostingRegressor(**params).fit(X[:, order], y)
    predictions = shuffled.predict(X[:, order])
    np.testing.assert_allclose(predictions, model.predict(X), rtol=1e-9, atol=1e-9)


def make_ranks(values):
    ranks = np.searchsorted(np.unique(values[~np.isnan(values)]), values).astype(float)
    return np.where(np.isnan(values), np.nan, ranks)


TRANSFORMS = {
    "affine": lambda values: 3 * values + 1,
    "root": np.cbrt,
    "ranks": make_ranks,
    "arctan": np.arctan,
}


@few
@given(tables(), parameters(), st.sampled_from(list(TRANSFORMS)))
def test_increasing_functions_of_a_feature_change_no_prediction(table, params, name):
    X, y = table
    X_new = X.copy()
    X_new[:, 0] = TRANSFORMS[name](X[:, 0])
    model = GradientBoostingRegressor(**params).fit(X, y)
    transformed = GradientBoostingRegressor(**params).fit(X_new, y)
    assert np.array_equal(model.predict(X), transformed.predict(X_new))


@few
@given(tables(), parameters())
def test_the_sign_of_a_feature_changes_no_prediction(table, params):
    X, y = table
    model = GradientBoostingRegressor(**params).fit(X, y)
    mirrored = GradientBoostingRegressor(**params).fit(-X, y)
    np.testing.assert_allclose(mirrored.predict(-X), model.predict(X), rtol=1e-9, atol=1e-9)


# The same on data large enough for quantiles and packed sums


def make_large_table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 5))
    y = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + 0.5 * rng.normal(size=20_000)
    return X, y


LARGE = {"n_estimators": 20, "min_samples_leaf": 1, "max_leaves": 15}


@pytest.mark.parametrize("growth", GROWTHS)
def test_weights_are_repetitions_on_large_data(growth):
    X, y = make_large_table()
    counts = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = GradientBoostingRegressor(**LARGE, growth=growth).fit(X, y, counts)
    repeated = GradientBoostingRegressor(**LARGE, growth=growth)
    repeated.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    difference = weighted.predict(X) - repeated.predict(X)
    # Sums of 14 bits may choose another of two splits that are about as good.
    assert np.sqrt(np.mean(difference**2)) < 0.05 * np.std(y)
    scores = weighted.score(X, y), repeated.score(X, y)
    assert abs(scores[0] - scores[1]) < 0.005


def test_the_order_of_rows_changes_no_byte_of_a_large_model():
    X, y = make_large_table()
    order = np.random.default_rng(1).permutation(len(y))
    model = GradientBoostingRegressor(**LARGE).fit(X, y)
    shuffled = GradientBoostingRegressor(**LARGE).fit(X[order], y[order])
    assert model_bytes(model) == model_bytes(shuffled)


def test_increasing_functions_change_no_prediction_of_a_large_model():
    X, y = make_large_table()
    model = GradientBoostingRegressor(**LARGE, max_bins=50).fit(X, y)
    transformed = GradientBoostingRegressor(**LARGE, max_bins=50).fit(np.exp(X), y)
    assert np.array_equal(model.predict(X), transformed.predict(np.exp(X)))


# Files


@few
@given(tables(), parameters(), st.integers(1, 4), st.booleans())
def test_a_saved_model_predicts_the_same(table, params, n_classes, sampled):
    X, y = table
    params = {**params, "random_state": 0}
    if sampled:
        params.update(sampler=Subsample(rate=0.5), columns=Columns(by_tree=0.7))
    if n_classes == 1:
        model = GradientBoostingRegressor(**params).fit(X, y)
    else:
        labels = np.arange(len(X)) % min(n_classes, len(X))
        model = GradientBoostingClassifier(**params).fit(X, labels)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(path)
        loaded = load(path)
    others = np.random.default_rng(0).normal(scale=3, size=(50, X.shape[1]))
    for table in (X, others):
        assert np.array_equal(loaded.predict(table), model.predict(table))
        assert np.array_equal(loaded.apply(table), model.apply(table))
    assert loaded.get_params() == model.get_params()
    assert model_bytes(loaded) == model_bytes(model)
