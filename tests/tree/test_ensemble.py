"""Trees joined to an ensemble."""

import dataclasses

import numpy as np
import pytest

from sumwise.kernels.runtime.threads import Team
from sumwise.tree import LinearEnsemble, Tree, TreeEnsemble

NAN, INF = np.nan, np.inf
BY_NODE = ["feature", "threshold", "missing_left", "left", "value", "gain", "n_rows", "weight"]


def make_stump(feature, threshold, missing_left, low, high):
    """One split: values up to the threshold get ``low``, others ``high``."""
    return Tree(
        feature=np.array([feature, -1, -1], dtype=np.int32),
        threshold=np.array([threshold, 0.0, 0.0]),
        split_bin=np.array([1, 0, 0], dtype=np.uint8),
        missing_left=np.array([missing_left, 0, 0], dtype=np.uint8),
        left=np.array([1, -1, -1], dtype=np.int32),
        value=np.array([[0.0], [low], [high]]),
        gain=np.array([1.0, 0.0, 0.0]),
        n_rows=np.array([10, 4, 6]),
        weight=np.array([10.0, 4.0, 6.0]),
    )


def make_leaf(value):
    return Tree(
        feature=np.array([-1], dtype=np.int32),
        threshold=np.zeros(1),
        split_bin=np.zeros(1, dtype=np.uint8),
        missing_left=np.zeros(1, dtype=np.uint8),
        left=np.array([-1], dtype=np.int32),
        value=np.array([[value]]),
        gain=np.zeros(1),
        n_rows=np.array([10]),
        weight=np.array([10.0]),
    )


STUMPS = [
    make_stump(0, 0.5, 0, 1.0, 2.0),
    make_leaf(100.0),
    make_stump(1, -1.0, 1, 10.0, 20.0),
    make_stump(0, INF, 0, 1000.0, 2000.0),
]
X = np.array([[0.0, 0.0], [0.5, -1.0], [1.0, -2.0], [NAN, NAN], [-INF, INF]])


def join(trees=STUMPS, base=(0.0,), link="identity"):
    return TreeEnsemble.from_trees(trees, np.array(base), link, 2)


def predict(ensemble, X, n_threads=1):
    with Team(n_threads) as team:
        return ensemble.predict_raw(X, team)


def test_trees_lie_end_to_end():
    ensemble = join()
    assert ensemble.start.tolist() == [0, 3, 4, 7, 10]
    assert ensemble.left.tolist() == [1, -1, -1, -1, 1, -1, -1, 1, -1, -1]
    assert ensemble.find_children().tolist() == [1, -1, -1, -1, 5, -1, -1, 8, -1, -1]
    assert ensemble.feature.tolist() == [0, -1, -1, -1, 1, -1, -1, 0, -1, -1]
    assert ensemble.value.tolist() == [0, 1, 2, 100, 0, 10, 20, 0, 1000, 2000]
    assert (ensemble.n_trees, ensemble.n_outputs, ensemble.n_rounds) == (4, 1, 4)
    assert [getattr(ensemble, name).size for name in BY_NODE] == [10] * 8


def test_raw_scores_by_hand():
    expected = [[5 + 1 + 100 + 20 + 1000]]
    expected += [[5 + 1 + 100 + 10 + 1000], [5 + 2 + 100 + 10 + 1000]]
    expected += [[5 + 2 + 100 + 10 + 2000], [5 + 1 + 100 + 20 + 1000]]
    assert predict(join(base=[5.0]), X).tolist() == expected


def test_outputs_have_their_own_trees():
    ensemble = join(base=[0.5, 0.25], link="softmax")
    assert (ensemble.n_outputs, ensemble.n_rounds) == (2, 2)
    assert ensemble.output.tolist() == [0, 1, 0, 1]
    found = predict(ensemble, X[:1])
    assert found.tolist() == [[0.5 + 1 + 20, 0.25 + 100 + 1000]]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g", ">f8", ">f4"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_type_order_and_threads_do_not_matter(dtype, order, n_threads):
    rows = np.asarray(np.tile(X, (100, 1)), order=order).astype(dtype)
    assert (
        predict(join(), rows, n_threads).tolist() == predict(join(), np.tile(X, (100, 1))).tolist()
    )


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i4", "u8"])
def test_integers(dtype):
    rows = np.array([[0, 1], [1, 1], [1, 0]], dtype=dtype)
    assert predict(join(), rows).tolist() == predict(join(), rows.astype(float)).tolist()


def test_strided_and_read_only_rows():
    wide = np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)
    wide.flags.writeable = False
    assert predict(join(), wide[::2, ::2]).tolist() == predict(join(), X).tolist()


