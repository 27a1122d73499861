import contextlib
import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sumwise.cuda.runtime import pinned
from sumwise.cuda.runtime.device import Program
from sumwise.cuda.runtime.driver import DriverDevice
from sumwise.data import device_sending
from sumwise.data.device_sending import send_rows
from sumwise.data.matrix import read_chunks
from sumwise.errors import DeviceError, DeviceMemoryError
from sumwise.kernels.runtime.threads import Team
from tests.cuda.runtime.fake_driver import Code

PROGRAM = Program("test", (), "")
MB = 1 << 20


@pytest.fixture
def device(fake):
    with DriverDevice(0) as device:
        yield device
    assert not fake.memory
    assert fake.n_streams == fake.n_graphs == 0


def make_items(n_bytes, seed=0):
    return np.random.default_rng(seed).integers(0, 256, n_bytes, np.uint8)


def test_properties(device):
    assert (device.name, device.number, device.architecture) == ("Fake GPU", 0, 90)
    assert (device.n_processors, device.shared_memory, device.stream) == (4, 100_000, 1)


# --- copies ---


@pytest.mark.parametrize(
    "n_bytes",
    [0, 1, 63, 65_536, 65_537, MB - 1, 3 * MB, 16 * MB, 16 * MB + 1, 35 * MB + 5],
)
def test_copies_of_all_sizes(device, n_bytes):
    items = make_items(n_bytes)
    host = items.copy()
    array = device.upload(host)
    host[:] = 0  # may be changed at once
    copied = array.copy()
    device.clear(array)
    later = device.download_later(copied)
    np.testing.assert_array_equal(device.download(copied), items)
    np.testing.assert_array_equal(later.get(), items)
    assert not device.download(array).any()


def test_shapes_and_types_are_kept(device):
    host = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    array = device.upload(host)
    np.testing.assert_array_equal(array.to_host(), host)
    np.testing.assert_array_equal(array[1].to_host(), host[1])
    np.testing.assert_array_equal(array[1:].to_host(), host[1:])
    assert device.zeros((2, 3), bool).to_host().tolist() == [[False] * 3] * 2
    assert device.allocate((0, 3), float).to_host().shape == (0, 3)


def test_small_writes_do_not_wait_and_are_not_overwritten(device, fake):
    """The ring is passed several times, with nothing done before it must be."""
    host = np.empty(5_000, np.int64)  # 40,000 bytes: 13 of them are half of the ring
    arrays = []
    for number in range(12):
        host[:] = number
        arrays.append(device.upload(host))
    waits = fake.calls["cuEventSynchronize"] + fake.calls["cuStreamSynchronize"]
    assert waits == 0
    for number in range(12, 60):
        host[:] = number
        arrays.append(device.upload(host))
    assert [int(array.to_host().mean()) for array in arrays] == list(range(60))


def test_many_large_writes_are_not_overwritten(device):
    parts = [make_items(17 * MB, seed) for seed in range(4)]
    arrays = [device.upload(part) for part in parts]
    for part, array in zip(parts, arrays, strict=True):
        np.testing.assert_array_equal(array.to_host(), part)


