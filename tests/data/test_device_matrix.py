"""Matrices on a GPU: how they are read, and what their values are."""

import numpy as np
import pytest

from sumwise.data.device_reading import read_device_matrix
from sumwise.data.frames.selection import take_rows
from sumwise.data.on_device import explain_place, fetch, give, is_on_device
from sumwise.errors import DataError
from tests.cuda.arrays import FakeArray, FakeFrame, FakeSeries, FakeTensor

TYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
TYPES += ["float16", "float32", "float64"]


def draw_array(dtype, n_rows=300, n_features=5):
    bits = np.random.default_rng(0).integers(0, 256, (n_rows, 8 * n_features), dtype=np.uint8)
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return bits[:, :n_features] > 99
    array = bits[:, : dtype.itemsize * n_features].copy().view(dtype)
    if dtype.kind == "f":
        array[:5, 0] = [np.inf, -np.inf, -0.0, np.nan, np.finfo(dtype).smallest_subnormal]
    return array


def read_values(matrix):
    """Return the values of a matrix as kernels read them."""
    rows = np.arange(matrix.n_rows, dtype=np.uint32)
    return matrix.gather(np.arange(matrix.shape[1]), rows)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_types_are_read_as_on_the_host(emulated, dtype, order):
    array = np.asarray(draw_array(dtype), order=order)
    kind = np.float32 if dtype in ("float16", "float32") else np.float64
    for like in (FakeArray, FakeTensor):
        matrix = read_device_matrix(like(array))
        assert matrix.dtype == kind
        with np.errstate(invalid="ignore"):
            assert np.array_equal(read_values(matrix), array.astype(kind), equal_nan=True)
    # Floats are read where they are.
    assert (matrix.values.address == array.ctypes.data) == (dtype in ("float32", "float64"))


def test_parts_of_arrays_are_read_in_place(emulated):
    array = draw_array("float32", 300, 9)
    for part in (array[::3, 1::2], array[::-1, ::-2], array.T[2:5], array[:, :1], array[:1]):
        matrix = read_device_matrix(FakeArray(part))
        assert matrix.values.address == part.ctypes.data
        assert np.array_equal(read_values(matrix), part, equal_nan=True)


def test_frames_have_masks_and_several_types(emulated):
    arrays = {name: draw_array(name)[:, 0].copy() for name in ("float32", "float16", "int32")}
    is_known = np.arange(300) % 3 > 0
    with np.errstate(invalid="ignore"):
        expected = np.stack([array.astype(np.float64) for array in arrays.values()], axis=1)
    frame = FakeFrame({name: FakeSeries(array) for name, array in arrays.items()})
    matrix = read_device_matrix(frame)
    assert matrix.names == list(arrays)
    assert np.array_equal(read_values(matrix), expected, equal_nan=True)
    masked = FakeFrame({name: FakeSeries(array, is_known) for name, array in arrays.items()})
    expected[~is_known] = np.nan
    assert np.array_equal(read_values(read_device_matrix(masked)), expected, equal_nan=True)
    floats = FakeFrame({"a": FakeSeries(arrays["float32"]), "b": FakeSeries(arrays["float16"])})
    assert read_device_matrix(floats).dtype == np.float32


@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_rows_are_taken_on_the_gpu(emulated, dtype):
    array = draw_array(dtype)
    rows = np.array([3, 299, 0, 3, 7])
    taken = take_rows(FakeArray(array), rows)
    assert is_on_device(taken)
    assert taken.shape == (5, 5)
    assert np.array_equal(read_values(taken), array[rows].astype(taken.dtype), equal_nan=True)
    assert np.array_equal(read_values(take_rows(taken, rows[-1:] - 3)), read_values(taken)[4:])


def test_what_is_no_matrix_of_numbers_is_refused(emulated):
    with pytest.raises(DataError, match="Expected 2D array, got 1D"):
        read_device_matrix(FakeArray(np.zeros(3)))
    with pytest.raises(DataError, match="must be numeric"):
        read_device_matrix(FakeArray(np.zeros((3, 2), dtype=np.complex64)))
    texts = FakeFrame({"a": FakeSeries(np.array(["x", "y"]))})
    with pytest.raises(DataError, match=r"column 'a' has type .*to_pandas"):
        read_device_matrix(texts)


def test_recognizing_what_is_on_a_gpu():
    array = np.zeros((3, 2))
    assert is_on_device(FakeArray(array))
    assert is_on_device(FakeTensor(array))
    assert is_on_device(FakeFrame({}))
    for value in (array, [1, 2], None, "x", 3.0, {}, np.float64(3), memoryview(b"ab")):
        assert not is_on_device(value)


def test_the_way_to_the_host_and_back(emulated):
    array = np.arange(6.0)
    assert fetch(array) is array
    assert fetch(FakeArray(array)) is array
    on_device = emulated(0).upload(array)
    assert np.array_equal(fetch(on_device), array)
    assert np.array_equal(give(on_device, array), array)
    assert give(on_device, FakeArray(array)) is on_device  # without CuPy
    assert "X is in the memory of a GPU: tests.FakeArray" in explain_place(FakeArray(array))
