"""Watched accesses: races of threads and accesses out of bounds, with the line of the source."""

from pathlib import Path

import numpy as np
import pytest

from sumwise.cuda.runtime.device import Program
from sumwise.cuda.runtime.structs import make_header
from tests.cuda.emulator import EmulatedDevice, KernelError
from tests.cuda.emulator.device import ORDERS

SOURCE = Path(__file__).parent / "accesses.cu"
PROGRAM = Program("accesses", (str(SOURCE),), make_header())


@pytest.fixture(params=ORDERS)
def watched(request):
    """Devices of all orders that watch accesses."""
    with EmulatedDevice(order=request.param, seed=3, check_accesses=True) as device:
        yield device


def launch(device, name, *arguments, n_blocks=1, n_threads=64, shared=0):
    device.launch(device.load(PROGRAM)[name], n_blocks, n_threads, arguments, shared)


def find_line(text):
    """Return the number of a line of the source."""
    lines = SOURCE.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


# --- what is right ---


def test_barriers_order_accesses(watched):
    out = watched.allocate(64, np.int64)
    launch(watched, "exchange_after_barrier", out, shared=512)
    assert (out.to_host() == 63 - np.arange(64) + 4).all()
    launch(watched, "exchange_in_warp", out)
    assert (out.to_host() == np.arange(64) ^ 1).all()


def test_threads_may_write_the_same_value(watched):
    out = watched.allocate(1, np.int64)
    launch(watched, "write_same", out)
    assert out.to_host()[0] == 7


def test_neighboring_bytes_are_independent(watched):
    out = watched.allocate(64, np.uint8)
    launch(watched, "write_bytes", out)
    assert (out.to_host() == np.arange(64)).all()


def test_atomics_do_not_race(watched):
    out = watched.zeros(1, np.uint64)
    launch(watched, "count", out, n_blocks=3)
    assert out.to_host()[0] == 3 * 64


def test_private_memory_constants_and_structures(watched):
    triples, out = np.arange(192).reshape(64, 3), watched.allocate(64, np.int64)
    launch(watched, "compute", watched.upload(triples), out)
    assert (out.to_host() == triples[:, 0] + triples[:, 2]).all()


def test_blocks_are_not_compared(watched):
    parts, out = watched.allocate(5, np.uint64), watched.zeros(1, np.uint64)
    launch(watched, "hand_over", parts, watched.zeros(1, np.uint32), out, n_blocks=5)
    assert out.to_host()[0] == 10


def test_arrays_of_other_devices_are_in_bounds(watched):
    with EmulatedDevice(1) as other:
        out = watched.zeros(1, np.int64)
        launch(watched, "read_at", other.upload(np.arange(5)), 4, out)
        assert out.to_host()[0] == 4


# --- races ---


@pytest.mark.parametrize(
    ("name", "writing", "reading"),
    [
        ("read_without_barrier", "own[threadIdx.x] = threadIdx.x;", "own[63 - threadIdx.x];"),
        ("overwrite_too_early", "own[threadIdx.x] = threadIdx.x + round;", "own[63 - threadIdx.x]"),
        ("trust_shuffle", "own[threadIdx.x] = threadIdx.x;", "own[threadIdx.x ^ 1];"),
        ("trust_warp", "own[threadIdx.x] = threadIdx.x;", "own[threadIdx.x ^ 32];"),
    ],
)
def test_races(watched, name, writing, reading):
    with pytest.raises(KernelError, match=f"kernel {name}, .*threads race") as error:
        launch(watched, name, watched.allocate(64, np.int64))
    lines = SOURCE.read_text().splitlines()
    found = [lines[int(part.split(")")[0]) - 1] for part in str(error.value).split(".cu:")[1:]]
    assert sorted([writing in line for line in found]) == [False, True]
    assert sorted([reading in line for line in found]) == [False, True]


def test_different_values_race(watched):
    line = find_line("void write_different")
    with pytest.raises(KernelError, match=rf"writes \(.*:{line}\) what .* writes \(.*:{line}\)"):
        launch(watched, "write_different", watched.allocate(1, np.int64))


def test_plain_reads_race_with_atomics(watched):
    line = find_line("atomicAdd(&n, 1ull);")
    with pytest.raises(KernelError, match=r"threads race.*updates \(.*\.cu:\d+\)") as error:
        launch(watched, "read_while_counting", watched.allocate(64, np.uint64))
    assert f".cu:{line}" not in str(error.value)  # that one is right


# --- bounds ---


@pytest.mark.parametrize("place", [-1, 10, 10**6])
def test_reads_out_of_bounds(watched, place):
    items, out = watched.zeros(10, np.int64), watched.zeros(1, np.int64)
    line = find_line("*out = items[place];")
    with pytest.raises(
        KernelError, match=rf"thread 0 reads \(.*:{line}\) 8 bytes at .* not all in"
    ):
        launch(watched, "read_at", items, place, out)


def test_reads_of_freed_memory(watched):
    items, out = watched.zeros(10, np.int64), watched.zeros(1, np.int64)
    address = items.address
    watched.free(items)
    with pytest.raises(KernelError, match="8 bytes at"):
        launch(watched, "read_at", address, 0, out)


def test_reads_beyond_shared_memory(watched):
    out = watched.zeros(1, np.int64)
    launch(watched, "read_shared_at", 63, out, shared=512)
    with pytest.raises(KernelError, match=r"reads \(.*\) 8 bytes at"):
        launch(watched, "read_shared_at", 64, out, shared=512)


def test_the_environment_decides_if_nothing_else_does(monkeypatch):
    monkeypatch.setenv("SUMWISE_CHECK_ACCESSES", "1")
    with EmulatedDevice() as device, pytest.raises(KernelError, match="threads race"):
        launch(device, "read_without_barrier", device.allocate(64, np.int64))
    with EmulatedDevice(check_accesses=False) as device:
        launch(device, "read_without_barrier", device.allocate(64, np.int64))