@pytest.mark.parametrize("numbers", [(0,), (0, 0), (0, 1)])
def test_slots_take_turns(install, numbers):
    fake = install(gpus=((9, 0), (9, 0)))
    parts = [make_items(1000, seed) for seed in range(6)]
    with contextlib.ExitStack() as stack:
        devices = [stack.enter_context(DriverDevice(number)) for number in numbers]
        targets = [[device.allocate(1000, np.uint8) for _ in parts] for device in devices]
        with devices[0].lend_slots(1000) as slots:
            for k, part in enumerate(parts):
                slot = slots[k % 2]
                slot.wait()
                slot.memory[:1000] = part
                for device, own in zip(devices, targets, strict=True):
                    device.write_from(slot, slot.memory[:1000], own[k])
        # The last copies may not be done when others use the memory.
        other = devices[0].upload(make_items(17 * MB, 9))
        for own in targets:
            for part, target in zip(parts, own, strict=True):
                np.testing.assert_array_equal(target.to_host(), part)
        np.testing.assert_array_equal(other.to_host(), make_items(17 * MB, 9))
        assert sum(len(buffer) >= pinned.PIECE for buffer in fake.pinned.values()) == 2


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_that_are_sent_are_not_overwritten(device, order, monkeypatch):
    monkeypatch.setattr(device_sending, "_PIECE_BYTES", 500)
    monkeypatch.setattr(device_sending, "_BATCH_BYTES", 1600)
    X = np.asarray(np.random.default_rng(0).random((100, 7)), order=order)
    ((_, part),) = read_chunks(X)
    arrived = []
    with Team(1) as team:
        for rows, values in send_rows(device, part, 7, team):
            copy = device.allocate(values.owner.size, values.dtype)
            device.copy(values.owner, copy)
            arrived.append((rows, copy))
    assert len(arrived) > 2
    for rows, copy in arrived:
        np.testing.assert_array_equal(copy.to_host(), X[rows].ravel(order))


def test_slots_are_lent_once(device, fake):
    with device.lend_slots(9) as first, device.lend_slots(9) as second:
        assert len({slot.memory.ctypes.data for slot in (*first, *second)}) == 4
        array = device.upload(make_items(2 * MB))  # lends two more
        np.testing.assert_array_equal(array.to_host(), make_items(2 * MB))
    assert len(fake.pinned) == 6


def test_parts_of_slots_that_cannot_be_copied_at_once(device):
    array = device.zeros((3, 10), np.uint8)
    for n_bytes in (60, pinned.PIECE + 1):
        with device.lend_slots(n_bytes) as (slot, _):
            assert slot.memory.size >= n_bytes
            items = slot.memory[:60].reshape(3, 20)
            items[:] = make_items(60).reshape(3, 20)
            device.write_from(slot, items[:, 5:15], array)
            slot.wait()
            np.testing.assert_array_equal(array.to_host(), make_items(60).reshape(3, 20)[:, 5:15])
            with pytest.raises(ValueError, match="10 bytes to an array of 30"):
                device.write_from(slot, slot.memory[:10], array)


def test_copies_of_wrong_size_are_refused(device):
    array = device.zeros(3, np.int64)
    with pytest.raises(ValueError, match="16 bytes to an array of 24"):
        device.write(np.zeros(2), array)
    with pytest.raises(ValueError, match="24 bytes to an array of 8"):
        device.copy(array, array[:1])


def test_reading_to_arrays_of_the_host(device):
    array = device.upload(np.arange(12.0).reshape(6, 2))
    target = np.zeros((9, 2))
    device.read(array[1:4], target[5:8])
    assert target.ravel().tolist() == [0.0] * 10 + [2.0, 3.0, 4.0, 5.0, 6.0, 7.0] + [0.0] * 2
    with pytest.raises(ValueError, match="48 bytes"):
        device.read(array[1:4], target)
    with pytest.raises(ValueError, match="contiguous"):
        device.read(array[:1], np.zeros((4, 1))[::2])


def test_downloads_later_keep_their_order(device, fake):
    array = device.upload(np.array([1, 2, 3]))
    add = device.load(PROGRAM)["add"]
    laters = []
    for _ in range(50):
        device.launch(add, 1, 32, (array, 3, 1))
        laters.append(device.download_later(array))
    assert [later.get()[0] for later in laters] == list(range(2, 52))
    assert laters[0].get() is laters[0].get()
    n_pinned = len(fake.pinned)
    for _ in range(50):
        device.download_later(array).get()
    assert len(fake.pinned) == n_pinned  # buffers are used again


