"""What the ranks of tests do: ``mpiexec -n 3 python -m tests.mpi.exchanges NAME``."""

import os
import signal
import sys

import numpy as np
import pytest
from mpi4py import MPI

from sumwise.errors import PeersError
from sumwise.mpi import MpiPeers
from sumwise.mpi import peers as module
from sumwise.peers import Peers, add_up, gather_objects

RANK, SIZE = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
# Some fit into the first message of an exchange, others do not.
LENGTHS = [0, 1, 2, 7, 100, 125, 126, 5000]


def check_exchanges() -> None:
    with MpiPeers() as peers:
        assert (peers.rank, peers.size) == (RANK, SIZE)
        _compare_with_naive(peers)
        _add_views(peers)
        _find_maxima(peers)
        _gather_anything(peers)
        _refuse_what_is_no_number(peers)
        assert add_up(peers, 1, RANK) == [SIZE, sum(range(SIZE))]
    peers.close()
    with pytest.raises(PeersError, match=f"rank {RANK} has left the fit"):
        peers.add(np.arange(3))


def check_pieces() -> None:
    """All of this again where messages are cut."""
    module._MOST_NUMBERS = 100
    check_exchanges()


def check_messages_between() -> None:
    """Messages of others have communicators of their own."""
    comm = MPI.COMM_WORLD
    received = np.empty(1)
    request = comm.Irecv(received, source=(RANK - 1) % SIZE, tag=0)
    with MpiPeers() as peers, MpiPeers(comm) as others:
        if RANK == 0:
            comm.Send(np.array([7.0]), 1 % SIZE)
        assert add_up(peers, 1) == add_up(others, 1) == [SIZE]
        assert comm.allgather(RANK) == list(range(SIZE))
        if RANK > 0:
            comm.Send(np.array([7.0]), (RANK + 1) % SIZE)
        assert add_up(peers, RANK) == [sum(range(SIZE))]
    request.Wait()
    assert received[0] == 7
    # The later of two groups of processes may be smaller.
    part = comm.Split(RANK % 2)
    with MpiPeers(part) as peers:
        assert add_up(peers, 1) == [part.size]
    with pytest.raises(TypeError, match="intracommunicator"):
        MpiPeers("world")


def check_disagreements() -> None:
    """Every disagreement is the same error on all ranks."""
    assert _disagree(lambda peers: peers.add(np.zeros(2 + (RANK == 1), int))) == (
        "ranks 0 and 1 disagree: rank 0 sends a sum of 16 bytes, rank 1 sends a sum of 24 bytes"
    )
    assert _disagree(lambda peers: peers.add(np.zeros(2 + 5000 * (RANK == 1), int))) == (
        "ranks 0 and 1 disagree: rank 0 sends a sum of 16 bytes, rank 1 sends a sum of 40,016 bytes"
    )
    zeros = np.zeros(5000, int)
    assert _disagree(lambda peers: (peers.gather if RANK else peers.add)(zeros)) == (
        "ranks 0 and 1 disagree: rank 0 sends a sum of 40,000 bytes, rank 1 sends gathered arrays"
    )
    assert _disagree(lambda peers: (peers.gather if RANK else peers.largest)(zeros)) == (
        "ranks 0 and 1 disagree: rank 0 sends a maximum, rank 1 sends gathered arrays"
    )
    assert _disagree(lambda peers: peers.largest(zeros[RANK:])) == (
        "ranks 0 and 1 disagree about the values of a maximum: int64 (5000,) and int64 (4999,)"
    )
    assert _disagree(lambda peers: peers.largest(zeros.astype("f8" if RANK else "i8"))) == (
        "ranks 0 and 1 disagree about the values of a maximum: int64 (5000,) and float64 (5000,)"
    )
    assert _disagree(lambda peers: RANK or peers.add(zeros)) == (
        "ranks 0 and 1 disagree: rank 0 sends a sum of 40,000 bytes, rank 1 has ended its fit"
    )

    def count_alone(peers):
        peers.n_exchanges += RANK == 1
        peers.add(zeros)

    assert _disagree(count_alone) == (
        "ranks 0 and 1 disagree: they have come to different results before exchange 0"
    )


def check_errors() -> None:
    """An error of one rank between two exchanges is an error of all; the first rank names it."""

    def fail(peers: Peers) -> None:
        add_up(peers, 1)
        if RANK == SIZE - 1:
            raise MemoryError("é" * 5000)
        peers.add(np.zeros(5000, int))

    with pytest.raises(MemoryError if RANK == SIZE - 1 else PeersError) as error:
        _do_with_peers(fail)
    if RANK < SIZE - 1:
        assert str(error.value).startswith(f"rank {SIZE - 1} has failed: MemoryError: éé")

    def fail_together(peers: Peers) -> None:
        raise ValueError(f"of rank {RANK}")

    with pytest.raises(ValueError, match=f"of rank {RANK}"):
        _do_with_peers(fail_together)
    with pytest.raises(PeersError if RANK else KeyboardInterrupt):
        _do_with_peers(lambda peers: RANK or _interrupt())
    _do_with_peers(lambda peers: add_up(peers, 1))  # a new start is possible


