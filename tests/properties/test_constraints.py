"""Constraints hold over the whole input space, for every table and every setting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise import Columns, GradientBoostingClassifier, GradientBoostingRegressor, Subsample

GROWTHS = ["leaf", "depth", "symmetric"]
few = settings(derandomize=True, deadline=None, max_examples=25)
many = settings(derandomize=True, deadline=None, max_examples=70)

seeds = st.integers(0, 10**6)


@st.composite
def problems(draw):
    """A small table, a target that breaks most constraints, weights, and parameters."""
    rng = np.random.default_rng(draw(seeds))
    n_rows, n_features = draw(st.integers(10, 80)), draw(st.integers(1, 4))
    X = rng.normal(size=(n_rows, n_features)).round(draw(st.integers(0, 2)))
    y = rng.normal(size=n_rows) + X @ rng.normal(size=n_features)
    X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.2]))] = np.nan
    weight = rng.choice([0.1, 1.0, 5.0], n_rows) if draw(st.booleans()) else None
    rates = st.sampled_from([0.5, 1.0])
    params = {
        "growth": draw(st.sampled_from(GROWTHS)),
        "n_estimators": draw(st.integers(1, 6)),
        "learning_rate": draw(st.sampled_from([0.1, 0.3, 1.0])),
        "max_depth": draw(st.integers(1, 6)),
        "min_samples_leaf": draw(st.integers(1, 5)),
        "min_child_weight": draw(st.sampled_from([0.0, 2.0])),
        "l1": draw(st.sampled_from([0.0, 0.5])),
        "l2": draw(st.sampled_from([0.0, 1.0])),
        "max_delta_step": draw(st.sampled_from([0.0, 0.4])),
        "sampler": Subsample(rate=0.7) if draw(st.booleans()) else None,
        "columns": Columns(by_tree=draw(rates), by_node=draw(rates)),
        "monotonic_cst": rng.choice([-1, 0, 1], n_features).tolist(),
        "random_state": 0,
    }
    return X, y, weight, params


def values_around(model, feature):
    """Values in, between and beyond all thresholds of a feature."""
    ensemble = model.ensemble_
    thresholds = np.unique(ensemble.threshold[ensemble.feature == feature])
    thresholds = thresholds[np.isfinite(thresholds)]
    above = np.nextafter(thresholds, np.inf)
    return np.unique(np.concatenate([[-np.inf, 0.0, np.inf], thresholds, above]))


def draw_backgrounds(model, rng, n_rows=30):
    """Rows all over the input space, missing values included."""
    columns = []
    for feature in range(model.n_features_in_):
        values = np.append(values_around(model, feature), np.nan)
        columns.append(rng.choice(values, n_rows))
    return np.stack(columns, axis=1)


def assert_monotone(model, directions, predict):
    rng = np.random.default_rng(1)
    for feature, direction in enumerate(directions):
        values = values_around(model, feature)
        backgrounds = draw_backgrounds(model, rng)
        grid = np.repeat(backgrounds, values.size, axis=0)
        grid[:, feature] = np.tile(values, len(backgrounds))
        steps = np.diff(predict(grid).reshape(len(backgrounds), values.size), axis=1)
        assert (direction * steps >= 0).all()  # not even the last bit


@many
@given(problems())
def test_regression_is_monotone(problem):
    X, y, weight, params = problem
    model = GradientBoostingRegressor(**params).fit(X, y, weight)
    assert_monotone(model, params["monotonic_cst"], model.predict)


@few
@given(problems())
def test_single_rows_are_monotone(problem):
    """They take another way than many rows."""
    X, y, weight, params = problem
    model = GradientBoostingRegressor(**params).fit(X, y, weight)

    def predict_one_by_one(rows):
        return np.concatenate([model.predict(row[None, :]) for row in rows[:300]])

    rng = np.random.default_rng(2)
    for feature, direction in enumerate(params["monotonic_cst"]):
        values = values_around(model, feature)
        grid = np.repeat(draw_backgrounds(model, rng, 1), values.size, axis=0)
        grid[:, feature] = values
        assert (direction * np.diff(predict_one_by_one(grid)) >= 0).all()


@few
@given(problems())
def test_classification_is_monotone(problem):
    X, y, weight, params = problem
    labels = y > np.median(y)
    model = GradientBoostingClassifier(**params).fit(X, labels, weight)
    assert_monotone(model, params["monotonic_cst"], model.decision_function)
    assert_monotone(model, params["monotonic_cst"], lambda X: model.predict_proba(X)[:, 1])


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("n_rows", [3_000, 12_000])
def test_larger_models_are_monotone(growth, n_rows):
    """Rounded histograms, packed and not, and bounds that bind."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    y = np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 0] - X[:, 2] ** 2 + rng.normal(size=n_rows)
    directions = [1, -1, 1, 0]
    model = GradientBoostingRegressor(
        growth=growth, n_estimators=15, max_bins=40, min_samples_leaf=5, monotonic_cst=directions
    ).fit(X, y)
    assert_monotone(model, directions, model.predict)
    assert {0, 1, 2} <= set(model.ensemble_.feature.tolist())


