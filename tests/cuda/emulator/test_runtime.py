"""How kernels are executed: barriers, warps, atomics, orders, and the bugs that are noticed."""

import numpy as np
import pytest

from tests.cuda.emulator import EmulatedDevice, KernelError
from tests.cuda.emulator.device import ORDERS
from tests.cuda.emulator.memory import POISON
from tests.cuda.emulator.test_device import PROGRAM

POISONED = int.from_bytes([POISON] * 8, "little", signed=True)


@pytest.fixture(params=ORDERS)
def each_order(request):
    """Devices of all orders."""
    with EmulatedDevice(order=request.param, seed=7) as device:
        yield device


def launch(device, name, n_blocks, n_threads, *arguments, shared=0):
    device.launch(device.load(PROGRAM)[name], n_blocks, n_threads, arguments, shared)


def run(device, name, n_threads=64, *arguments, n_out=64, n_blocks=1, shared=0):
    """Launch a kernel whose last argument is an output, and return that."""
    out = device.zeros(n_out, np.int64)
    launch(device, name, n_blocks, n_threads, *arguments, out, shared=shared)
    return out.to_host().tolist()


# --- what is right ---


def test_every_thread_of_every_block_runs_once(each_order):
    out = each_order.zeros((3, 5, 64), np.int64)
    launch(each_order, "where", (5, 3), 64, out)
    y, x, thread = np.indices((3, 5, 64))
    assert (out.to_host() == 1000 * y + 100 * x + thread).all()


def test_dynamic_shared_memory(each_order):
    items = np.random.default_rng(0).integers(0, 100, (4, 256))
    out = each_order.allocate((4, 256), np.int64)
    launch(each_order, "reverse", 4, 256, each_order.upload(items), out, shared=2048)
    assert (out.to_host() == items[:, ::-1]).all()


@pytest.mark.parametrize("n_threads", [32, 96, 1024])
def test_sums_by_shuffles_and_atomics(each_order, n_threads):
    items = np.random.default_rng(0).integers(-100, 100, 3000)
    total = each_order.zeros(1, np.int64)
    launch(each_order, "sum", 3, n_threads, each_order.upload(items), 3000, total)
    assert total.to_host()[0] == items.sum()


def test_rounds_of_barriers(each_order):
    items = np.random.default_rng(0).integers(0, 100, 1024)
    array = each_order.upload(items)
    launch(each_order, "scan", 1, 1024, array)
    assert (array.to_host() == items.cumsum()).all()