def interrupt_a_message() -> None:
    """An error in the middle of an exchange ends all processes."""

    def parse_form(form):
        raise MemoryError("no room for the array of another rank")

    if RANK == 1:
        module.parse_form = parse_form
    with MpiPeers() as peers:
        peers.gather(np.zeros(3))
        peers.gather(np.zeros(5000))


def kill_a_rank() -> None:
    with MpiPeers() as peers:
        add_up(peers, 1)
        if RANK == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        add_up(peers, 1)


# --- parts of the checks ---


def _compare_with_naive(peers: Peers) -> None:
    random = np.random.default_rng(0)  # the same numbers on all ranks
    for lengths in ([], [3], LENGTHS, [5000], [40, 0, 40]):
        bounds = -(2**63), 2**63 - 1  # sums wrap around
        every = [[random.integers(*bounds, size) for size in lengths] for _ in range(SIZE)]
        own = [array.copy() for array in every[RANK]]
        peers.add(*own)
        for sum_, parts in zip(own, zip(*every, strict=True), strict=True):
            np.testing.assert_array_equal(sum_, np.add.reduce(parts))
    for shape in ((4,), (0,), (), (2, 3), (50, 40)):
        floats = random.normal(size=(SIZE, *shape))
        np.testing.assert_array_equal(peers.largest(floats[RANK]), floats.max(axis=0))
    several = [random.normal(size=(random.integers(0, 400), 2)).astype("f4") for _ in range(SIZE)]
    for array, expected in zip(peers.gather(several[RANK]), several, strict=True):
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array, expected)


def _add_views(peers: Peers) -> None:
    for n in (4, 400):
        table = np.full((n, 6), 1 + RANK)
        peers.add(table[::2, 1::2], table.T[::2])
        total = SIZE * (SIZE + 1) // 2
        assert (table[:, ::2] == total).all()
        assert (table[::2, 1::2] == total).all()
        assert (table[1::2, 1::2] == 1 + RANK).all()


def _find_maxima(peers: Peers) -> None:
    assert peers.largest(np.array([RANK - 5, -RANK])).tolist() == [SIZE - 6, 0]
    assert peers.largest(np.array([RANK == 1])).tolist() == [SIZE > 1]
    zeros = peers.largest(np.array([0.0 if RANK == 0 else -0.0, -0.0]))
    assert np.signbit(zeros).tolist() == [False, True]
    assert peers.largest(np.array([-np.inf])).tolist() == [-np.inf]
    nan = np.full(3, np.nan if RANK == SIZE - 1 else 1.0)
    with pytest.raises(ValueError, match=f"largest values; rank {SIZE - 1} has one"):
        peers.largest(nan)  # and all go on


def _gather_anything(peers: Peers) -> None:
    for n in (2, 3000):
        arrays = [np.arange(n), np.array(["ab", "ä"]), np.zeros((n, 0, 2)), np.float32(RANK)]
        arrays += [np.asfortranarray(np.arange(4.0 * n).reshape(2, -1)), np.ones(n, bool)]
        for k in range(len(arrays)):
            own = np.asarray(arrays[(RANK + k) % len(arrays)])
            found = peers.gather(own)
            assert own is not found[RANK]
            for rank, array in enumerate(found):
                expected = np.asarray(arrays[(rank + k) % len(arrays)])
                if expected.shape == ():
                    expected = np.asarray(np.float32(rank))
                assert array.dtype == expected.dtype
                assert array.flags.aligned
                assert array.flags.writeable
                np.testing.assert_array_equal(array, expected)
    lengths = [size * rank for rank in range(SIZE) for size in (1, 3000)]
    for size in lengths:
        found = peers.gather(np.full(size * RANK, RANK, dtype="u1"))
        assert [array.size for array in found] == [size * rank for rank in range(SIZE)]
        assert all((array == rank).all() for rank, array in enumerate(found))
    objects = gather_objects(peers, {"rank": RANK, "text": "x" * 4000 * RANK})
    assert [own["rank"] for own in objects] == list(range(SIZE))


def _refuse_what_is_no_number(peers: Peers) -> None:
    for array in (np.zeros(2), np.zeros(2, "u8"), np.zeros(2, "i4"), [1, 2]):
        with pytest.raises(TypeError, match="only arrays of int64"):
            peers.add(np.arange(2), array)
    frozen = np.arange(3)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="cannot be written"):
        peers.add(frozen)
    with pytest.raises(TypeError, match="numbers are expected"):
        peers.largest(np.array(["a"]))
    with pytest.raises(TypeError, match="objects"):
        peers.gather(np.array([None]))


def _do_with_peers(work):
    with MpiPeers() as peers:
        return work(peers)


def _disagree(work) -> str:
    """Return the error that all ranks raise."""
    with pytest.raises(PeersError) as error:
        _do_with_peers(work)
    every = MPI.COMM_WORLD.allgather(str(error.value))
    assert len(set(every)) == 1, every
    return every[0]


def _interrupt() -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    for name in sys.argv[1:]:
        globals()[name]()
    if RANK == 0:
        sys.stdout.write("done\n")