@pytest.mark.parametrize("growth", GROWTHS)
def test_constraints_that_nothing_breaks_change_no_bit(growth):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 8, (400, 3)).astype(float)
    y = X @ [1.0, -2.0, 0.0] + 5.0 * (X[:, 2] > 3)
    params = {"growth": growth, "n_estimators": 3, "max_depth": 2, "learning_rate": 0.3}
    plain = GradientBoostingRegressor(**params).fit(X, y)
    bound = GradientBoostingRegressor(**params, monotonic_cst=[1, -1, 1]).fit(X, y)
    for name in ("feature", "threshold", "value", "gain"):
        ours, theirs = getattr(bound.ensemble_, name), getattr(plain.ensemble_, name)
        assert ours.tolist() == theirs.tolist(), name


# Interactions


def list_paths(model):
    """The features above each leaf of each tree."""
    ensemble = model.ensemble_
    left_child = ensemble.find_children()
    for root in ensemble.start[:-1]:
        pending = [(int(root), frozenset())]
        while pending:
            node, path = pending.pop()
            feature = int(ensemble.feature[node])
            if feature < 0:
                yield path
            else:
                left = int(left_child[node])
                pending += [(left, path | {feature}), (left + 1, path | {feature})]


@many
@given(problems(), seeds)
def test_every_path_stays_within_a_group(problem, seed):
    X, y, weight, params = problem
    rng = np.random.default_rng(seed)
    n_features = X.shape[1]
    groups = [
        set(rng.choice(n_features, rng.integers(1, n_features + 1), replace=False).tolist())
        for _ in range(rng.integers(1, 4))
    ]
    model = GradientBoostingRegressor(**params, interaction_cst=groups).fit(X, y, weight)
    rest = set(range(n_features)) - set().union(*groups)
    for path in list_paths(model):
        assert any(path <= group for group in [*groups, rest])
    assert_monotone(model, params["monotonic_cst"], model.predict)


@few
@given(problems())
def test_pairwise_paths_have_two_features(problem):
    X, y, weight, params = problem
    pairs = GradientBoostingRegressor(**params, interaction_cst="pairwise").fit(X, y, weight)
    assert max(map(len, list_paths(pairs))) <= 2
    alone = GradientBoostingRegressor(**params, interaction_cst="no_interactions")
    assert max(map(len, list_paths(alone.fit(X, y, weight)))) <= 1


@few
@given(problems())
def test_groups_add_up(problem):
    """A model whose groups do not share a feature is a sum of functions, one per group."""
    X, y, weight, params = problem
    X = np.hstack([X, np.roll(X, 1, axis=0)])
    n_features = X.shape[1]
    params["monotonic_cst"] = params["monotonic_cst"] * 2
    first = list(range(n_features // 2))
    model = GradientBoostingRegressor(**params, interaction_cst=[first]).fit(X, y, weight)
    rng = np.random.default_rng(0)
    a, b = draw_backgrounds(model, rng), draw_backgrounds(model, rng)
    a_then_b, b_then_a = a.copy(), b.copy()
    a_then_b[:, first], b_then_a[:, first] = b[:, first], a[:, first]
    crossed = model.predict(a_then_b) + model.predict(b_then_a)
    np.testing.assert_allclose(crossed, model.predict(a) + model.predict(b), atol=1e-9)