def test_large_pinned_buffers_are_not_kept(device, fake):
    array = device.zeros(20 * MB, np.uint8)
    device.download_later(array).get()
    assert not any(len(buffer) > 16 * MB for buffer in fake.pinned.values())


# --- memory ---


def test_memory_of_lost_arrays_is_used_again(device, fake):
    for number in range(5):
        array = device.upload(np.full(1000, number))
        assert array.to_host()[0] == number
        del array
        gc.collect(0)
    assert len(fake.memory) == 1
    view = device.zeros((4, 250), np.int64)[1]
    gc.collect(0)
    other = device.upload(np.ones(1000, np.int64))
    assert not view.to_host().any()  # a view keeps the memory
    assert other.to_host().all()


def test_memory_that_others_have_seen_is_not_used_again(device, fake):
    array = device.zeros((10, 10), np.int64)
    seen = array[2].__cuda_array_interface__
    assert (seen["data"], seen["shape"]) == ((array.address + 160, False), (10,))
    own, address = device.zeros(9, np.int64), array.address
    del array
    gc.collect(0)
    assert address in fake.memory  # the driver is not called while objects are collected
    device.wait()
    other = device.zeros((10, 10), np.int64)
    assert fake.calls["cuMemFree"] == 1
    assert set(fake.memory) == {own.address, other.address}


def test_not_much_memory_is_kept_for_other_sizes(install):
    fake = install(memory=2048 * MB)
    with DriverDevice(0) as device:
        for size in range(100, 107):
            device.allocate(size * MB, np.uint8)
            assert sum(map(len, fake.memory.values())) < 520 * MB


def test_freed_memory_goes_back(device, fake):
    array = device.zeros(1000, np.int64)
    free = device.count_free()
    with pytest.raises(ValueError, match="a view"):
        device.free(array[:3])
    device.free(array)
    assert not fake.memory
    assert device.count_free() == free + 8192
    with pytest.raises(ValueError, match="given back before"):
        device.free(array)
    others = [device.zeros(1000, np.int64) for _ in range(3)]
    del array  # must not give memory of others away
    others.append(device.zeros(1000, np.int64))
    assert len({other.address for other in others}) == 4


def test_freeing_after_the_end_does_nothing(fake):
    with DriverDevice(0) as device:
        array = device.zeros(10, np.int64)
    device.free(array)
    with pytest.raises(DeviceError, match="has been closed"):
        array.to_host()


def test_too_much_memory(install):
    fake = install(memory=100 * MB)
    with DriverDevice(0) as device:
        held = device.zeros(30 * MB, np.uint8)
        device.zeros(40 * MB, np.uint8)  # lost, and kept until memory is short
        assert device.count_free() == 70 * MB
        array = device.zeros(60 * MB, np.uint8)
        message = (
            r"GPU 0 \(Fake GPU\) has not enough memory: 80.00 MiB are asked for, 10.00 MiB of "
            r"100.00 MiB are free, 90.00 MiB are in use here; device='cpu' gives the same model"
        )
        with pytest.raises(DeviceMemoryError, match=message):
            device.allocate((80, MB), np.uint8)
        assert not array.to_host().any()
        assert held.shape == (30 * MB,)
    assert not fake.memory


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_memory_is_freed_after_an_error(fake, error):
    arrays = []

    def use(device):
        arrays.append(device.zeros(9 * MB, np.uint8))
        arrays.append(device.upload(np.ones(10)))
        arrays.append(device.download_later(arrays[0]))
        with device.record():
            device.clear(arrays[0])
            raise error("stop")

    with pytest.raises(error, match="stop"), DriverDevice(0) as device:
        use(device)
    assert not fake.memory
    assert fake.n_streams == fake.n_graphs == 0
    with pytest.raises(DeviceError, match="closed before this copy was done"):
        arrays[2].get()


def test_a_device_that_is_lost_is_closed(fake):
    array = DriverDevice(0).zeros(10, np.int64)
    assert len(fake.memory) == 1
    del array
    gc.collect(0)
    assert not fake.memory
    assert fake.n_streams == 0


