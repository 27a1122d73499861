"""Partitions in memory: columns by name or number, and no rows or partitions at all."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sumwise.data.batches.learning import BatchedTable, Roles, learn_table
from sumwise.data.batches.parts import PartsSource
from sumwise.errors import DataError
from tests.threaded_peers import run_together

FRAME = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", None, "y"], "y": [0, 1, 0]})


def read(source, columns=None, batch_rows=2):
    return [(batch.place, batch.n_rows) for batch in source.read(columns, batch_rows)]


def fail_on_all(owned, work):
    """Return the message of the error that all peers raise."""

    def run(peers):
        with pytest.raises(DataError) as caught:
            work(owned[peers.rank], peers)
        return str(caught.value)

    messages = run_together(len(owned), run)
    assert len(set(messages)) == 1
    return messages[0]


def open_and_learn(parts, peers, is_category=None, roles=None):
    table = BatchedTable.open(PartsSource.open(parts, peers), roles or Roles())
    return learn_table(table, is_category, peers=peers)


@pytest.mark.parametrize(
    "convert", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas, lambda f: f[["a"]].to_numpy()]
)
def test_partitions_are_cut_into_batches_in_their_order(convert):
    source = PartsSource.open([(7, convert(FRAME)), (2, convert(FRAME)), (3, convert(FRAME[:0]))])
    assert source.numbers == [2, 3, 7]
    assert source.sizes == [3, 0, 3]
    expected = [("partition 2", 2), ("partition 2", 1), ("partition 7", 2), ("partition 7", 1)]
    assert read(source) == expected
    assert read(source, source.list_columns()[:1]) == expected


def test_rows_of_arrays_are_not_copied():
    X = np.zeros((5, 3), dtype=np.float32)
    frame = pd.DataFrame(X)
    for given in (X, frame):
        source = PartsSource.open([(0, given)])
        assert source.list_columns() == [0, 1, 2]
        learned = learn_table(BatchedTable.open(source, Roles(), batch_rows=4))
        assert learned.dtype == np.float32
        for _, matrix, columns in learned.read_matrices():
            assert np.shares_memory(matrix, given)
            assert columns.columns[2].label == "column 2"


@pytest.mark.parametrize("kinds", [("i2", "f4"), ("i8", "f4"), ("?", "u1"), ("i8", "u8"), ("f2",)])
def test_arrays_of_several_types_are_read_as_one_array(kinds):
    parts = [np.array([[0, 1], [1, 0]]).astype(kind) for kind in kinds]
    whole = np.concatenate(parts)

    def work(peers):
        own = [(k, part) for k, part in enumerate(parts) if k % 2 == peers.rank]
        learned = open_and_learn(own, peers)
        return learned, [matrix for _, matrix, _ in learned.read_matrices()]

    results = run_together(2, work)
    is_single = whole.dtype in (np.float16, np.float32)
    assert all(own.dtype == (np.float32 if is_single else np.float64) for own, _ in results)
    read = np.concatenate([part for _, parts in results for part in parts])
    np.testing.assert_array_equal(read, whole)


def test_names_that_are_not_strings():
    frame = pd.DataFrame({0: [1.0, 2.0], 7: ["x", "y"], "z": [0, 1]})
    learned = open_and_learn([(0, frame)], *run_together(1, lambda peers: peers))
    assert learned.table.names == [0, 7, "z"]
    assert learned.schema.kinds == ("number", "category", "number")
    table = BatchedTable.open(PartsSource.open([(0, frame)]), Roles(), ["z", 7])
    assert next(learn_table(table).read_matrices())[1].tolist() == [[0.0, 0.0], [1.0, 1.0]]


def test_a_process_without_partitions_learns_the_columns():
    def work(peers):
        parts = [(0, FRAME[:0]), (4, FRAME)] if peers.rank == 1 else []
        learned = open_and_learn(parts, peers, roles=Roles("y", "a"))
        assert learned.n_rows == 3 * (peers.rank == 1)
        assert len(list(learned.read_matrices())) == (peers.rank == 1)
        assert learned.target.dtype == np.int64
        return learned.table.names, learned.schema.to_json(), learned.dtype, learned.target.size

    first, *others = run_together(3, work)
    assert first == (
        ["b"],
        {"0": {"kind": "category", "values": {"strings": ["x", "y"]}}},
        *first[2:],
    )
    assert [own[:3] for own in others] == [first[:3]] * 2
    assert [first[3], *(own[3] for own in others)] == [0, 3, 0]


def test_targets_have_one_type_everywhere():
    parts = [FRAME, FRAME.assign(y=[0.5, 1.0, 2.0]), FRAME.assign(a=["p", "q", "r"])]

    def work(peers):
        learned = open_and_learn([(peers.rank, parts[peers.rank])], peers, roles=Roles("y", "a"))
        return learned.target.dtype, learned.sample_weight.dtype

    assert run_together(3, work) == [(np.float64, object)] * 3


def test_no_rows_at_all_are_refused():
    for owned in ([[], []], [[(0, FRAME[:0])], []]):
        assert fail_on_all(owned, open_and_learn).startswith("X is empty: it has 0 sample(s)")


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (FRAME[["a", "b"]], "partition 7 has no column 'y', which partition 2 has"),
        (FRAME.assign(c=1), "partition 7 has a column 'c', which partition 2 has not"),
        (np.zeros((2, 3)), "partition 7 is an array, and partition 2 is a frame"),
        (np.zeros(3), "partition 7: Expected 2D array, got 1D array instead"),
        (np.zeros((3, 1), dtype=complex), "partition 7: X must be numeric"),
        (np.zeros((3, 0)), "partition 7: Found array with 0 feature"),
        ([[1, 2]], "partition 7 is a list, and must be a record batch or table of Arrow, or a f"),
    ],
)
def test_partitions_must_have_the_same_columns(other, message):
    for owned in ([[(2, FRAME)], [(7, other)]], [[(7, other), (2, FRAME)], []]):
        assert fail_on_all(owned, PartsSource.open).startswith(message)


def test_columns_may_have_any_order():
    def work(peers):
        own = FRAME if peers.rank == 0 else FRAME[["y", "b", "a"]]
        learned = open_and_learn([(peers.rank, own)], peers)
        return learned.table.names, next(learned.read_matrices())[1].tolist()

    first, second = run_together(2, work)
    assert str(first) == str(second)


def test_numbers_and_widths_must_agree():
    one, two = np.zeros((2, 3)), np.zeros((2, 4))
    message = fail_on_all([[(0, one)], [(1, two)]], PartsSource.open)
    assert message == "partition 1 has 4 features, and partition 0 has 3"
    for owned in ([[(3, one)], [(1, one), (3, one)]], [[(3, one), (3, one)], []]):
        message = fail_on_all(owned, PartsSource.open)
        assert message == "there are two partitions with the number 3"
