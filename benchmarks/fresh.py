"""One library in its own process: the time to a first model, and peak memory.

The caller saves X and y in a folder and starts this module:
`python -m benchmarks.fresh first-fit|memory FOLDER SPECIFICATION`.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rivals import Model, Settings, build

REPOSITORY = Path(__file__).parents[1]
WARM_UP_ROWS = 1_000
WARM_UP_TREES = 2


@contextmanager
def saved_arrays(X: Any, y: NDArray[Any]) -> Iterator[Path]:
    """Save the data in a temporary folder, for other processes to read."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if isinstance(X, np.ndarray):
            np.save(folder / "X.npy", X)
        else:
            from scipy.sparse import save_npz

            save_npz(folder / "X.npz", X, compressed=False)
        np.save(folder / "y.npy", y)
        yield folder


def load_arrays(folder: Path, n_rows: int | None = None) -> tuple[Any, NDArray[Any]]:
    """Load the first rows of saved data, None for all."""
    if (folder / "X.npz").exists():
        from scipy.sparse import load_npz  # not above: it would count in the time of a first fit

        X = load_npz(folder / "X.npz")[:n_rows]
    else:
        X = np.array(np.load(folder / "X.npy", mmap_mode="r")[:n_rows])
    return X, np.load(folder / "y.npy")[:n_rows]


def time_first_fit(model: Model, settings: Settings, data: Path, cache: Path) -> float:
    """Return the seconds of a process that starts the interpreter, fits once and ends."""
    start = time.perf_counter()
    run("first-fit", model, settings, data, {"SUMWISE_CACHE_DIR": str(cache)})
    return time.perf_counter() - start


def measure_peak_memory(model: Model, settings: Settings, data: Path) -> float:
    """Return the peak memory of a fit in bytes, without imports and input."""
    return float(run("memory", model, settings, data, {}))


def run(
    action: str,
    model: Model,
    settings: Settings,
    data: Path,
    environment: Mapping[str, str],
) -> str:
    """Start this module and return what it prints."""
    specification = json.dumps({"model": asdict(model), "settings": asdict(settings)})
    command = [sys.executable, "-m", "benchmarks.fresh", action, str(data)]
    return subprocess.run(
        [*command, specification],
        cwd=REPOSITORY,
        env={**os.environ, **environment},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


def fit_and_weigh(model: Model, settings: Settings, data: Path) -> int:
    """Return the peak memory of a fit in bytes; a small fit first loads code and starts threads."""
    few_trees = replace(settings, n_trees=WARM_UP_TREES)
    build(model, few_trees).fit(*load_arrays(data, WARM_UP_ROWS))
    estimator, (X, y) = build(model, settings), load_arrays(data)
    # The peak ru_maxrss would be wrong: a child process inherits that of its parent.
    Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM to VmRSS
    before = read_memory("VmRSS")
    estimator.fit(X, y)
    return read_memory("VmHWM") - before


def read_memory(entry: str) -> int:
    """Return an entry of Linux's `/proc/self/status` in bytes; the file counts KiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == entry:
            return 1024 * int(value.split()[0])
    raise KeyError(entry)


def main(action: str, folder: str, specification: str) -> None:
    """Run in the fresh process."""
    parts = json.loads(specification)
    model, settings = Model(**parts["model"]), Settings(**parts["settings"])
    data = Path(folder)
    if action == "memory":
        print(fit_and_weigh(model, settings, data))
    else:
        build(model, settings).fit(*load_arrays(data))


if __name__ == "__main__":
    main(*sys.argv[1:])