def test_context_of_the_caller_is_restored(fake):
    fake.cuCtxSetCurrent("of torch")
    with DriverDevice(0) as device:
        device.zeros(3, int)
        assert fake.cuCtxGetCurrent()[1] == ("context", 0)
    assert fake.cuCtxGetCurrent()[1] == "of torch"


# --- kernels ---


def test_kernels_take_packed_arguments(device):
    kernels = device.load(PROGRAM)
    assert list(kernels) == ["add"]  # "x" is no kernel
    assert device.load(PROGRAM) is kernels
    array = device.upload(np.array([1, 2, 3]))
    device.launch(kernels["add"], 2, 64, (array, 3, -5))
    device.launch(kernels["add"], (2, 3), 64, (array[1:], np.int64(2), True))
    device.launch(kernels["add"], 0, 64, (array, 3, 100))  # no blocks, no work
    device.launch(kernels["add"], 1, 64, (array, 3, (1 << 64) - 2))
    assert array.to_host().tolist() == [-6, -4, -3]
    device.launch(kernels["add"], 1, 32, (array.address.to_bytes(8, "little"), 3, 1))
    assert array.to_host().tolist() == [-5, -3, -2]
    assert device.count_blocks(kernels["add"], 256) == 32


def test_wrong_arguments_are_found(device):
    add = device.load(PROGRAM)["add"]
    with pytest.raises(DeviceError, match="kernel add takes 24 bytes of arguments, got 16"):
        device.launch(add, 1, 32, (1, 2))


def test_old_drivers_do_not_tell_sizes_of_arguments(device, fake, monkeypatch):
    def fail(function, idx):
        raise RuntimeError('Function "cuFuncGetParamInfo" not found')

    monkeypatch.setattr(fake, "cuFuncGetParamInfo", fail)
    assert device.load(PROGRAM)["add"].n_bytes is None


def test_graphs(device):
    array, other = device.upload(np.array([1, 2, 3])), device.zeros(3, np.int64)
    add = device.load(PROGRAM)["add"]
    with device.record() as graph:
        device.launch(add, 1, 32, (array, 3, 10))
        device.copy(array, other)
        device.clear(array[:1])
        assert device.load(PROGRAM)["add"] is add
        with pytest.raises(DeviceError, match="can be recorded"):
            graph.launch()
        for forbidden in (
            lambda: device.allocate(3, int),
            lambda: device.write(np.zeros(3), array),
            lambda: device.download(array),
            lambda: device.load(PROGRAM._replace(name="other")),
            device.mark,
            device.wait,
        ):
            with pytest.raises(DeviceError, match="only kernels, clears and copies"):
                forbidden()
    assert array.to_host().tolist() == [1, 2, 3]
    graph.launch()
    graph.launch()
    assert other.to_host().tolist() == [10, 22, 23]
    assert array.to_host().tolist() == [0, 22, 23]


def test_graphs_keep_their_arrays(device):
    temporary, out = device.upload(np.array([7])), device.zeros(1, np.int64)
    with device.record() as graph:
        device.copy(temporary, out)
    del temporary
    gc.collect(0)
    device.upload(np.array([8]))
    graph.launch()
    assert out.to_host().tolist() == [7]


# --- several devices ---


@pytest.mark.parametrize("numbers", [(0, 0), (0, 1)])
def test_marks_order_devices(install, numbers):
    fake = install(gpus=((9, 0), (9, 0)))
    with DriverDevice(numbers[0]) as first, DriverDevice(numbers[1]) as second:
        source, target = first.upload(np.arange(5)), second.zeros(5, np.int64)
        second.wait_for(first.mark())
        second.copy(source, target)
        assert target.to_host().tolist() == [0, 1, 2, 3, 4]
    assert not fake.memory
    assert fake.calls["cuMemcpyPeerAsync"] == numbers[1]
    assert fake.calls["cuCtxEnablePeerAccess"] == 2 * numbers[1]


