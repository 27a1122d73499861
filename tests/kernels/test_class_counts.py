"""Classification trees by Gini impurity: against the naive twin and scikit-learn."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from sumwise.data.binning import BinMapper
from sumwise.kernels.class_counts import ClassCounts, node_score, set_value, split_gain
from sumwise.kernels.jit import kernel
from sumwise.kernels.threads import Team
from sumwise.sampling import Columns
from sumwise.tree import GrowthSettings, TreeGrower
from tests.naive.classes import grow_class_tree, score_counts
from tests.naive.grow import GrowOptions


@kernel
def score(payload, totals):
    return node_score(payload, totals)


@kernel
def gain(payload, left, totals, min_rows):
    return split_gain(payload, left, totals, min_rows)


@kernel
def value(payload, sums, out):
    return set_value(payload, sums, out)


def make_payload(n_classes):
    return ClassCounts(np.zeros(0, np.uint16), np.zeros(0, np.uint16), n_classes)


def gini(counts):
    return 1 - np.sum((counts / counts.sum()) ** 2)


def test_gain_orders_splits_as_gini_does():
    rng = np.random.default_rng(0)
    totals = np.append(rng.integers(20, 50, 4), 0)
    totals[-1] = totals[:-1].sum()
    gains, decreases = [], []
    for _ in range(50):
        left = rng.integers(1, totals[:-1])
        right = totals[:-1] - left
        gains.append(gain(make_payload(4), np.append(left, left.sum()), totals, 1))
        children = left.sum() * gini(left) + right.sum() * gini(right)
        decreases.append(totals[-1] * gini(totals[:-1]) - children)
    np.testing.assert_allclose(gains, decreases, rtol=1e-9, atol=1e-9)


def test_score_equals_twin_and_is_zero_without_weight():
    payload = make_payload(3)
    for counts in ([5, 0, 0], [1, 2, 3], [0, 0, 0], [65535, 2**25, 7]):
        assert score(payload, np.array([*counts, 9])) == score_counts(np.array(counts))


def test_small_children_are_refused():
    payload, totals = make_payload(2), np.array([10, 10, 20])
    assert gain(payload, np.array([5, 0, 5]), totals, 5) > 0
    assert gain(payload, np.array([5, 0, 5]), totals, 6) == -np.inf
    assert gain(payload, np.array([10, 5, 15]), totals, 6) == -np.inf
    # rows without weight are no child
    assert gain(payload, np.array([0, 0, 8]), totals, 1) == -np.inf
    assert gain(payload, np.array([10, 10, 8]), totals, 1) == -np.inf


def test_values_are_frequencies():
    out = np.empty(3)
    assert value(make_payload(3), np.array([1, 0, 3, 99]), out) == 4.0
    assert out.tolist() == [0.25, 0.0, 0.75]
    assert value(make_payload(3), np.zeros(4, dtype=np.int64), out) == 0.0
    assert out.tolist() == [0.0, 0.0, 0.0]


def grow(X, class_idx, weight, rows, n_threads, **settings):
    n_classes = int(class_idx.max()) + 1
    with Team(n_threads) as team:
        mapper = BinMapper.fit(X)
        data = mapper.transform(X, team)
        grower = TreeGrower(
            data, mapper, GrowthSettings(**settings), Columns(), rows.size, team, n_classes
        )
        tree = grower.grow_on_classes(
            class_idx.astype(np.uint16),
            weight.astype(np.uint16),
            n_classes,
            rows.astype(np.uint32),
            np.uint64(1),
        )
    return tree, data


def make_data(seed, n_rows=150, missing=0.1):
    rng = np.random.default_rng(seed)
    n_features, n_classes = int(rng.integers(1, 20)), int(rng.integers(2, 7))
    X = rng.integers(0, rng.integers(2, 40, n_features), (n_rows, n_features)).astype(float)
    class_idx = (X @ rng.normal(size=n_features) + rng.normal(size=n_rows) * 3).astype(int)
    class_idx = (class_idx - class_idx.min()) % n_classes
    class_idx[:n_classes] = np.arange(n_classes)
    X[rng.random(X.shape) < missing] = np.nan
    return X, class_idx, rng.integers(1, 5, n_rows), rng


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("growth", ["leaf", "depth"])
def test_tree_equals_naive_twin(growth, seed):
    X, class_idx, weight, rng = make_data(seed)
    rows = np.sort(rng.choice(150, 110, replace=False))
    options = {
        "growth": growth,
        "max_leaves": [None, 7, 30][seed % 3] or (1000 if growth == "leaf" else None),
        "max_depth": [4, 6][seed % 2] if growth == "depth" else None,
        "min_samples_leaf": int(rng.integers(1, 6)),
        "min_gain": [0.0, 1.0][seed % 2],
    }
    for n_threads in (1, 2, 4):
        tree, data = grow(X, class_idx, weight, rows, n_threads, **options)
        table = data.table
        twin = grow_class_tree(
            table.columns, table.n_value_bins, class_idx, weight, rows, GrowOptions(**options)
        )
        assert twin.n_nodes > 1
        assert tree.feature.tolist() == twin.feature
        assert tree.split_bin.tolist() == twin.split_bin
        assert tree.missing_left.tolist() == twin.missing_left
        assert tree.left.tolist() == twin.left
        assert tree.n_rows.tolist() == twin.n_rows
        assert tree.weight.tolist() == twin.sum_hessian
        assert tree.value.tolist() == twin.value
        assert tree.gain.tolist() == twin.gain


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
def test_threads_do_not_matter(growth):
    X, class_idx, weight, _ = make_data(3, n_rows=700)
    rows = np.arange(700)
    trees = [
        grow(X, class_idx, weight, rows, n_threads, growth=growth, max_depth=6)[0]
        for n_threads in (1, 2, 4)
    ]
    assert trees[0].n_leaves > 8
    for tree in trees[1:]:
        for name, values in vars(trees[0]).items():
            assert values.tobytes() == getattr(tree, name).tobytes(), name


def leaves_of(tree, codes):
    nodes = np.zeros(codes.shape[1], dtype=int)
    while np.any(tree.feature[nodes] >= 0):
        inner = tree.feature[nodes] >= 0
        code = codes[tree.feature[nodes], np.arange(nodes.size)]
        goes_right = code > tree.split_bin[nodes]
        nodes = np.where(inner, tree.left[nodes] + goes_right, nodes)
    return nodes


@pytest.mark.parametrize("seed", range(6))
def test_rows_part_as_in_scikit_learn(seed):
    """Distinct weights of the rows leave no ties between splits."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (120, 4)).astype(float)
    class_idx = ((X[:, 0] + 2 * X[:, 1] + rng.integers(0, 9, 120)) // 10).astype(int) % 3
    weight = rng.permutation(np.arange(1000, 1120))
    rival = DecisionTreeClassifier(max_depth=3, min_samples_leaf=5, random_state=0)
    expected = rival.fit(X, class_idx, sample_weight=weight).apply(X)
    tree, data = grow(
        X, class_idx, weight, np.arange(120), 1, growth="depth", max_depth=3, min_samples_leaf=5
    )
    found = leaves_of(tree, data.table.columns)
    assert tree.n_leaves > 4
    # the same rows are together, whatever the leaves are called
    assert len(set(zip(found, expected, strict=True))) == len(set(found)) == len(set(expected))
    # the root sees every value, so that its neighbors are the same
    assert tree.feature[0] == rival.tree_.feature[0]
    assert tree.threshold[0] == rival.tree_.threshold[0]
    np.testing.assert_allclose(tree.value[found], rival.predict_proba(X), rtol=1e-12)


def test_weights_of_a_row_count_as_copies():
    X, class_idx, weight, _ = make_data(1)
    copies = np.repeat(np.arange(150), weight)
    settings = {"growth": "leaf", "max_leaves": 8, "min_samples_leaf": 1}
    tree, _ = grow(X, class_idx, weight, np.arange(150), 1, **settings)
    ones = np.ones(copies.size)
    other, _ = grow(X[copies], class_idx[copies], ones, np.arange(copies.size), 1, **settings)
    assert tree.feature.tolist() == other.feature.tolist()
    assert tree.threshold.tolist() == other.threshold.tolist()
    assert tree.value.tolist() == other.value.tolist()
    assert tree.n_rows[0] == 150
    assert other.n_rows[0] == weight.sum()


def test_one_class_gives_one_leaf():
    X, _, weight, _ = make_data(0)
    tree, _ = grow(X, np.zeros(150, dtype=int), weight, np.arange(150), 1)
    assert tree.n_nodes == 1
    assert tree.value.tolist() == [[1.0]]
