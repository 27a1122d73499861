"""Small fits under compute-sanitizer: bad accesses, races, uninitialized reads, wrong barriers."""

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from benchmarks.on_gpu.outcome import Outcome
from benchmarks.on_gpu.settings import SETTINGS, fit
from benchmarks.on_gpu.tables import make_table
from benchmarks.report import Table, format_seconds

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
# Together they launch nearly all kernels. The tools are slow: rows and rounds are few.
NAMES = (
    "leaf-binomial-events-subsample-free",
    "regularized-depth",
    "seven-symmetric",
    "categories-leaf",
    "stop-refitted",
    "dart",
    "columns-by_node",
)
_N_ROWS, _N_ROUNDS = 600, 2
_SECONDS = 400
# "ERROR SUMMARY: 0 errors", "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"
_SUMMARY = re.compile(r"SUMMARY: (\d+) (?:error|hazard)s?")


def fit_small(names: Sequence[str] = NAMES, device: str = "cuda") -> None:
    """Fit and predict each setting once: the program that the tools watch."""
    for name in names:
        model = fit(SETTINGS[name], _N_ROWS, _N_ROUNDS, device)
        model.predict(make_table(SETTINGS[name].table, _N_ROWS)[0])


def find_sanitizer() -> str | None:
    """Return the program, on the path or beside CUDA."""
    return shutil.which("compute-sanitizer") or next(
        (str(path) for path in Path("/usr/local").glob("cuda*/bin/compute-sanitizer")), None
    )


def count_errors(output: str) -> int | None:
    """Return the errors and hazards that a tool reports; None if it reports nothing."""
    found = _SUMMARY.findall(output)
    return sum(map(int, found)) if found else None


def watch(program: str, tool: str, names: Sequence[str]) -> tuple[int | None, str]:
    """Return the errors that a tool finds, and the end of its output."""
    fits = [sys.executable, "-m", "benchmarks.gpu", "fit", "--only", *names]
    options = ["--tool", tool, "--target-processes", "all", "--print-limit", "5"]
    if tool == "memcheck":
        # Answers of the driver are checked by sumwise; one that ends a search is no error.
        options += ["--report-api-errors", "no"]
    try:
        done = subprocess.run(
            [program, *options, *fits], capture_output=True, text=True, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        return None, f"stopped after {_SECONDS} s"
    output = done.stdout + done.stderr
    if done.returncode and count_errors(output) == 0:
        return None, output[-2000:]
    return count_errors(output), output[-2000:]


def run(names: Sequence[str] = NAMES, tools: Sequence[str] = TOOLS) -> Outcome:
    """Run the fits under every tool."""
    program = find_sanitizer()
    if program is None:
        return Outcome([], {}, ["compute-sanitizer is not installed: it comes with CUDA"])
    fit_small(names)  # compiles kernels: the tools need not watch the compilers
    lines, problems, content = [], [], {}
    for tool in tools:
        start = perf_counter()
        n_errors, output = watch(program, tool, names)
        spent = perf_counter() - start
        lines.append((tool, "?" if n_errors is None else str(n_errors), format_seconds(spent)))
        content[tool] = {"errors": n_errors, "seconds": spent}
        if n_errors != 0:
            problems.append(f"{tool}: {n_errors} errors\n{output}")
    title = f"compute-sanitizer, {len(names)} fits of {_N_ROWS} rows"
    return Outcome([Table(title, ("tool", "errors", "time"), lines)], content, problems)
