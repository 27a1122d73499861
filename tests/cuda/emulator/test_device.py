"""Memory, arguments and graphs of an emulated device."""

import threading
from pathlib import Path

import numpy as np
import pytest

from sumwise.cuda.runtime.device import Program
from sumwise.cuda.runtime.structs import make_header, pack_struct, structure
from sumwise.errors import DeviceMemoryError
from tests.cuda.emulator import EmulatedDevice, KernelError
from tests.cuda.emulator.memory import POISON

Scaling = structure("Scaling", "double* items; int64 n; double factor;")
PROGRAM = Program(
    "emulator",
    (str(Path(__file__).parent / "kernels.cu"),),
    make_header(Scaling, constants={"BIAS": 0.5, "MOST_THREADS": 256}),
)


@pytest.fixture
def kernels(device):
    return device.load(PROGRAM)


def test_arrays_travel_to_the_device_and_back(device):
    items = np.arange(12, dtype=np.int16).reshape(3, 4)
    array = device.upload(items)
    assert array.shape == (3, 4)
    items[:] = 0  # the device has a copy
    assert array.to_host().tolist() == np.arange(12).reshape(3, 4).tolist()
    assert device.download(array[1]).tolist() == [4, 5, 6, 7]
    assert device.download_later(array[1:]).get().shape == (2, 4)


def test_a_copy_that_is_under_way_does_not_see_later_work(device):
    array = device.upload(np.ones(3))
    later = device.download_later(array)
    device.clear(array)
    assert later.get().tolist() == [1, 1, 1]


def test_an_empty_array(device):
    array = device.zeros((0, 3), np.float64)
    assert array.to_host().shape == (0, 3)
    assert array.copy().nbytes == 0


def test_new_memory_is_poisoned(device):
    assert (device.allocate(100, np.uint8).to_host() == POISON).all()
    assert (device.zeros(100, np.uint8).to_host() == 0).all()


def test_addresses_are_aligned_as_on_a_gpu(device):
    arrays = [device.allocate(n, np.uint8) for n in (1, 7, 100)]
    assert [array.address % 256 for array in arrays] == [0, 0, 0]


def test_copies_between_devices(device):
    with EmulatedDevice(1) as other:
        source = device.upload(np.arange(5))
        target = other.allocate(5, np.int64)
        other.copy(source, target)
        assert target.to_host().tolist() == [0, 1, 2, 3, 4]


def test_copies_need_equal_sizes(device):
    with pytest.raises(KernelError, match="40 bytes cannot be copied to 32 bytes"):
        device.copy(device.zeros(5, np.int64), device.zeros(4, np.int64))
    with pytest.raises(KernelError, match="40 bytes cannot be copied to 32 bytes"):
        device.write(np.zeros(5), device.zeros(4, np.int64))


def test_memory_has_a_limit():
    with EmulatedDevice(memory_limit=100) as device:
        array = device.allocate(10, np.int64)
        assert device.count_free() == 20
        with pytest.raises(DeviceMemoryError, match="24 bytes were asked for, and 20 are free"):
            device.allocate(3, np.int64)
        device.free(array)
        assert device.count_free() == 100


def test_memory_goes_with_the_last_view(device):
    before = device.count_free()
    view = device.allocate(10, np.int64)[2:]
    assert device.count_free() == before - 80
    del view
    assert device.count_free() == before


def test_views_cannot_be_freed(device):
    with pytest.raises(KernelError, match="not views"):
        device.free(device.allocate(10, np.int64)[:5])


def test_an_array_cannot_be_used_after_it_was_freed(device, kernels):
    array = device.allocate(10, np.int64)
    row = array[3:]
    device.free(array)
    with pytest.raises(KernelError, match="freed twice"):
        device.free(array)
    for use in (device.download, device.clear, lambda row: device.write(np.zeros(7), row)):
        with pytest.raises(KernelError, match="has been freed"):
            use(row)
    with pytest.raises(KernelError, match="argument 0 of write_last is an array whose memory"):
        device.launch(kernels["write_last"], 1, 32, (row,))


def test_a_closed_device_does_nothing():
    with EmulatedDevice() as device:
        array = device.zeros(3, np.int64)
    device.close()
    device.free(array)
    assert device.count_free() == device.memory_limit
    with pytest.raises(KernelError, match="cannot download: the device is closed"):
        array.to_host()


# --- arguments ---


def test_arguments_of_all_kinds(device, kernels):
    a, b = device.upload(np.arange(1000.0)), device.upload(np.full(1000, 0.5))
    sums = device.allocate(1000, np.float64)
    device.launch(kernels["add"], 3, 64, (a, b, np.int64(999), sums))
    assert sums.to_host()[:999].tolist() == (np.arange(999) + 0.5).tolist()
    assert sums.to_host()[999:].tobytes() == bytes([POISON] * 8)


def test_a_structure_by_value_and_constants(device, kernels):
    items = device.upload(np.arange(100.0))
    device.launch(kernels["scale"], 2, 32, (pack_struct(Scaling(items, 100, 3.0)),))
    assert items.to_host().tolist() == (np.arange(100) * 3 + 0.5).tolist()


def test_a_kernel_has_its_own_arguments(device, kernels):
    out = device.allocate(64, np.int64)
    with device.record() as graph:
        device.launch(kernels["count_down"], 1, 64, (15, out))
    graph.launch()
    graph.launch()
    assert set(out.to_host().tolist()) == {10}


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("cast", (1, 0), "argument 0 of cast is a double, not int"),
        ("cast", (1.0, 0.0), "argument 1 of cast is a pointer, not float"),
        ("divide", (1.0, 0), "argument 0 of divide is a integer, not float"),
        ("divide", (1,), "divide takes 2 arguments: 1"),
        ("divide", (None, 0), "is a integer, not NoneType"),
        ("divide", (np.zeros(3), 0), "is a integer, not ndarray"),
        ("scale", (1,), "argument 0 of scale is a structure, not int"),
        ("scale", (bytes(16),), "argument 0 of scale has 24 bytes, not 16"),
    ],
)
def test_wrong_arguments(device, kernels, name, arguments, message):
    with pytest.raises(KernelError, match=message):
        device.launch(kernels[name], 1, 32, arguments)


