"""Sums and leaves of rows, many and few, against the naive walk, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise.kernels.predict.blocks import BLOCK
from sumwise.kernels.predict.scoring import add_coded_predictions
from sumwise.kernels.runtime.threads import Team
from sumwise.tree import predictor as module
from sumwise.tree.predictor import Predictor
from tests.naive.predict import find_leaves, sum_values
from tests.naive.trees import draw_rows, join_trees

FLOATS = [np.float32, np.float64]
pytestmark = pytest.mark.filterwarnings("error")
# All kinds of trees, one after the other, so that pairs and neighbors of different kinds occur.
MIXED = [
    (1, "random"),
    (2, "random"),
    (7, "left"),
    (8, "right"),
    (9, "random"),
    (16, "symmetric"),
    (31, "random"),
    (32, "balanced"),
    (33, "left"),
    (64, "random"),
    (64, "symmetric"),
    (65, "right"),
    (256, "random"),
    (256, "symmetric"),
    (257, "random"),
    (512, "symmetric"),
    (600, "random"),
    (513, "right"),
    (3, "random"),
]


def predict(trees, X, base_score, n_threads=1, is_last=False):
    out = np.tile(base_score, (len(X), 1))
    with Team(n_threads) as team:
        Predictor(*trees).add_values(X, out, team, is_last)
    return out


def apply(trees, X, n_threads=1):
    out = np.full((len(X), trees.start.size), -1, dtype=np.int32)
    with Team(n_threads) as team:
        Predictor(*trees).find_leaves(X, out, team)
    return out


def check(trees, X, base_score, n_threads=1):
    leaves = find_leaves(trees, X)
    assert np.array_equal(apply(trees, X, n_threads), leaves)
    expected = sum_values(trees, leaves, base_score)
    for is_last in (False, True):
        found = predict(trees, X, base_score, n_threads, is_last)
        assert found.tobytes() == expected.tobytes()


@pytest.fixture(scope="module")
def mixed():
    """Trees of all kinds for two outputs, hard rows for them, and their leaves."""
    rng = np.random.default_rng(0)
    trees = join_trees(rng, MIXED, n_features=5, n_outputs=2)
    X = draw_rows(rng, trees, 700, 5, np.float32)
    return trees, X, find_leaves(trees, X)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("shape", MIXED, ids=str)
def test_each_kind_of_tree(shape, kind):
    rng = np.random.default_rng(1)
    trees = join_trees(rng, [shape] * 3, n_features=3)
    check(trees, draw_rows(rng, trees, 300, 3, kind), np.array([0.5]))


@pytest.mark.parametrize("n_rows", [0, 1, 2, 12, 13, 255, 256, 257, 700])
@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_rows_and_threads(mixed, n_rows, n_threads):
    trees, X, leaves = mixed
    base_score = np.array([10.0, 20.0])
    expected = sum_values(trees, leaves[:n_rows], base_score)
    for is_last in (False, True):
        found = predict(trees, X[:n_rows], base_score, n_threads, is_last)
        assert found.tobytes() == expected.tobytes()
    assert np.array_equal(apply(trees, X[:n_rows], n_threads), leaves[:n_rows])


@pytest.mark.parametrize("n_outputs", [1, 2, 3, 7])
def test_outputs(n_outputs):
    rng = np.random.default_rng(n_outputs)
    shapes = [MIXED[i] for i in rng.integers(14, size=21)]
    trees = join_trees(rng, shapes, n_features=3, n_outputs=n_outputs)
    check(trees, draw_rows(rng, trees, 300, 3, np.float64), rng.normal(size=n_outputs))


@pytest.mark.parametrize("n_rows", [3, 600])
@pytest.mark.parametrize(
    "change",
    [
        np.asfortranarray,
        lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
        lambda X: X[::-1],
        lambda X: X.astype(np.float64),
        lambda X: X.astype(">f4"),
        lambda X: X.astype(np.longdouble),
    ],
    ids=["F", "strided", "backwards", "float64", "big endian", "longdouble"],
)
def test_layouts_and_types(mixed, change, n_rows):
    trees, X, leaves = mixed
    X = change(X[:n_rows])
    X.flags.writeable = False
    order = slice(None, None, -1) if X.strides[0] < 0 else slice(None)
    expected = sum_values(trees, leaves[:n_rows][order], np.zeros(2))
    assert predict(trees, X, np.zeros(2)).tobytes() == expected.tobytes()
    assert np.array_equal(apply(trees, X), leaves[:n_rows][order])


@pytest.mark.parametrize("kind", ["?", "i1", "u2", "i8", "f2"])
def test_small_types(kind):
    rng = np.random.default_rng(2)
    trees = join_trees(rng, [(20, "random")] * 4, thresholds=np.arange(-4, 4) / 2)
    X = rng.integers(-3, 4, (400, 4)).astype(kind)
    expected = predict(trees, X.astype(np.float64), np.zeros(1))
    assert np.array_equal(predict(trees, X, np.zeros(1)), expected)
    check(trees, X.astype(np.float64), np.zeros(1))


def test_many_thresholds_a_feature():
    rng = np.random.default_rng(3)
    pool = rng.normal(size=3000)
    trees = join_trees(rng, [(300, "random"), (700, "random")] * 2, 2, thresholds=pool)
    check(trees, draw_rows(rng, trees, 600, 2, np.float64), np.zeros(1))


def test_more_columns_than_a_batch_of_codes(monkeypatch, mixed):
    trees, X, leaves = mixed
    monkeypatch.setattr(module, "_BATCH_BYTES", 1)
    expected = sum_values(trees, leaves, np.zeros(2))
    for n_threads in (1, 2):
        assert predict(trees, X, np.zeros(2), n_threads).tobytes() == expected.tobytes()


@pytest.mark.parametrize("n_rows", [1, 400])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_stages(n_rows, n_threads):
    rng = np.random.default_rng(4)
    trees = join_trees(rng, MIXED[:18], n_features=5, n_outputs=3)
    X = draw_rows(rng, trees, n_rows, 5, np.float32)
    leaves = find_leaves(trees, X)
    out = np.zeros((n_rows, 3))
    with Team(n_threads) as team:
        for stage, _ in enumerate(Predictor(*trees).add_stages(X, 3, out, team), start=1):
            first = trees._replace(output=trees.output[: 3 * stage])
            assert out.tobytes() == sum_values(first, leaves, np.zeros(3)).tobytes()
    assert stage == 6


def test_stages_of_chunks(monkeypatch, mixed):
    """Integers are converted and coded a chunk of rows at a time."""
    monkeypatch.setattr("sumwise.data.matrix._CHUNK", 256)
    trees, X, _ = mixed
    X = np.nan_to_num(X.clip(-9, 9)).astype(np.int16)
    out = np.zeros((len(X), 2))
    with Team(2) as team:
        for _ in Predictor(*trees).add_stages(X, 1, out, team):
            pass
    assert out.tobytes() == predict(trees, X.astype(np.float64), np.zeros(2)).tobytes()


def test_one_tree_more_than_walk_together():
    rng = np.random.default_rng(5)
    for n_trees in range(1, 6):
        trees = join_trees(rng, [(6, "random")] * n_trees)
        check(trees, draw_rows(rng, trees, 5, 4, np.float32), np.zeros(1))


def test_leaves_only():
    trees = join_trees(np.random.default_rng(6), [(1, "random")] * 3)
    for n_rows in (1, 300):
        check(trees, np.full((n_rows, 4), np.nan), np.array([1.0]))


def test_read_only_arrays(mixed):
    trees, X, leaves = mixed
    locked = trees._replace(**{name: array.copy() for name, array in trees._asdict().items()})
    for array in locked:
        array.flags.writeable = False
    assert np.array_equal(apply(locked, X), leaves)
    assert np.array_equal(predict(locked, X[:2], np.zeros(2)), predict(trees, X[:2], np.zeros(2)))


def test_an_interrupt_ends_the_work_between_batches(monkeypatch, mixed):
    trees, X, _ = mixed
    monkeypatch.setattr(module, "_BATCH_BYTES", 1)
    out, n_runs = np.zeros((len(X), 2)), 0

    class Interrupted(Team):
        def run(self, work, *args):
            nonlocal n_runs
            n_runs += 1
            super().run(work, *args)
            if work is add_coded_predictions:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Predictor(*trees).add_values(X, out, Interrupted(1))
    assert n_runs <= 3  # codes of thresholds and of sets, then values
    assert out[:BLOCK].any()
    assert not out[BLOCK:].any()


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    shapes=st.lists(
        st.tuples(st.integers(1, 70), st.sampled_from(["random", "left", "right", "balanced"]))
        | st.tuples(st.sampled_from([1, 2, 4, 8, 32, 128]), st.just("symmetric")),
        min_size=1,
        max_size=6,
    ),
    n_features=st.integers(1, 5),
    n_outputs=st.integers(1, 3),
    n_rows=st.integers(1, 300),
    kind=st.sampled_from(FLOATS),
    n_threads=st.integers(1, 3),
)
def test_any_trees_and_rows(seed, shapes, n_features, n_outputs, n_rows, kind, n_threads):
    rng = np.random.default_rng(seed)
    trees = join_trees(rng, shapes, n_features, n_outputs)
    X = draw_rows(rng, trees, n_rows, n_features, kind)
    check(trees, X, rng.normal(size=n_outputs), n_threads)
