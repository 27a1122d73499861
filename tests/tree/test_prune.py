"""Pruning against its twins and scikit-learn; values from unseen rows against theirs."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sumwise.data.binning import BinMapper
from sumwise.errors import ParameterError
from sumwise.kernels.forest.layout import LOGARITHMIC, POISSON, QUADRATIC, TWO_CLASS_LOG
from sumwise.kernels.forest.many_outputs import Labels, Vectors
from sumwise.kernels.forest.one_output import Numbers
from sumwise.kernels.runtime.threads import Team
from sumwise.training.forest import ForestPlan, grow_forest
from sumwise.tree.forest import BinnedForest, ForestTree
from sumwise.tree.forest_grower import ForestSettings
from sumwise.tree.forest_table import RowTable
from sumwise.tree.prune import (
    cost_complexity_path,
    estimate_by_rows,
    measure_impurity,
    prune_by_rows,
    prune_cost_complexity,
    scale_gain,
    weigh_out_of_bag,
)
from tests import forests
from tests.naive import forest_nodes as naive
from tests.naive import trees as shapes

NO_CATEGORIES = BinMapper([np.empty(0)])


def make_tree(left, gain):
    """A tree of a given shape."""
    left = np.array(left, dtype=np.int32)
    is_leaf, n = left < 0, left.size
    return ForestTree(
        feature=np.where(is_leaf, -1, 0).astype(np.int32),
        split_bin=np.arange(n).astype(np.uint8),
        missing_left=np.ones(n, dtype=np.uint8),
        left=left,
        gain=np.where(is_leaf, 0.0, gain),
        weight=np.full(n, 2.0),
        n_rows=np.full(n, 2),
        value=np.arange(n, dtype=float)[:, None],
    )


def check_numbering(tree):
    inner = np.flatnonzero(tree.left >= 0)
    assert (tree.feature[inner] >= 0).all()
    assert (tree.feature[tree.left < 0] == -1).all()
    assert (tree.gain[tree.left < 0] == 0).all()
    children = np.concatenate([tree.left[inner], tree.left[inner] + 1])
    assert sorted(children) == list(range(1, tree.n_nodes))
    assert (tree.left[inner] > inner).all()
    assert tree.n_nodes == 2 * inner.size + 1


# --- by cost and complexity ---


@pytest.mark.parametrize("shape", ["random", "balanced", "left", "right"])
@pytest.mark.parametrize("is_round", [False, True])
def test_path_equals_twin(shape, is_round):
    rng = np.random.default_rng(8)
    for n_leaves in [1, 2, 3, 5, 9, 30]:
        left = shapes.grow(rng, n_leaves, shape)
        gain = rng.integers(0, 4, len(left)).astype(float) if is_round else rng.random(len(left))
        tree = make_tree(left, gain)
        steps = naive.prune_weakest_links(left, list(tree.gain))
        path = cost_complexity_path(tree, 100.0, 1.0)
        assert (np.diff(path.ccp_alphas) > 0).all()
        assert path.ccp_alphas[0] == 0
        # gains are of weight 2
        total = {0.0: tree.gain.sum()}
        for alpha, inner in steps:
            total[round(alpha / 2, 9)] = gain[list(inner)].sum()
        assert path.ccp_alphas.round(9).tolist() == sorted(total)
        expected = [100 - total[alpha] / 2 for alpha in sorted(total)]
        assert path.impurities == pytest.approx(expected)
        for alpha in [*path.ccp_alphas, *(path.ccp_alphas[:-1] + np.diff(path.ccp_alphas) / 2)]:
            pruned = prune_cost_complexity(tree, alpha, 1.0, NO_CATEGORIES)
            check_numbering(pruned)
            inner = [set(i) for a, i in steps if a / 2 <= alpha + 1e-12]
            kept = inner[-1] if inner and alpha > 0 else set(np.flatnonzero(tree.left >= 0))
            assert set(pruned.value[pruned.left >= 0, 0]) == kept
            assert (pruned.split_bin[pruned.left < 0] == 0).all() or alpha == 0


def test_nothing_is_pruned_for_nothing():
    tree = make_tree([1, -1, -1], [0.0] * 3)
    assert prune_cost_complexity(tree, 0.0, 1.0, NO_CATEGORIES) is tree
    assert prune_cost_complexity(tree, 1e-300, 1.0, NO_CATEGORIES).n_nodes == 1
    path = cost_complexity_path(tree, 0.25, 1.0)
    assert (path.ccp_alphas.tolist(), path.impurities.tolist()) == ([0.0], [0.25])


def test_splits_below_a_cut_go_with_it_however_good():
    #        gain 1: cut off with what is below it at (1 + 5) / 2, before the root at (9 + 6) / 3
    tree = make_tree([1, 3, -1, 5, -1, -1, -1], [9.0, 1.0, 0, 5.0, 0, 0, 0])
    path = cost_complexity_path(tree, 20.0, 2.0)
    assert path.ccp_alphas.tolist() == [0, 3, 9]
    assert path.impurities.tolist() == [5, 11, 20]


SAME = {
    "gini2": ("gini", QUADRATIC, 2),
    "gini3": ("gini", QUADRATIC, 3),
    "entropy2": ("entropy", TWO_CLASS_LOG, 2),
    "entropy3": ("entropy", LOGARITHMIC, 3),
    "squared_error": ("squared_error", QUADRATIC, 1),
    "vectors": ("squared_error", QUADRATIC, 1),
    "poisson": ("poisson", POISSON, 1),
}


def merge_steps(alphas, impurities):
    """scikit-learn's path with equal alphas merged."""
    last = np.append(np.diff(alphas) > 1e-10, True)
    return alphas[last], impurities[last]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", list(SAME))
