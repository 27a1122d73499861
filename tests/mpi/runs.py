"""Runs of ``mpiexec`` on this machine, each under a time-out."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MPIEXEC = Path(sys.executable).with_name("mpiexec")

needs_mpi = pytest.mark.skipif(
    sys.platform != "linux", reason="there is no wheel of Open MPI for this system"
)


@dataclass
class Ended:
    """What the processes of a run have said, and how they have ended."""

    code: int
    output: str

    def succeeded(self) -> bool:
        assert (self.code, self.output) == (0, "done\n"), f"exit code {self.code}\n{self.output}"
        return True


def run_checks(n: int, module: str, *names: str, timeout: float = 180) -> Ended:
    """Run functions of a module by ``n`` processes; one that fails ends them all."""
    return run_ranks(n, "-m", "mpi4py", "-m", f"tests.mpi.{module}", *names, timeout=timeout)


def run_ranks(n: int, *arguments: str, timeout: float = 180) -> Ended:
    """Run Python in ``n`` processes that share the CPUs of this one."""
    start = [MPIEXEC, "--allow-run-as-root", "--oversubscribe", "-n", str(n)]
    process = subprocess.Popen(
        [*start, sys.executable, *arguments],
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
        process.terminate()  # mpiexec then ends the ranks
        try:
            output, _ = process.communicate(timeout=20)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        pytest.fail(f"the ranks hang:\n{output}")
    return Ended(process.returncode, output)