@pytest.mark.parametrize(
    ("n_blocks", "n_threads", "shared", "message"),
    [
        (1, 33, 0, "a multiple of 32 threads"),
        (1, 0, 0, "a multiple of 32 threads"),
        (1, 288, 0, "reverse needs a multiple of 32 threads, at most 256: 288"),
        (-1, 32, 0, "-1 x 1 blocks"),
        ((1, 70_000), 32, 0, "1 x 70000 blocks"),
        (1, 32, 232_449, "232449 bytes of shared memory"),
    ],
)
def test_wrong_launches(device, kernels, n_blocks, n_threads, shared, message):
    with pytest.raises(KernelError, match=message):
        device.launch(kernels["reverse"], n_blocks, n_threads, (0, 0), shared)


def test_no_blocks_do_nothing(device, kernels):
    device.launch(kernels["write_last"], 0, 32, (0,))


def test_attributes():
    device = EmulatedDevice(3, n_processors=5, shared_memory=49_152)
    assert (device.name, device.number, device.architecture) == ("emulated", 3, 90)
    assert device.count_blocks(device.load(PROGRAM)["add"], 128) == 10
    assert device.shared_memory == 49_152


# --- graphs ---


def test_a_graph_repeats_what_was_recorded(device, kernels):
    counts, copies = device.zeros(1, np.uint64), device.allocate(1, np.uint64)
    items = device.upload(np.arange(10))
    with device.record() as graph:
        device.launch(kernels["sum"], 1, 32, (items, 10, counts))
        device.copy(counts, copies)
        device.clear(items[9:])
    assert counts.to_host().tolist() == [0]
    graph.launch()
    assert copies.to_host().tolist() == [45]
    graph.launch()
    assert copies.to_host().tolist() == [81]


@pytest.mark.parametrize(
    "work",
    [
        lambda device, array: device.allocate(1, np.int64),
        lambda device, array: device.download(array),
        lambda device, array: device.download_later(array),
        lambda device, array: device.write(np.zeros(3), array),
        lambda device, array: device.free(array),
        lambda device, array: device.wait(),
        lambda device, array: device.mark(),
        lambda device, array: device.record().__enter__(),
    ],
)
def test_what_cannot_be_recorded(device, work):
    array = device.zeros(3, np.float64)
    with device.record(), pytest.raises(KernelError, match="while a graph is recorded"):
        work(device, array)


def test_a_graph_is_launched_after_it_was_recorded(device):
    with device.record() as graph, pytest.raises(KernelError, match="cannot launch a graph"):
        graph.launch()


def test_an_error_ends_the_recording(device):
    with pytest.raises(ZeroDivisionError), device.record():
        raise ZeroDivisionError
    device.wait()


def test_a_graph_does_not_keep_arrays(device, kernels):
    items, struct_items = device.zeros(10, np.float64), device.zeros(10, np.float64)
    with device.record() as cleared:
        device.clear(items)
    with device.record() as scaled:
        device.launch(kernels["scale"], 1, 32, (pack_struct(Scaling(struct_items, 10, 1.0)),))
    del items, struct_items
    for graph in (cleared, scaled):
        with pytest.raises(KernelError, match="a graph uses an array whose memory has been freed"):
            graph.launch()


# --- bounds ---


@pytest.mark.parametrize("place", [-1, 10, 100])
def test_writes_out_of_bounds_are_found_when_memory_is_freed(place):
    device = EmulatedDevice()
    array = device.zeros(10, np.int64)
    device.launch(device.load(PROGRAM)["write_at"], 1, 32, (array, place))
    with pytest.raises(KernelError, match=f"byte {8 * place} of an array of 80 bytes was written"):
        device.close()


def test_writes_out_of_bounds_are_found_after_a_launch():
    device = EmulatedDevice(check_launches=True)
    array = device.zeros(10, np.int64)
    with pytest.raises(KernelError, match="kernel write_at: byte 80 of an array of 80 bytes"):
        device.launch(device.load(PROGRAM)["write_at"], 1, 32, (array, 10))


def test_an_array_that_died_does_not_hide_a_write():
    device = EmulatedDevice()
    array = device.zeros(10, np.int64)
    device.launch(device.load(PROGRAM)["write_at"], 1, 32, (array, 10))
    del array
    with pytest.raises(KernelError, match="byte 80"):
        device.close()


def test_the_first_error_is_the_one_that_is_seen():
    device = EmulatedDevice()
    array = device.zeros(10, np.int64)
    device.launch(device.load(PROGRAM)["write_at"], 1, 32, (array, 10))
    with pytest.raises(ZeroDivisionError) as error, device:
        raise ZeroDivisionError
    assert "byte 80" in error.value.__notes__[0]


def test_threads_of_python_use_devices_of_their_own():
    totals = {}

    def work(number):
        with EmulatedDevice(number, order="shuffled", seed=number) as device:
            kernel = device.load(PROGRAM)["sum"]
            items = device.upload(np.arange(5000) * number)
            total = device.zeros(1, np.uint64)
            for _ in range(20):
                device.launch(kernel, 4, 128, (items, 5000, total))
            totals[number] = int(total.to_host()[0])

    threads = [threading.Thread(target=work, args=(number,)) for number in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert totals == {number: 20 * number * sum(range(5000)) for number in (1, 2, 3)}
