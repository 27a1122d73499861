"""Structures and constants that Python and C++ share."""

import struct
from pathlib import Path

import numpy as np
import pytest

from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.program import Program
from sumwise.cuda.runtime.structs import (
    declare_records,
    make_header,
    pack_struct,
    pack_word,
    structure,
)

Rows = structure("Rows", "const uint32* numbers; int64 n_rows; double share;")


def test_a_structure_is_a_named_tuple():
    assert Rows._fields == ("numbers", "n_rows", "share")
    assert Rows(1, 2, 3.0).share == 3.0
    assert Rows.declaration.startswith("struct Rows {const uint32* numbers;")


def test_comments_are_no_fields():
    made = structure("Made", "int64 one;  // not two;\n int64 three;")
    assert made._fields == ("one", "three")


def test_a_header_has_types_constants_and_structures():
    header = make_header(
        Rows, "struct Text {};", constants={"N_BINS": 256, "LOW": -3, "RATE": 0.1, "HUGE": 1e300}
    )
    lines = header.splitlines()
    assert lines[:2] == ["#pragma once", '#include "runtime/types.cuh"']
    assert "constexpr int64 N_BINS = 256;" in lines
    assert "constexpr int64 LOW = -3;" in lines
    assert f"constexpr double RATE = {(0.1).hex()};" in lines
    assert Rows.declaration in lines
    assert "struct Text {};" in lines


def test_bools_and_numpy_integers_are_integers_in_a_header():
    header = make_header(constants={"FLAG": True, "SIZE": np.int32(7)})
    assert "constexpr int64 FLAG = 1;" in header
    assert "constexpr int64 SIZE = 7;" in header


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        *((5, "q"), (-5, "q"), (-(1 << 63), "q"), (1 << 63, "Q"), (True, "q")),
        *((np.int64(-1), "q"), (np.uint64(2**64 - 1), "Q"), (np.uint32(7), "q")),
        *((0.1, "d"), (-0.0, "d"), (float("inf"), "d"), (np.float64(0.3), "d")),
        *((np.float32(0.5), "d"), (np.bool_(True), "q")),
    ],
)
def test_words(value, kind):
    number = float(value) if kind == "d" else int(value)
    assert pack_word(value) == struct.pack(f"<{kind}", number)


def test_an_array_is_packed_as_its_address():
    assert pack_word(DeviceArray(None, 1 << 40, (3,), np.int8)) == struct.pack("<Q", 1 << 40)


@pytest.mark.parametrize("value", [1 << 64, -(1 << 63) - 1])
def test_integers_that_do_not_fit(value):
    with pytest.raises(struct.error):
        pack_word(value)


def test_a_structure_is_packed_word_by_word():
    packed = pack_struct(Rows(7, -1, 0.5))
    assert struct.unpack("<Qqd", packed) == (7, -1, 0.5)


def test_records_have_the_fields_and_the_size_of_numpy():
    dtype = np.dtype([("a", "i1"), ("b", "u4"), ("c", "f8"), ("d", "u2")], align=True)
    text = declare_records("Record", dtype)
    assert "int8 a;" in text
    assert "sizeof(Record) == 24" in text


def test_records_must_be_aligned():
    with pytest.raises(AssertionError, match="align=True"):
        declare_records("Record", np.dtype([("a", "i1"), ("b", "u4")]))


def test_kernels_see_what_was_packed(device):
    record = np.dtype([("bin", "u1"), ("gain", "f8"), ("feature", "i4")], align=True)
    task = structure("Task", "const Split* splits; double* out; int64 n; uint64 most; double rate;")
    constants = {"N_BINS": 256, "TENTH": 0.1}
    header = make_header(declare_records("Split", record), task, constants=constants)
    source = str(Path(__file__).parent / "structs.cu")
    kernel = device.load(Program("structs", (source,), header))["read_records"]
    splits = np.array([(3, 0.7, -5), (255, -1e-300, 9)], record)
    out = device.allocate((2, 3), np.float64)
    values = task(device.upload(splits), out, 2, np.uint64(2**64 - 1), 0.3)
    device.launch(kernel, 1, 32, (pack_struct(values),))
    expected = [[259, 0.7 * 0.3 * 0.1, -5], [511, -1e-300 * 0.3 * 0.1, 9]]
    assert out.to_host().tolist() == expected