def test_no_rows():
    assert predict(join(), np.empty((0, 2))).shape == (0, 1)
    with Team(1) as team:
        assert join().apply(np.empty((0, 2)), team).shape == (0, 4)


def test_leaves_are_numbered_within_their_tree():
    with Team(2) as team:
        leaves = join().apply(X, team)
    assert leaves.dtype == np.int32
    assert leaves.tolist() == [
        [1, 0, 2, 1],
        [1, 0, 1, 1],
        [2, 0, 1, 1],
        [2, 0, 1, 2],
        [1, 0, 2, 1],
    ]


def test_stages_lead_to_the_prediction():
    ensemble = join(base=[0.5, 0.25])
    with Team(1) as team:
        stages = list(ensemble.staged_predict_raw(X, team))
    assert len(stages) == 2
    assert stages[0].tolist() == predict(ensemble.truncate(1), X).tolist()
    assert stages[1].tolist() == predict(ensemble, X).tolist()
    assert not np.shares_memory(stages[0], stages[1])


@pytest.mark.parametrize("n_rounds", [0, 1, 2, 5])
def test_truncate_keeps_the_first_rounds(n_rounds):
    ensemble = join(base=[0.5, 0.25])
    short = ensemble.truncate(n_rounds)
    kept = min(n_rounds, 2)
    assert short.n_rounds == kept
    assert short.n_outputs == 2
    n_nodes = [0, 4, 10][kept]
    for name in BY_NODE:
        assert getattr(short, name).tolist() == getattr(ensemble, name)[:n_nodes].tolist()
    expected = np.tile([0.5, 0.25], (5, 1))
    for tree, output in list(zip(STUMPS, [0, 1, 0, 1], strict=True))[: 2 * kept]:
        expected[:, [output]] += predict(join([tree]), X)
    assert predict(short, X).tolist() == expected.tolist()


def test_sums_are_taken_in_the_order_of_the_trees():
    values = [1e16, 1.0, -1e16, 1.0]  # the sum depends on the order
    ensemble = join([make_leaf(value) for value in values])
    assert predict(ensemble, X[:1])[0, 0] == ((1e16 + 1.0) - 1e16) + 1.0


def test_predictions_by_link():
    raw = np.array([[0.0], [2.0]])
    assert join().predict_mean(raw).tolist() == [0.0, 2.0]
    found = join(link="logistic").predict_mean(raw)
    np.testing.assert_allclose(found[:, 1], 1 / (1 + np.exp(-raw[:, 0])))


def test_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        join().link = "softmax"


def test_the_summary_is_short():
    tree = make_stump()
    one = TreeEnsemble.from_trees([tree] * 4, np.zeros(1), "identity", 2)
    assert repr(one) == (
        "<TreeEnsemble: 4 trees in 4 rounds, 8 leaves, 2 features, link 'identity'>"
    )
    three = TreeEnsemble.from_trees([tree] * 6, np.zeros(3), "softmax", 2)
    assert repr(three) == (
        "<TreeEnsemble: 6 trees in 2 rounds, 12 leaves, 2 features, 3 outputs, link 'softmax'>"
    )
    assert repr(tree) == "<Tree: 3 nodes, 2 leaves>"
    linear = LinearEnsemble(np.zeros((5, 1, 3)), np.zeros((5, 1)), np.zeros(1), "log")
    assert repr(linear) == "<LinearEnsemble: 5 rounds, 3 features, link 'log'>"


def test_a_tree_can_be_taken_out():
    def first_set(node, categories):
        return dataclasses.replace(
            make_stump(),
            set_node=np.array([node], dtype=np.int32),
            set_size=np.array([len(categories)], dtype=np.int32),
            set_categories=np.array(categories, dtype=np.int32),
        )

    trees = [make_stump(), first_set(0, [1, 4]), make_stump(), first_set(0, [2])]
    ensemble = TreeEnsemble.from_trees(trees, np.zeros(1), "identity", 2)
    for number, tree in enumerate(trees):
        found = ensemble.to_tree(number)
        for field in dataclasses.fields(Tree):
            assert np.array_equal(getattr(found, field.name), getattr(tree, field.name))


def make_stump():
    return Tree(
        feature=np.array([1, -1, -1], dtype=np.int32),
        threshold=np.array([0.5, 0, 0]),
        split_bin=np.zeros(3, dtype=np.uint8),
        missing_left=np.array([1, 0, 0], dtype=np.uint8),
        left=np.array([1, -1, -1], dtype=np.int32),
        value=np.array([[0.0], [-1.0], [2.0]]),
        gain=np.array([3.0, 0, 0]),
        n_rows=np.array([5, 3, 2]),
        weight=np.array([5.0, 3.0, 2.0]),
    )
