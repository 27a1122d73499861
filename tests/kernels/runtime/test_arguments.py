"""Kinds of arguments, the words of a call, and named tuples in memory."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from sumwise.kernels.runtime.arguments import (
    TupleMemory,
    find_kind,
    find_layout,
    flatten,
    spell,
    spell_words,
)
from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.runtime.reference import item


class Flags(NamedTuple):
    first: bool
    second: bool


class Mixed(NamedTuple):
    is_on: bool
    flags: Flags
    number: int
    inner: Any
    is_last: bool


class Inner(NamedTuple):
    is_set: bool
    values: Any
    rate: float


RECORD = np.dtype([("a", np.int32), ("b", np.float64)], align=True)


@kernel
def add_up(whole, fraction, is_counted, big, matrix, pair, records):
    total = whole + fraction + matrix[1, 0] + pair[0] + pair[1][2] + records[1].b
    return total + (100.0 if is_counted else 0.0), big, matrix.shape[1], matrix.strides[0]


def test_all_kinds_of_arguments_arrive():
    matrix = np.arange(6.0).reshape(2, 3)
    records = np.zeros(2, dtype=RECORD)
    records["b"][1] = 0.125
    pair = (7, np.array([0.0, 0.0, 0.5]))
    big = np.uint64(2**64 - 1)
    arguments = (1, 0.25, True, big, matrix, pair, records)
    assert add_up(*arguments) == (100 + 1 + 0.25 + 3 + 7 + 0.5 + 0.125, 2**64 - 1, 3, 24)
    # the same words, as NumPy scalars and with other strides
    others = (np.int64(1), np.float64(0.25), np.bool_(False), big, matrix[:, ::2], pair, records)
    assert add_up(*others) == (1 + 0.25 + 3 + 7 + 0.5 + 0.125, 2**64 - 1, 2, 24)
    read_only = matrix.copy()
    read_only.flags.writeable = False
    assert add_up(1, 0.25, True, big, read_only, pair, records)[0] == add_up(*arguments)[0]
    assert len(add_up.signatures) == 2


@kernel
def describe_result(value):
    return value < 0, np.int32(value), np.uint8(value), value / 2


def test_all_kinds_of_results_come_back():
    assert describe_result(-3) == (True, -3, 253, -1.5)
    assert describe_result(4) == (False, 4, 4, 2.0)


@pytest.mark.parametrize("value", [None, "text", [1], np.float32(1.0), np.int8(1), {}])
def test_other_arguments_are_refused(value):
    with pytest.raises(TypeError, match="kernels take no"):
        describe_result(value)
    with pytest.raises(TypeError, match="kernels take no"):
        find_kind(value)


def test_numbers_that_do_not_fit_are_refused():
    with pytest.raises(Exception, match=r"int too large|argument out of range|format requires"):
        describe_result(2**63)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (True, 1),
        (1, np.uint64(1)),
        (np.zeros(3), np.zeros(3, dtype=np.float32)),
        (np.zeros(3), np.zeros((3, 1))),
        (np.zeros(3), np.zeros(6)[::2]),
        (np.zeros(3, dtype=RECORD), np.zeros(3, dtype=RECORD[["b"]])),
        ((1, 2), (1, 2.0)),
        ((1, 2), Flags(1, 2)),
        ((1, (2, 3)), (1, 2, 3)),
    ],
)
def test_what_machine_code_depends_on_is_told_apart(one, other):
    assert spell(find_kind(one)) != spell(find_kind(other))
    keys = [[], []]
    for key, value in zip(keys, (one, other), strict=True):
        flatten((value,), key, [])
    assert keys[0] != keys[1]


def test_a_word_per_number_and_array():
    kinds = tuple(map(find_kind, (1, 2.0, np.uint64(3), (np.zeros(2), True))))
    assert spell_words(kinds) == "qdQqq"


@kernel
def read_back(tuples, place):
    own = item(tuples, place)
    flags = (1 if own.is_on else 0) + (10 if own.flags.first else 0)
    flags += (100 if own.flags.second else 0) + (1000 if own.inner.is_set else 0)
    flags += 10000 if own.is_last else 0
    return flags, own.number, own.inner.values[1], own.inner.rate


@pytest.mark.parametrize("seed", range(8))
def test_kernels_read_what_python_has_written(seed):
    """Fields of one byte between fields of eight: both must agree about the gaps."""
    rng = np.random.default_rng(seed)
    on = [bool(bit) for bit in rng.integers(0, 2, size=5)]
    inner = Inner(on[3], np.array([0.0, rng.random()]), float(rng.random()))
    values = Mixed(on[0], Flags(on[1], on[2]), int(rng.integers(-9, 9)), inner, on[4])
    memory = TupleMemory(values, 3)
    expected = sum(10**i for i in range(5) if on[i])
    for place in range(3):
        found = read_back(memory, place)
        assert found == (expected, values.number, inner.values[1], inner.rate)
    layout = find_layout(find_kind(values))
    assert layout.size % layout.alignment == 0
