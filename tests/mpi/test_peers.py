"""Peers that mpiexec starts; what each of them does is in ``exchanges``."""

import sys

import pytest

from sumwise.mpi.peers import import_mpi
from tests.mpi.runs import needs_mpi, run_checks, run_ranks


@needs_mpi
@pytest.mark.parametrize("n", [1, 2, 3])
def test_sums_maxima_and_arrays_are_those_of_all(n):
    checks = ["check_exchanges", "check_pieces", "check_messages_between"]
    assert run_checks(n, "exchanges", *checks).succeeded()


@needs_mpi
def test_errors_and_disagreements_are_those_of_all():
    assert run_checks(3, "exchanges", "check_errors", "check_disagreements").succeeded()


@needs_mpi
def test_an_error_in_the_middle_of_an_exchange_ends_all():
    ended = run_ranks(3, "-m", "tests.mpi.exchanges", "interrupt_a_message")
    assert ended.code != 0
    assert "rank 1 was interrupted while it exchanged numbers" in ended.output
    assert "MemoryError: no room for the array of another rank" in ended.output


@needs_mpi
def test_a_rank_that_is_killed_ends_all():
    ended = run_ranks(3, "-m", "tests.mpi.exchanges", "kill_a_rank")
    assert ended.code != 0
    assert "rank 1" in ended.output
    assert "signal 9" in ended.output


def test_without_mpi4py_an_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(ImportError, match=r"pip install 'sumwise\[mpi\]'"):
        import_mpi()


def test_without_a_library_an_error_says_what_to_install(monkeypatch):
    class Package:
        @property
        def MPI(self):  # noqa: N802
            raise RuntimeError("cannot load MPI library")

    monkeypatch.setitem(sys.modules, "mpi4py", Package())
    with pytest.raises(ImportError, match=r"no MPI library \(cannot load MPI library\)"):
        import_mpi()