def test_equals_scikit_learn(name, weighted):
    criterion, kernel_criterion, n_classes = SAME[name]
    rng = np.random.default_rng(5)
    n_rows = 150
    # A single feature, or weights that no two splits can tie with: so the trees are the same.
    n_features = 3 if weighted else 1
    X = rng.permuted(np.tile(np.arange(n_rows), (n_features, 1)), axis=1).T.astype(float)
    # They are exact in sums: scikit-learn splits pure nodes whose impurity is rounded.
    weight = rng.integers(1 << 20, 1 << 22, n_rows) / (1 << 20) if weighted else np.ones(n_rows)
    score = np.sin(X[:, 0] / 15) + X[:, -1] / n_rows + rng.normal(size=n_rows) / 2
    if n_classes > 1:
        y = np.digitize(score, [0.5, 1.0][: n_classes - 1])
        target = Numbers(y.astype(float)) if n_classes == 2 else Labels(y)
        n_columns = 1 if n_classes == 2 else 3
        model = DecisionTreeClassifier(criterion=criterion, min_samples_leaf=2, random_state=0)
    else:
        y = rng.poisson(np.exp(score)).astype(float) if name == "poisson" else score
        target, n_columns = Numbers(y), 1
        if name == "vectors":
            y = np.column_stack([y, y**2 + rng.normal(size=n_rows)])
            target, n_columns = Vectors(y), 2
        model = DecisionTreeRegressor(criterion=criterion, min_samples_leaf=2, random_state=0)
    with Team(1) as team:
        mapper = BinMapper.fit(X, team=team)
        table = RowTable.from_matrix(X, mapper, team)
        settings = ForestSettings(kernel_criterion, min_samples_leaf=2)
        trees = []
        plan = ForestPlan(settings, 0, 0, 1, finish=lambda tree, *_: trees.append(tree) or tree)
        grow_forest(table, target, n_columns, plan, weight, None, team)
        (tree,) = trees
        whole = model.fit(X, y, weight)
        assert whole.tree_.node_count == tree.n_nodes
        theirs = whole.cost_complexity_pruning_path(X, y, weight)
        scale = scale_gain(criterion, n_columns)
        root = measure_impurity(criterion, target, weight)
        assert root == pytest.approx(whole.tree_.impurity[0])
        ours = cost_complexity_path(tree, root, scale)
        alphas, impurities = merge_steps(theirs.ccp_alphas, theirs.impurities)
        assert ours.ccp_alphas.size > 5
        assert ours.ccp_alphas == pytest.approx(alphas, abs=1e-10)
        assert ours.impurities == pytest.approx(impurities, abs=1e-10)
        middle = (alphas[:-1] + alphas[1:]) / 2
        for alpha in [*middle[:: max(1, middle.size // 6)], 2 * alphas[-1]]:
            model.set_params(ccp_alpha=alpha).fit(X, y, weight)
            pruned = prune_cost_complexity(tree, alpha, scale, mapper)
            assert pruned.n_nodes == model.tree_.node_count
            forest = BinnedForest.from_trees([pruned], mapper)
            predicted = forest.predict_raw(X, team)
            if n_classes == 2:
                predicted = np.column_stack([1 - predicted, predicted])
            expected = model.predict_proba(X) if n_classes > 1 else model.predict(X)
            assert predicted == pytest.approx(expected.reshape(n_rows, -1))


def test_unknown_criteria_are_refused():
    with pytest.raises(ParameterError, match="must be 'gini'"):
        scale_gain("absolute_error", 1)


# --- by rows ---


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", forests.KINDS)
def test_pruning_by_rows_equals_twin(kind, weighted):
    grown = forests.grow(kind)
    own = np.random.default_rng(1).choice([0.0, 0.3, 1.7], len(grown.X)) if weighted else None
    sizes = []
    for tree, weight in zip(grown.trees, grown.weights, strict=True):
        judging = weigh_out_of_bag(weight, own)
        pruned = prune_by_rows(tree, grown.table, grown.target, judging, grown.is_class)
        check_numbering(pruned)
        case = naive.read_case(tree, [forests.CATEGORICAL])
        kept = naive.prune_by_rows(case, grown.table.bins, grown.y, judging, grown.is_class)
        assert (pruned.left >= 0).sum() == len(kept)
        sizes.append(pruned.n_nodes)
        # Every row ends where it leaves the nodes that are kept.
        new = naive.read_case(pruned, [forests.CATEGORICAL])
        for row in grown.table.bins:
            path = list(naive.walk(case, row))
            stop = next(node for node in path if node not in kept)
            assert new.value[naive.find_leaf(new, row)].tolist() == tree.value[stop].tolist()
    assert 1 < max(sizes) < max(tree.n_nodes for tree in grown.trees)


def test_a_tree_that_nobody_judges_is_its_root():
    grown = forests.grow()
    nobody = np.zeros(len(grown.X))
    pruned = prune_by_rows(grown.trees[0], grown.table, grown.target, nobody, False)
    assert pruned.n_nodes == 1
    assert pruned.value.tolist() == grown.trees[0].value[:1].tolist()
    assert pruned.weight[0] == grown.trees[0].weight[0]


def test_weights_do_not_break_ties():
    # All nodes guess the first class: each sum of weights is the same but for its order.
    grown = forests.grow("two")
    tree = grown.trees[0]
    tree.value[:] *= 0.4
    weight = np.random.default_rng(2).random(len(grown.X))
    assert prune_by_rows(tree, grown.table, grown.target, weight, True).n_nodes == 1


@pytest.mark.parametrize("smoothing", [1.0, 7.5])
@pytest.mark.parametrize("kind", forests.KINDS)
def test_values_from_rows_equal_twin(kind, smoothing):
    grown = forests.grow(kind)
    own = np.random.default_rng(1).choice([0.0, 0.5, 2.0], len(grown.X))
    for tree, weight in zip(grown.trees, grown.weights, strict=True):
        judging = weigh_out_of_bag(weight, own)
        given = tree, grown.table, grown.target, judging, grown.is_class
        new = estimate_by_rows(*given, smoothing)
        case = naive.read_case(tree, [forests.CATEGORICAL])
        expected = naive.estimate(
            case, grown.table.bins, grown.y, judging, grown.is_class, smoothing
        )
        assert new.value == pytest.approx(expected, rel=1e-12)
        assert not np.allclose(new.value, tree.value)
        assert new.left is tree.left
        if kind == "three":
            assert new.value.sum(axis=1) == pytest.approx(1.0)


def test_a_node_without_rows_has_its_parents_value():
    grown = forests.grow()
    tree = grown.trees[0]
    nobody = np.zeros(len(grown.X))
    new = estimate_by_rows(tree, grown.table, grown.target, nobody, False)
    assert new.value == pytest.approx(np.full_like(new.value, tree.value[0, 0]))


@pytest.mark.parametrize("kind", forests.KINDS)
def test_finishing_in_threads(kind):
    """Both uses of unseen rows at once, as a forest would call them."""
    X = forests.draw_table(200)
    _, target, n_columns = forests.draw_target(X, kind)
    is_class = kind in ("two", "three")
    results = []
    for n_threads in (1, 3):
        with Team(n_threads) as team:
            mapper = BinMapper.fit(
                X, n_categories=np.array([0, 0, 0, 9, 0]), only_bytes=True, team=team
            )
            table = RowTable.from_matrix(X, mapper, team)

            def finish(tree, weight, table):
                judging = weigh_out_of_bag(weight)
                pruned = prune_by_rows(tree, table, target, judging, is_class)
                return estimate_by_rows(pruned, table, target, judging, is_class)

            plan = ForestPlan(ForestSettings(), 1, 0, 8, forests.Bootstrap(), finish=finish)
            grown = grow_forest(table, target, n_columns, plan, None, None, team)
            results.append((grown.forest, grown.forest.predict_raw(X, team)))
    assert results[0][1].tobytes() == results[1][1].tobytes()
    assert np.array_equal(results[0][0].sets, results[1][0].sets)
    assert results[0][0].sets.size
