"""Arrays of a device: views, copies and arithmetic, to NumPy's bits."""

import numpy as np
import pytest

from sumwise.cuda.runtime.arrays import DeviceArray, number_rows

SPECIAL = np.array([0.0, -0.0, 1.5, -2.25, 5e-324, 1e308, -1e308, np.inf, -np.inf, np.nan, 0.1])


@pytest.fixture
def host():
    return np.arange(24, dtype=np.int32).reshape(2, 3, 4)


def same_bits(array, expected):
    found = array.to_host()
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    nan = np.isnan(expected) if expected.dtype.kind == "f" else np.zeros(expected.shape, bool)
    assert found[~nan].tobytes() == expected[~nan].tobytes()
    assert np.isnan(found[nan]).all()


# --- shape and views ---


def test_shape(device, host):
    array = device.upload(host)
    assert (array.ndim, array.size, array.nbytes, len(array)) == (3, 24, 96, 2)
    assert array.dtype == np.int32


@pytest.mark.parametrize(
    "key",
    [0, 1, -1, slice(0, 1), slice(1, None), slice(None), slice(2, 1), slice(5, 9), slice(-1, None)],
)
def test_rows_are_views(device, host, key):
    array = device.upload(host)
    same_bits(array[key], host[key])
    if array[key].size:
        device.clear(array[key])
        host[key] = 0
        same_bits(array, host)


def test_views_of_views(device, host):
    array = device.upload(host)
    same_bits(array[1][1:][0], host[1, 1])
    assert array[1][1:].owner.owner is array


def test_an_item_is_a_view_without_dimensions(device):
    array = device.upload(np.array([3.0, 4.0]))
    assert array[1].shape == ()
    assert array[1].to_host() == 4.0


@pytest.mark.parametrize("key", [2, -3, slice(None, None, 2), slice(None, None, -1)])
def test_rows_that_are_not_there(device, host, key):
    with pytest.raises(IndexError):
        device.upload(host)[key]


def test_rows_are_iterated(device, host):
    for row, expected in zip(device.upload(host), host, strict=True):
        same_bits(row, expected)


def test_rows_are_assigned(device, host):
    array = device.upload(host)
    array[1] = array[0]
    host[1] = host[0]
    same_bits(array, host)
    array[:1] = device.zeros((1, 3, 4), np.int32)
    host[:1] = 0
    same_bits(array, host)


def test_a_copy_is_independent(device, host):
    array = device.upload(host)
    copy = array.copy()
    device.clear(array)
    same_bits(copy, host)


def test_items_need_not_be_contiguous_on_the_host(device, host):
    same_bits(device.upload(host.T), host.T)
    same_bits(device.upload(host[:, ::-2]), host[:, ::-2])


def test_the_interface_of_cuda_arrays(device, host):
    view = device.upload(host)[1]
    interface = view.__cuda_array_interface__
    assert interface["shape"] == (3, 4)
    assert interface["typestr"] == "<i4"
    assert interface["data"] == (view.address, False)
    assert interface["strides"] is None
    assert interface["stream"] == device.stream != 0  # 0 is ambiguous and thus forbidden
    foreign = DeviceArray(device, interface["data"][0], (12,), np.int32, owner=view)
    same_bits(foreign, host[1].ravel())


# --- arithmetic ---


@pytest.fixture
def pair():
    a, b = (pairs.ravel() for pairs in np.meshgrid(SPECIAL, SPECIAL))
    return a.reshape(11, 11), b.reshape(11, 11)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_sums_and_differences(device, pair):
    a, b = pair
    first, second = device.upload(a), device.upload(b)
    same_bits(first + second, a + b)
    same_bits(first - second, a - b)
    same_bits(first, a)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("factor", [2, 0.1, -0.0, np.float64(3.0), 5e-324])
def test_multiples_and_fractions(device, pair, factor):
    array = device.upload(pair[0])
    same_bits(array * factor, pair[0] * factor)
    same_bits(2.0 * array, 2.0 * pair[0])
    same_bits(array / factor, pair[0] / np.float64(factor))


def test_many_items(device):
    items = np.random.default_rng(0).normal(size=100_003)
    array = device.upload(items)
    same_bits(array + array * 0.1, items + items * 0.1)


def test_fill(device):
    array = device.zeros((3, 100), np.float64)
    array[1].fill(0.3)
    expected = np.zeros((3, 100))
    expected[1] = 0.3
    same_bits(array, expected)


def test_take(device):
    items = np.random.default_rng(0).normal(size=50)
    rows = np.array([49, 0, 7, 7, 3], np.uint32)
    same_bits(device.upload(items).take(device.upload(rows)), items[rows])


@pytest.mark.parametrize(
    ("items", "finite"),
    [
        ([1.0, -0.0, 1e308, 5e-324], True),
        ([1.0, np.nan], False),
        ([np.inf, 1.0], False),
        ([-np.inf], False),
        ([], True),
    ],
)
def test_is_finite(device, items, finite):
    assert device.upload(np.array(items, np.float64)).is_finite() is finite


def test_numbers_of_rows(device):
    same_bits(number_rows(device, 1000), np.arange(1000, dtype=np.uint32))
    same_bits(number_rows(device, 3, first=2**32 - 3), np.arange(2**32 - 3, 2**32).astype("u4"))
    assert number_rows(device, 0).shape == (0,)


def test_nothing_is_launched_for_empty_arrays(device):
    empty = device.zeros(0, np.float64)
    assert (empty + empty).shape == (0,)
    empty.fill(1.0)
