"""Decision trees as estimators."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn.tree
from scipy.sparse import csr_matrix
from sklearn.datasets import load_diabetes, load_iris

import sumwise
from sumwise import DecisionTreeClassifier, DecisionTreeRegressor
from sumwise.errors import ParameterError

IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)


def make_small(seed, n_classes=3):
    """A small table of integers, its classes, numbers and weights."""
    generator = np.random.default_rng(seed)
    n_rows = int(generator.integers(2, 40))
    X = generator.integers(0, 6, (n_rows, 3)).astype(float)
    weight = generator.integers(1, 4, n_rows).astype(float)
    return X, generator.integers(0, n_classes, n_rows), generator.normal(size=n_rows) + 50, weight


# --- the same trees as scikit-learn's ---


@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
def test_unlimited_trees_agree_with_sklearn_on_training_rows(criterion):
    for seed in range(30):
        X, y, _, weight = make_small(seed, 2 + seed % 3)
        ours = DecisionTreeClassifier(criterion=criterion).fit(X, y, weight)
        theirs = sklearn.tree.DecisionTreeClassifier(criterion=criterion).fit(X, y, weight)
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))
        assert np.array_equal(ours.classes_, theirs.classes_)


LIMITS = [
    {},
    {"max_depth": 3},
    {"min_samples_leaf": 3},
    {"min_samples_leaf": 0.1},
    {"min_samples_split": 0.3},
    {"min_weight_fraction_leaf": 0.1},
    {"min_impurity_decrease": 0.03},
    {"max_leaf_nodes": 4},
]


@pytest.mark.parametrize("limit", LIMITS, ids=str)
@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
def test_regression_trees_are_those_of_sklearn(criterion, limit):
    # Numbers have no ties, so that there is one best tree.
    for seed in range(15):
        X, _, y, weight = make_small(seed)
        y = y - 40  # a relative spread that Poisson deviance sees
        ours = DecisionTreeRegressor(criterion=criterion, **limit).fit(X, y, weight)
        theirs = sklearn.tree.DecisionTreeRegressor(criterion=criterion, **limit).fit(X, y, weight)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X))
        assert ours.get_depth() == theirs.get_depth()
        assert ours.get_n_leaves() == theirs.get_n_leaves()


def measure_impurity(criterion, probabilities, weight):
    if criterion == "gini":
        own = 1 - (probabilities**2).sum(axis=1)
    else:
        own = -(probabilities * np.log2(np.where(probabilities > 0, probabilities, 1))).sum(axis=1)
    return np.average(own, weights=weight)


@pytest.mark.parametrize("limit", LIMITS[2:7], ids=str)
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_stumps_are_as_good_as_those_of_sklearn(criterion, limit):
    for seed in range(30):
        X, y, _, weight = make_small(seed, 2 + seed % 3)
        params = {"criterion": criterion, "max_depth": 1, **limit}
        ours = DecisionTreeClassifier(**params).fit(X, y, weight)
        theirs = sklearn.tree.DecisionTreeClassifier(**params).fit(X, y, weight)
        assert ours.get_n_leaves() == theirs.get_n_leaves()
        found, expected = (
            measure_impurity(criterion, model.predict_proba(X), weight) for model in (ours, theirs)
        )
        assert found == pytest.approx(expected)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_min_impurity_decrease_is_that_of_sklearn(criterion, n_classes):
    X, y, _, weight = make_small(7, n_classes)
    root = sklearn.tree.DecisionTreeClassifier(criterion=criterion, max_depth=1).fit(X, y, weight)
    tree = root.tree_
    share = tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
    decrease = tree.impurity[0] - share[1:] @ tree.impurity[1:]
    for factor, expected in ((0.999, 2), (1.001, 1)):
        model = DecisionTreeClassifier(criterion=criterion, max_depth=1)
        model.set_params(min_impurity_decrease=factor * decrease).fit(X, y, weight)
        assert model.get_n_leaves() == expected


def test_several_targets_give_the_tree_of_sklearn():
    for seed in range(10):
        X, _, y, weight = make_small(seed)
        targets = np.column_stack([y, np.random.default_rng(seed).normal(size=y.size)])
        for limit in ({}, {"min_samples_leaf": 3}, {"min_impurity_decrease": 0.05}):
            ours = DecisionTreeRegressor(**limit).fit(X, targets, weight)
            theirs = sklearn.tree.DecisionTreeRegressor(**limit).fit(X, targets, weight)
            np.testing.assert_allclose(ours.predict(X), theirs.predict(X))


# --- weights ---


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_weights_are_repetition(criterion):
    X, y = IRIS
    count = np.random.default_rng(1).integers(0, 4, y.size)
    weighted = DecisionTreeClassifier(criterion=criterion, random_state=0).fit(X, y, count)
    repeated = DecisionTreeClassifier(criterion=criterion, random_state=0)
    repeated.fit(np.repeat(X, count, axis=0), np.repeat(y, count))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X))


def test_balanced_classes():
    X, y = np.zeros((4, 1)), [0, 0, 0, 1]
    model = DecisionTreeClassifier(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), 0.5)


# --- what can be asked of a tree ---


def test_nodes_are_named_as_in_sklearn():
    X, y = DIABETES
    ours = DecisionTreeRegressor(max_depth=3).fit(X, y)
    theirs = sklearn.tree.DecisionTreeRegressor(max_depth=3).fit(X, y)
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-6)
    ours, theirs = ours.tree_, theirs.tree_
    assert ours.node_count == theirs.node_count
    assert ours.n_leaves == theirs.n_leaves
    assert ours.max_depth == theirs.max_depth

    def walk(tree, node=0):
        """Nodes in the order of scikit-learn, which numbers them depth first."""
        yield node
        if tree.children_left[node] >= 0:
            yield from walk(tree, tree.children_left[node])
            yield from walk(tree, tree.children_right[node])

    mine, yours = list(walk(ours)), list(walk(theirs))
    assert np.array_equal(ours.feature[mine], theirs.feature[yours])
    assert np.array_equal(ours.n_node_samples[mine], theirs.n_node_samples[yours])
    np.testing.assert_allclose(ours.threshold[mine], theirs.threshold[yours], atol=1e-6)
    np.testing.assert_allclose(ours.value[mine], theirs.value[yours][:, :, 0], rtol=1e-6)
    np.testing.assert_allclose(
        ours.weighted_n_node_samples[mine], theirs.weighted_n_node_samples[yours]
    )


def test_the_path_of_a_row_leads_to_its_leaf():
    X, y = IRIS
    model = DecisionTreeClassifier().fit(X, y)
    paths, leaves = model.decision_path(X), model.apply(X)
    tree = model.tree_
    for row in range(0, 150, 10):
        nodes = paths.indices[paths.indptr[row] : paths.indptr[row + 1]]
        assert nodes[0] == 0
        assert leaves[row] in nodes
        node, expected = 0, {0}
        while tree.children_left[node] >= 0:
            goes_left = X[row, tree.feature[node]] <= tree.threshold[node]
            node = (tree.children_left if goes_left else tree.children_right)[node]
            expected.add(int(node))
        assert set(nodes.tolist()) == expected


def test_sets_of_categories_can_be_read():
    X = pd.DataFrame({"color": ["red", "green", "blue", "gray"] * 5})
    tree = DecisionTreeRegressor().fit(X, [1.0, 2.0, 2.0, 1.0] * 5).tree_
    assert np.isnan(tree.threshold[0])
    colors = np.array(["blue", "gray", "green", "red"])
    assert set(colors[tree.left_categories[0]]) in ({"red", "gray"}, {"green", "blue"})


def test_nodes_can_be_pickled():
    tree = DecisionTreeRegressor(max_depth=2).fit(*DIABETES).tree_
    again = pickle.loads(pickle.dumps(tree))
    assert np.array_equal(again.threshold, tree.threshold)


def test_random_splits_need_more_nodes():
    X, y = DIABETES
    best, drawn = (
        DecisionTreeRegressor(splitter=splitter, max_depth=4, random_state=0).fit(X, y).score(X, y)
        for splitter in ("best", "random")
    )
    assert best > drawn > 0.2


def test_missing_values_part_rows():
    X = np.array([[np.nan], [np.nan], [1.0], [2.0]])
    model = DecisionTreeRegressor().fit(X, [5.0, 5.0, 0.0, 0.0])
    assert model.predict(X).tolist() == [5.0, 5.0, 0.0, 0.0]
    assert model.get_n_leaves() == 2


# --- files ---


@pytest.mark.parametrize("model", [DecisionTreeClassifier(), DecisionTreeRegressor(max_depth=4)])
def test_saved_trees_predict_the_same(model, tmp_path):
    X, y = IRIS if isinstance(model, DecisionTreeClassifier) else DIABETES
    model.fit(X, y).save(tmp_path / "tree")
    again = sumwise.load(tmp_path / "tree")
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.array_equal(again.apply(X), model.apply(X))
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "tree").read_bytes()


def test_a_tree_keeps_the_thresholds_it_uses():
    model = DecisionTreeRegressor(max_depth=3).fit(*DIABETES)
    n_thresholds = sum(ends.size for ends in model.forest_.mapper.thresholds)
    assert n_thresholds <= (model.forest_.feature >= 0).sum()


# --- bad inputs ---


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"criterion": "absolute_error"}, "must be one of 'squared_error', 'poisson'"),
        ({"splitter": "worst"}, "splitter"),
        ({"max_features": 11}, "there are 10 features"),
        ({"monotonic_cst": [1]}, "monotonic_cst"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(params, message):
    with pytest.raises(ParameterError, match=message):
        DecisionTreeRegressor(**params).fit(*DIABETES)


def test_one_row_and_one_class():
    assert DecisionTreeRegressor().fit([[1]], [2.5]).predict([[7]]) == 2.5
    model = DecisionTreeClassifier().fit([[1]], ["a"])
    assert model.predict([[7]]).tolist() == ["a"]
    assert model.predict_proba([[7]]).tolist() == [[1.0]]
    assert model.get_depth() == 0


# --- pruning ---


@pytest.mark.parametrize("scale", [1.0, 2.0**300])
@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
def test_the_pruning_path_is_that_of_sklearn(criterion, scale):
    X, y = DIABETES[0][:100], DIABETES[1][:100]
    ours = DecisionTreeRegressor(criterion=criterion)
    path = ours.cost_complexity_pruning_path(X, y * scale)
    theirs = sklearn.tree.DecisionTreeRegressor(criterion=criterion)
    expected = theirs.cost_complexity_pruning_path(X, y)
    factor = scale if criterion == "poisson" else scale**2
    last = [values[-1] / factor for values in (path.ccp_alphas, path.impurities)]
    np.testing.assert_allclose(last, [expected.ccp_alphas[-1], expected.impurities[-1]])
    for place in (0, len(path.ccp_alphas) // 2, -2, -1):
        alpha = path.ccp_alphas[place]
        model = DecisionTreeRegressor(criterion=criterion, ccp_alpha=alpha).fit(X, y * scale)
        n_left = len(path.ccp_alphas) - place - 1 if place >= 0 else -place - 1
        assert model.get_n_leaves() > n_left
        if place == -1:
            assert model.get_n_leaves() == 1


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_pruned_trees_are_those_of_sklearn(criterion, n_classes):
    X, y = IRIS[0], np.minimum(IRIS[1], n_classes - 1)
    for alpha in (0.02, 0.1, 0.3):
        pair = [
            kind(criterion=criterion, ccp_alpha=alpha, random_state=0).fit(X, y)
            for kind in (DecisionTreeClassifier, sklearn.tree.DecisionTreeClassifier)
        ]
        assert pair[0].get_n_leaves() == pair[1].get_n_leaves()


# --- counts ---


@pytest.mark.parametrize("unit", [1.0, 0.1])
@pytest.mark.parametrize("limit", [{"max_depth": 3}, {"min_samples_leaf": 4}], ids=str)
def test_poisson_trees_of_weighted_counts_are_those_of_sklearn(unit, limit):
    """Many nodes have sides without events, whose sums must be exactly zero."""
    n_equal = 0
    for seed in range(25):
        generator = np.random.default_rng(seed)
        X = generator.normal(size=(60, 3)).astype(np.float32)
        y = unit * generator.poisson(0.5, 60)
        weight = generator.random(60) + 0.01
        params = {"criterion": "poisson", **limit}
        ours = DecisionTreeRegressor(**params).fit(X, y, weight)
        theirs = sklearn.tree.DecisionTreeRegressor(random_state=0, **params).fit(X, y, weight)
        assert ours.predict(X).min() > 0
        n_equal += np.allclose(ours.predict(X), theirs.predict(X))
    assert n_equal > 20  # theirs stops at sums that it takes for zero


def test_poisson_trees_never_predict_zero():
    for seed in range(30):
        generator = np.random.default_rng(seed)
        X = generator.integers(0, 5, (60, 3)).astype(float)
        y = generator.poisson(0.5, (60, 2)) * 0.1
        weight = generator.random(60)
        for target, own_weight in ((y[:, 0], None), (10 * y[:, 0], weight), (y, None), (y, weight)):
            tree = DecisionTreeRegressor(criterion="poisson").fit(X, target, own_weight)
            assert tree.predict(X).min() > 1e-4


# --- nodes ---


def test_nodes_predict_as_the_tree():
    X, y = IRIS
    tree = DecisionTreeClassifier().fit(X, y)
    assert np.array_equal(tree.tree_.apply(X), tree.apply(X))
    assert np.array_equal(tree.tree_.predict(X), tree.predict_proba(X))
    assert np.array_equal(tree.tree_.apply(csr_matrix(X)), tree.apply(X))
    assert tree.tree_.n_features == tree.max_features_ == 4
