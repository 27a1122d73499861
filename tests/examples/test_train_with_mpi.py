"""The rank program of the examples, alone and by mpiexec."""

import subprocess
import sys

import sumwise
from tests.mpi.runs import ROOT, needs_mpi, run_ranks

PROGRAM = "examples/train_with_mpi.py"


@needs_mpi
def test_any_number_of_processes_trains_the_same_model(tmp_path):
    path = tmp_path / "model.sumwise"
    options = ["--rows", "2400"]
    alone = subprocess.run(
        [sys.executable, PROGRAM, *options],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=180,
    ).stdout.splitlines()
    assert alone[0] == "1 process(es), the first with 2,400 rows"
    ended = run_ranks(3, "-m", "mpi4py", PROGRAM, *options, "--out", str(path))
    assert ended.code == 0, ended.output
    together = ended.output.splitlines()
    assert together[0] == "3 process(es), the first with 800 rows"
    assert together[1:] == alone[1:]
    assert sumwise.load(path).classes_.tolist() == ["no", "yes"]