@pytest.mark.parametrize("width", [32, 8])
def test_shuffles(each_order, width):
    found = np.array(run(each_order, "shuffle", 32, width, n_out=6 * 32)).reshape(6, 32)
    lane = np.arange(32)
    first = lane // width * width
    assert (found[0] == 100 + first + 3).all()
    assert (found[1] == 100 + np.where(lane - 2 < first, lane, lane - 2)).all()
    assert (found[2] == 100 + np.where(lane + 2 >= first + width, lane, lane + 2)).all()
    assert (found[3] == 100 + (lane ^ 5)).all()
    assert (found[4] == (31 - lane) // 2).all()
    assert (found[5] == (lane + 1) % 32).all()


def test_votes(each_order):
    expected = [0xAAAAAAAA, 0, 1, 0xFF00, 40, 1, 1]
    assert run(each_order, "vote", 64)[:7] == expected


def test_atomics(each_order):
    device = each_order
    longs = device.upload(np.array([1, 2, 99, 0, -1, 0], np.int64))
    signs = device.upload(np.array([-50, 0]))
    words = device.upload(np.array([0, 128, 0, 0, 5], np.uint32))
    launch(device, "atomics", 1, 64, longs, signs, words)
    assert longs.to_host().tolist() == [1 + sum(range(64)), 63, 5, -1, 0, 0]
    assert signs.to_host().tolist() == [-1, -63]
    assert words.to_host().tolist() == [64, 0, 4, 7, 6]


def test_intrinsics(device):
    expected = [8, 64, 4, 41, 31, 64, 1 << 31, 3, -4, 4]
    expected += [-(1 << 63), 2, 4, (1 << 31) - 1, 9, -1, 1, 5, 4, 0x77441100]
    assert run(device, "intrinsics", 32)[:20] == expected


def test_vectors(device):
    items = np.arange(128, dtype=np.uint32)
    pairs, halves = device.allocate((32, 2), np.uint64), device.allocate((32, 2), np.float64)
    launch(device, "vectors", 1, 32, device.upload(items), pairs, halves)
    four = items.reshape(32, 4)
    assert (pairs.to_host() == four.reshape(32, 2, 2).sum(2)).all()
    assert (halves.to_host() == four[:, [0, 3]] * 0.5).all()


# --- orders ---


def test_blocks_run_in_the_order_asked_for():
    last = {}
    for order in ORDERS:
        with EmulatedDevice(order=order, seed=1) as device:
            last[order] = run(device, "write_last", 32, n_out=1, n_blocks=101)[0]
    assert (last["forward"], last["reversed"]) == (100, 0)
    assert 0 < last["shuffled"] < 100


def test_a_missing_barrier_shows():
    found = {}
    for order in ORDERS:
        with EmulatedDevice(order=order) as device:
            found[order] = run(device, "race", 64)
    n_poisoned = [found[order].count(POISONED) for order in ORDERS]
    assert all(0 < n < 64 for n in n_poisoned)
    assert found["shuffled"] not in (found["forward"], found["reversed"])


def test_seeds_decide_the_shuffled_order():
    def draw(seed):
        with EmulatedDevice(order="shuffled", seed=seed) as device:
            return [run(device, "race", 64) for _ in range(2)]

    assert draw(1) == draw(1) != draw(2)
    assert draw(1)[0] != draw(1)[1]


# --- bugs ---


def test_shared_memory_is_poisoned_before_each_block(device):
    out = run(device, "read_uninitialized", 64, n_out=128, n_blocks=3, shared=512)
    assert set(out) == {POISONED}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("return_early", r"thread 0 waits at __syncthreads \(.*\), but thread 40 has returned"),
        ("meet_elsewhere", "thread 0 waits at __syncthreads .* but thread 32 waits at __sync"),
        ("leave_warp", "waits at __shfl_sync .* but thread 7 waits at __syncthreads"),
        ("mask_half", "passes the mask 0xffff to __shfl_sync"),
        ("index_beyond", "the index is out of the bounds of the array"),
        ("fill_stack", "needs more than 131072 bytes of stack"),
        ("trap", "thread 5: __trap"),
    ],
)
def test_bugs_in_kernels(each_order, name, message):
    with pytest.raises(KernelError, match=rf"kernel {name}, block \(0, 0\): .*{message}"):
        run(each_order, name)
    assert run(each_order, "vote")[4] == 40  # the next launch is not disturbed


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("shift_too_far", 64, "shifted by too many bits"),
        ("cast", 1e30, "the integer type does not have this value"),
        ("divide", 0, "divided by zero"),
    ],
)
def test_what_a_gpu_computes_differently(device, name, value, message):
    with pytest.raises(KernelError, match=message):
        run(device, name, 32, value)


def test_misaligned_addresses(device):
    with pytest.raises(KernelError, match="the address is not aligned"):
        run(device, "read_misaligned", 32, device.zeros(16, np.uint8))


def test_memory_that_is_not_there(device):
    with pytest.raises(KernelError, match=r"thread 0 touches memory at .*, which is not there"):
        launch(device, "write_at", 1, 32, device.zeros(1, np.int64), 1 << 44)
    with pytest.raises(KernelError, match=r"not there|null"):
        launch(device, "write_at", 1, 32, 0, 0)


def test_writes_beyond_dynamic_shared_memory(device):
    assert run(device, "write_shared", 64, shared=512)[0] == 1
    with pytest.raises(KernelError, match="byte 504 of the dynamic shared memory was written"):
        run(device, "write_shared", 64, shared=504)