def test_threads_with_devices_of_their_own(fake):
    def work(seed):
        with DriverDevice(0) as device:
            add = device.load(PROGRAM)["add"]
            for size in (10, 100_000, 2_500_000):
                items = np.random.default_rng(seed).integers(0, 1000, size)
                array = device.upload(items)
                device.launch(add, 1, 32, (array, size, seed))
                np.testing.assert_array_equal(array.to_host(), items + seed)
        return seed

    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(work, range(6))) == list(range(6))
    assert not fake.memory


def test_threads_that_share_a_device(device):
    add = device.load(PROGRAM)["add"]

    def work(seed):
        for number in range(200):
            array = device.upload(np.full(50, number))
            device.launch(add, 1, 32, (array, 50, seed))
            assert (array.to_host() == number + seed).all()

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(work, range(3)))


# --- failures ---


def test_a_kernel_that_fails(fake):
    def use(device):
        device.zeros(3, int)
        fake.failing["cuStreamSynchronize"] = Code.CUDA_ERROR_ILLEGAL_ADDRESS
        device.wait()

    with pytest.raises(DeviceError) as info, DriverDevice(0) as device:
        use(device)
    assert str(info.value) == (
        "a kernel has failed on the GPU: CUDA_ERROR_ILLEGAL_ADDRESS (what illegal_address), "
        "returned by cuStreamSynchronize. This process cannot use the GPU any more: restart it"
    )
    assert not fake.memory


def test_a_failure_that_shows_at_the_end(fake):
    device = DriverDevice(0)
    device.zeros(3, int)
    fake.failing["cuStreamSynchronize"] = Code.CUDA_ERROR_ILLEGAL_ADDRESS
    with pytest.raises(DeviceError, match="ILLEGAL_ADDRESS"):
        device.close()
    assert not fake.memory


def test_a_launch_that_fails_names_the_kernel(device, fake):
    add = device.load(PROGRAM)["add"]
    fake.failing["cuLaunchKernel"] = Code.CUDA_ERROR_INVALID_VALUE
    message = (
        r"INVALID_VALUE \(what invalid_value\), returned by cuLaunchKernel of add "
        r"\(2 blocks of 2048 threads, 7 bytes"
    )
    with pytest.raises(DeviceError, match=message):
        device.launch(add, 2, 2048, (1, 2, 3), 7)


@pytest.mark.parametrize(
    "function",
    [
        "cuMemcpyHtoDAsync",
        "cuEventRecord",
        "cuMemHostAlloc",
        "cuMemcpyDtoHAsync",
        "cuMemsetD8Async",
    ],
)
def test_every_code_is_checked(fake, function):
    def use(device):
        array = device.upload(make_items(9 * MB))
        device.clear(array)
        array.to_host()

    fake.failing[function] = Code.CUDA_ERROR_INVALID_VALUE
    with pytest.raises(DeviceError, match=f"INVALID_VALUE.*{function}"), DriverDevice(0) as device:
        use(device)
    assert not fake.memory


def test_graphs_that_cannot_be_made(device, fake):
    fake.failing["cuGraphInstantiate"] = Code.CUDA_ERROR_OUT_OF_MEMORY
    with pytest.raises(DeviceMemoryError, match="OUT_OF_MEMORY"), device.record():
        pass
    del fake.failing["cuGraphInstantiate"]


def test_memory_is_copied_by_several_threads(monkeypatch):
    monkeypatch.setattr(pinned, "_count_threads", lambda: 3)
    for size in (1, MB, 3 * MB + 7, 5 * MB):
        source, target = make_items(size), np.zeros(size, np.uint8)
        pinned.copy_on_host(target.ctypes.data, source.ctypes.data, size)
        np.testing.assert_array_equal(target, source)
