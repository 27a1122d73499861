"""Exact Shapley values and interactions, against sums over all subsets of the features."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from sumwise import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
)
from sumwise.data.matrix import ColumnMatrix
from sumwise.data.sparse import SparseMatrix
from sumwise.errors import DataError, ExplanationError
from sumwise.inspection.shap import shap_interactions, shap_values
from sumwise.kernels.runtime.threads import Team
from sumwise.tree import LinearEnsemble
from tests import forests
from tests.ensembles import N_FEATURES, draw_ensemble
from tests.naive import shap as naive

# The same examples in every run: a failure is a bug of the change at hand.
few = settings(derandomize=True, deadline=None, max_examples=25)


def check_sums(model, X, values, expected, team):
    raw = model.predict_raw(X, team)
    assert np.abs(values.sum(axis=1) + expected - raw).max() <= 1e-9 * max(1.0, np.abs(raw).max())


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_values_are_sums_over_all_subsets(n_outputs: int) -> None:
    for seed in range(4):
        ensemble, X = draw_ensemble(seed, n_outputs)
        values, expected = shap_values(ensemble, X, Team(1))
        for row, own in zip(X, values, strict=True):
            game = naive.play_by_path(ensemble, row)
            np.testing.assert_allclose(expected, game(frozenset()), rtol=1e-12, atol=1e-12)
            right = naive.find_values(game, N_FEATURES)
            np.testing.assert_allclose(own, right, rtol=1e-11, atol=1e-11)
        check_sums(ensemble, X, values, expected, Team(1))


@pytest.mark.parametrize("kind", ["number", "three"])
def test_forests(kind: str) -> None:
    grown = forests.grow(kind, n_rows=60, n_trees=2)
    X, background = grown.X[:3], grown.X[10:14]
    values, expected = shap_values(grown.forest, X, Team(1))
    check_sums(grown.forest, X, values, expected, Team(1))
    pairs, _ = shap_interactions(grown.forest, X[:1], Team(1))
    for row, own in zip(X, values, strict=True):
        right = naive.find_values(naive.play_by_path(grown.forest, row), 5)
        np.testing.assert_allclose(own, right, rtol=1e-10, atol=1e-11)
    right = naive.find_interactions(naive.play_by_path(grown.forest, X[0]), 5)
    np.testing.assert_allclose(pairs[0], right, rtol=1e-10, atol=1e-11)

    values, expected = shap_values(grown.forest, X[:2], Team(1), background)
    for row, own in zip(X, values, strict=False):
        game = naive.play_with_background(grown.forest, row, background)
        np.testing.assert_allclose(own, naive.find_values(game, 5), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_interactions_are_sums_over_all_subsets(n_outputs: int) -> None:
    for seed in range(4):
        ensemble, X = draw_ensemble(seed, n_outputs)
        values, expected = shap_interactions(ensemble, X[:4], Team(1))
        alone, same = shap_values(ensemble, X[:4], Team(1))
        np.testing.assert_array_equal(expected, same)
        np.testing.assert_array_equal(values, values.transpose(0, 2, 1, 3))
        np.testing.assert_allclose(values.sum(axis=2), alone, rtol=1e-11, atol=1e-12)
        for row, own in zip(X, values, strict=False):
            right = naive.find_interactions(naive.play_by_path(ensemble, row), N_FEATURES)
            np.testing.assert_allclose(own, right, rtol=1e-11, atol=1e-11)


def test_interventional_values_are_sums_over_all_subsets() -> None:
    for seed in range(4):
        ensemble, X = draw_ensemble(seed, 2)
        X, background = X[:3], X[4:]
        values, expected = shap_values(ensemble, X, Team(1), background)
        for row, own in zip(X, values, strict=True):
            game = naive.play_with_background(ensemble, row, background)
            np.testing.assert_allclose(expected, game(frozenset()), rtol=1e-12, atol=1e-12)
            right = naive.find_values(game, N_FEATURES)
            np.testing.assert_allclose(own, right, rtol=1e-11, atol=1e-11)
        check_sums(ensemble, X, values, expected, Team(1))


def test_interventional_interactions_are_sums_over_all_subsets() -> None:
    for seed in range(3):
        ensemble, X = draw_ensemble(seed, 2)
        X, background = X[:2], X[4:]
        values, expected = shap_interactions(ensemble, X, Team(1), background)
        alone, same = shap_values(ensemble, X, Team(1), background)
        np.testing.assert_array_equal(expected, same)
        np.testing.assert_allclose(values.sum(axis=2), alone, rtol=1e-11, atol=1e-12)
        for row, own in zip(X, values, strict=True):
            game = naive.play_with_background(ensemble, row, background)
            right = naive.find_interactions(game, N_FEATURES)
            np.testing.assert_allclose(own, right, rtol=1e-11, atol=1e-11)


def test_the_same_bits_for_any_number_of_threads() -> None:
    ensemble, _ = draw_ensemble(1, 2)
    X = np.random.default_rng(0).normal(size=(700, N_FEATURES))
    for explain, background in product((shap_values, shap_interactions), (None, X[:20])):
        right = explain(ensemble, X, Team(1), background)
        for n_threads in (2, 3):
            with Team(n_threads) as team:
                found = explain(ensemble, X, team, background)
            for own, same in zip(found, right, strict=True):
                assert own.tobytes() == same.tobytes()


def test_a_row_is_explained_alike_among_others() -> None:
    """Many rows are explained by the outcomes of trees with few tests."""
    ensemble, _ = draw_ensemble(2)
    X = np.random.default_rng(0).normal(size=(600, N_FEATURES))
    background = X[100:130]
    for others in ((), (background,)):
        values, _ = shap_values(ensemble, X, Team(1), *others)
        for i in (0, 31, 257, 599):
            alone, _ = shap_values(ensemble, X[i : i + 1], Team(1), *others)
            assert alone.tobytes() == values[i].tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_containers(dtype: type) -> None:
    ensemble, X = draw_ensemble(3, set_share=0.0)  # sparse features have no categories
    X = np.where(np.abs(X) > 1e30, 2.0, X).astype(dtype)
    columns = ColumnMatrix([lambda i, j, f=f: X[i:j, f] for f in range(4)], len(X), np.dtype(dtype))
    gaps = np.where(np.isnan(X), 0.0, X)
    stored = csr_matrix(gaps.astype(dtype))
    unstored = SparseMatrix.from_dense(X, np.nan)
    for plain, same in (
        (X, columns),
        (X, np.asfortranarray(X)),
        (X, unstored),
        (gaps, SparseMatrix.from_scipy(stored)),
    ):
        for others in ((), (X[:4],)):
            right, own = (shap_values(ensemble, rows, Team(1), *others) for rows in (plain, same))
            np.testing.assert_array_equal(own[0], right[0])
            np.testing.assert_array_equal(own[1], right[1])
    right, _ = shap_values(ensemble, X, Team(1), gaps)
    own, _ = shap_values(ensemble, X, Team(1), SparseMatrix.from_scipy(stored))
    np.testing.assert_array_equal(own, right)


def test_deep_trees_stay_exact() -> None:
    """A chain of 60 features: the sums hold, and equal splits share equally."""
    n_features = 60
    ensemble, _ = draw_ensemble(0, 1, [(n_features + 1, "left")], n_features, 0.0)
    split = ensemble.feature >= 0
    chain = replace(
        ensemble,
        feature=np.where(split, np.cumsum(split) - 1, -1).astype(np.int32),
        threshold=np.zeros(ensemble.n_nodes),
        n_rows=np.ones(ensemble.n_nodes, dtype=np.int64),
    )
    X = np.random.default_rng(0).normal(size=(40, n_features))
    for others in ((), (X[:7],)):
        values, expected = shap_values(chain, X, Team(1), *others)
        check_sums(chain, X, values, expected, Team(1))
    # Only the leaf at the end counts: for a row that comes there, all features do the same.
    end = np.zeros(ensemble.n_nodes)
    end[chain.apply(np.full((1, n_features), -1.0), Team(1))[0, 0]] = 1.0
    values, expected = shap_values(
        replace(chain, value=end), np.full((1, n_features), -1.0), Team(1)
    )
    np.testing.assert_allclose(values[0, :, 0], (1.0 - 0.5**n_features) / n_features, rtol=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 3), st.booleans(), st.sampled_from([40, 520]))
@few
def test_properties(seed: int, n_outputs: int, with_background: bool, n_rows: int) -> None:
    """Local accuracy, nothing for unused features, symmetry, and rows of pairs sum to values."""
    n_features = 6
    ensemble, _ = draw_ensemble(seed, n_outputs, n_features=n_features)
    # Feature 1 takes the splits of feature 2, which is not used any more.
    ensemble = replace(
        ensemble, feature=np.where(ensemble.feature == 2, 1, ensemble.feature).astype(np.int32)
    )
    rng = np.random.default_rng(seed)
    X = rng.choice([-np.inf, -1.0, 0.0, 0.5, 3.0, np.inf, np.nan], (n_rows, n_features))
    background = X[:9] if with_background else None
    values, expected = shap_values(ensemble, X, Team(1), background)
    check_sums(ensemble, X, values, expected, Team(1))
    assert not values[:, 2].any()
    pairs, _ = shap_interactions(ensemble, X, Team(1), background)
    assert not pairs[:, 2].any()
    np.testing.assert_array_equal(pairs, pairs.transpose(0, 2, 1, 3))
    np.testing.assert_allclose(pairs.sum(axis=2), values, rtol=1e-11, atol=1e-12)


def draw_table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    X[:, 3] = rng.integers(0, 6, 300)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0]) + (X[:, 3] % 2 == 0) * np.nan_to_num(X[:, 1])
    return X, y


@pytest.mark.parametrize(
    "params",
    [
        {"growth": "leaf"},
        {"growth": "depth", "categorical_features": [3]},
        {"growth": "symmetric", "categorical_features": [3]},
        {"booster": "dart"},
        {"booster": "forest"},
        {"loss": "absolute_error"},
        {"multi_strategy": "multi_output_tree"},
        {"booster": "linear"},
    ],
)
def test_boosting(params) -> None:
    X, y = draw_table()
    if "multi_strategy" in params:
        y = np.column_stack([y, -y, y**2])
    model = GradientBoostingRegressor(n_estimators=5, max_leaves=9, **params).fit(X, y)
    rows = model._check_input(X)
    for background in (None, rows[:30]):
        values, expected = shap_values(model.ensemble_, rows, Team(1), background)
        check_sums(model.ensemble_, rows, values, expected, Team(1))
    pairs, _ = shap_interactions(model.ensemble_, rows[:20], Team(1))
    alone, _ = shap_values(model.ensemble_, rows[:20], Team(1))
    np.testing.assert_allclose(pairs.sum(axis=2), alone, rtol=1e-9, atol=1e-12)


def test_classes() -> None:
    X, y = draw_table()
    labels = np.digitize(y, [-0.5, 0.8])
    model = GradientBoostingClassifier(n_estimators=4, max_leaves=7).fit(X, labels)
    rows = model._check_input(X)
    values, expected = shap_values(model.ensemble_, rows, Team(1))
    assert values.shape == (300, 5, 3)
    check_sums(model.ensemble_, rows, values, expected, Team(1))
    forest = RandomForestClassifier(4, random_state=0, categorical_features=[3]).fit(X, labels)
    rows = forest._check_input(X)
    for background in (None, rows[:30]):
        values, expected = shap_values(forest.forest_, rows, Team(1), background)
        check_sums(forest.forest_, rows, values, expected, Team(1))


def test_a_linear_model() -> None:
    coefficient = np.array([[[1.0, 2.0]], [[3.0, -1.0]]])
    model = LinearEnsemble(coefficient, np.array([[0.5], [0.25]]), np.array([10.0]), "identity")
    X = np.array([[1.0, 2.0], [np.nan, 4.0]])
    values, expected = shap_values(model, X, Team(1))
    np.testing.assert_array_equal(values[:, :, 0], [[3.0, -2.0], [0.0, -4.0]])
    np.testing.assert_array_equal(expected, [10.25])
    values, expected = shap_values(model, X, Team(1), X)
    np.testing.assert_array_equal(values[:, :, 0], [[1.5, 1.0], [-1.5, -1.0]])
    np.testing.assert_array_equal(expected, [10.25 + 1.5 - 3.0])
    pairs, _ = shap_interactions(model, X, Team(1))
    np.testing.assert_array_equal(pairs[0, :, :, 0], [[3.0, 0.0], [0.0, -2.0]])
    pairs, _ = shap_interactions(model, X, Team(1), X)
    np.testing.assert_array_equal(pairs[0, :, :, 0], [[1.5, 0.0], [0.0, 1.0]])


def test_linear_leaves_are_refused() -> None:
    X, y = draw_table()
    model = GradientBoostingRegressor(n_estimators=2, leaves="linear").fit(X, y)
    for explain in (shap_values, shap_interactions):
        with pytest.raises(ExplanationError, match="linear models"):
            explain(model.ensemble_, X, Team(1))


def test_few_rows_and_no_splits() -> None:
    ensemble, X = draw_ensemble(0, 1, [(1, "random"), (1, "random")])
    values, expected = shap_values(ensemble, X, Team(1))
    assert not values.any()
    np.testing.assert_allclose(expected, ensemble.base_score + ensemble.value.sum())
    values, _ = shap_values(ensemble, X, Team(1), X[:1])
    assert not values.any()
    with pytest.raises(DataError, match="no rows"):
        shap_values(ensemble, X, Team(1), X[:0])
    assert shap_values(ensemble, X[:0], Team(1))[0].shape == (0, N_FEATURES, 1)
