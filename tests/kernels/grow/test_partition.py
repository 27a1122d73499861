"""Moving records to two children, in one or several parts, against NumPy."""

import numpy as np
import pytest

from sumwise.kernels.grow.partition import (
    count_members,
    count_span,
    left_range,
    move_members,
    move_span,
    partition_records,
)
from sumwise.kernels.runtime.jit import kernel

UNTOUCHED = np.uint64(0xDEAD)


@kernel
def run_partition(source, target, first, last, column, split_bin, missing_left):
    skip, bound = left_range(np.uint8(split_bin), np.uint8(missing_left))
    return partition_records(source, target, first, last, column, skip, bound)


def partition(column, rows, first, last, split_bin, missing_left):
    """Return (left rows, right rows) and check what must not be touched."""
    source = (rows.astype(np.uint64) << np.uint64(32)) | np.arange(rows.size, dtype=np.uint64)
    before = source.copy()
    target = np.full(rows.size, UNTOUCHED)
    middle = run_partition(source, target, first, last, column, int(split_bin), int(missing_left))
    assert np.array_equal(source, before)
    assert np.all(target[:first] == UNTOUCHED)
    assert np.all(target[last:] == UNTOUCHED)
    # records are moved as a whole
    assert np.array_equal(np.sort(target[first:last]), np.sort(source[first:last]))
    moved = (target >> np.uint64(32)).astype(int)
    return moved[first:middle].tolist(), moved[middle:last].tolist()


def expected(column, rows, first, last, split_bin, missing_left):
    part = rows[first:last]
    codes = column[part].astype(int)
    is_left = np.where(codes == 0, bool(missing_left), codes <= split_bin)
    return part[is_left].tolist(), part[~is_left].tolist()[::-1]


@pytest.mark.parametrize("missing_left", [0, 1])
@pytest.mark.parametrize("split_bin", [1, 2, 100, 254, 255])
def test_equals_numpy(split_bin, missing_left):
    rng = np.random.default_rng(split_bin)
    column = rng.integers(0, 256, 500).astype(np.uint8)
    column[:4] = [0, 1, 254, 255]
    rows = rng.permutation(500)[:300]
    rows[:4] = [0, 1, 2, 3]
    for first, last in [(0, 300), (0, 1), (17, 211), (299, 300), (50, 50)]:
        arguments = (column, rows, first, last, split_bin, missing_left)
        assert partition(*arguments) == expected(*arguments)


@pytest.mark.parametrize("missing_left", [0, 1])
@pytest.mark.parametrize("code", [0, 1, 7, 255])
def test_all_rows_to_one_side(code, missing_left):
    column, rows = np.full(40, code, dtype=np.uint8), np.arange(40)
    left, right = partition(column, rows, 0, 40, 7, missing_left)
    goes_left = missing_left if code == 0 else code <= 7
    assert (len(left), len(right)) == ((40, 0) if goes_left else (0, 40))


def test_missing_against_all_values():
    column, rows = np.array([0, 255, 1, 0, 254], dtype=np.uint8), np.arange(5)
    assert partition(column, rows, 0, 5, 255, 0) == ([1, 2, 4], [3, 0])
    assert partition(column, rows, 0, 5, 255, 1) == ([0, 1, 2, 3, 4], [])


@kernel
def run_move(source, target, first, last, left, right, step, column, split_bin):
    skip, bound = left_range(np.uint8(split_bin), np.uint8(1))
    return move_span(source, target, (first, last, left, right, step), column, skip, bound)


@kernel
def run_move_members(source, target, first, last, left, right, step, column, member):
    return move_members(source, target, (first, last, left, right, step), column, member)


@kernel
def run_count(records, column, split_bin):
    skip, bound = left_range(np.uint8(split_bin), np.uint8(1))
    return count_span(records, column, skip, bound)


@kernel
def run_count_members(records, column, member):
    return count_members(records, column, member)


@pytest.mark.parametrize("by_set", [False, True])
@pytest.mark.parametrize("ends", [[300], [0, 300], [300, 300], [113, 300], [7, 90, 90, 211, 300]])
def test_parts_move_records_to_the_places_of_the_whole(ends, by_set):
    """Parts that follow each other; and of two parts, the second in reverse, without counting."""
    rng = np.random.default_rng(0)
    column, rows = rng.integers(0, 256, 500).astype(np.uint8), np.sort(rng.permutation(500)[:300])
    source = rows.astype(np.uint64) << np.uint64(32)
    member = (np.arange(256) <= 100).astype(np.uint8)
    whole, target, again = (np.full(310, UNTOUCHED) for _ in range(3))
    middle = run_partition(source, whole, 0, 300, column, 100, 1)

    def move(target, *span):
        if by_set:
            return run_move_members(source, target, *span, column, member)
        return run_move(source, target, *span, column, 100)

    left, right, first = 0, 299, 0
    for last in ends:
        n_left = run_count(source[first:last], column, 100)
        assert n_left == run_count_members(source[first:last], column, member)
        assert move(target, first, last, left, right, 1) == left + n_left
        left, right, first = left + n_left, right - (last - first - n_left), last
    assert np.array_equal(target, whole)
    move(again, 0, ends[0], 0, 299, 1)
    move(again, ends[0], 300, middle - 1, middle, -1)
    assert np.array_equal(again, whole)
