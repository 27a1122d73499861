"""Processes of mpiexec; what each of them does is in ``mpi_ranks``."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MPIEXEC = Path(sys.executable).with_name("mpiexec")


class Ended:
    """What the processes of a run have said, and how they have ended."""

    def __init__(self, code: int, output: str) -> None:
        self.code, self.output = code, output


def run_ranks(n: int, *checks: str, timeout: float = 120) -> Ended:
    """Run some functions of ``mpi_ranks`` by ``n`` processes."""
    command = [MPIEXEC, "--allow-run-as-root", "--oversubscribe", "-n", str(n)]
    program = [sys.executable, "-m", "tests.mpi_ranks", *checks]
    return run([*command, *program], timeout)


def run(command, timeout):
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)  # mpiexec ends the ranks
        try:
            output, _ = process.communicate(timeout=20)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        pytest.fail(f"the ranks hang:\n{output}")
    return Ended(process.returncode, output)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_exchanges(n):
    checks = ["check_exchanges", "check_pieces", "check_messages_between"]
    ended = run_ranks(n, *checks)
    assert (ended.code, ended.output) == (0, "done\n")


def test_errors_and_disagreements_are_those_of_all():
    ended = run_ranks(3, "check_errors", "check_disagreements")
    assert (ended.code, ended.output) == (0, "done\n")


def test_an_error_in_the_middle_of_an_exchange_ends_all():
    ended = run_ranks(3, "interrupt_a_message")
    assert ended.code != 0
    assert "rank 1 was interrupted while it exchanged numbers" in ended.output
    assert "MemoryError: no room for the array of another rank" in ended.output


def test_a_rank_that_is_killed_ends_all():
    ended = run_ranks(3, "kill_a_rank")
    assert ended.code != 0
    assert "rank 1" in ended.output
