"""One library in a process of its own: the time to a first model, and peak memory.

The caller leaves `X.npy` and `y.npy` in a folder and starts this module:
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
def saved_arrays(X: NDArray[np.float32], y: NDArray[Any]) -> Iterator[Path]:
    """A temporary folder that holds the data for the processes to read."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "X.npy", X)
        np.save(folder / "y.npy", y)
        yield folder


def time_first_fit(model: Model, settings: Settings, data: Path, cache: Path) -> float:
    """Seconds from the start of the interpreter to its end, one fit between."""
    start = time.perf_counter()
    run("first-fit", model, settings, data, {"SUMWISE_CACHE_DIR": str(cache)})
    return time.perf_counter() - start


def measure_peak_memory(model: Model, settings: Settings, data: Path) -> float:
    """Bytes that a fit takes at its peak, above imports and input."""
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
    """Peak of the resident memory during a fit, less that before it, in bytes.

    A small fit comes first, to load code and start threads; then the peak so far is
    forgotten. `ru_maxrss` cannot serve: a child inherits that of a large parent.
    """
    few_trees = replace(settings, n_trees=WARM_UP_TREES)
    X = np.load(data / "X.npy", mmap_mode="r")[:WARM_UP_ROWS]
    y = np.load(data / "y.npy", mmap_mode="r")[:WARM_UP_ROWS]
    build(model, few_trees).fit(np.array(X), np.array(y))

    X, y = np.load(data / "X.npy"), np.load(data / "y.npy")
    Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM to VmRSS
    before = read_memory("VmRSS")
    build(model, settings).fit(X, y)
    return read_memory("VmHWM") - before


def read_memory(entry: str) -> int:
    """Bytes of an entry of Linux's `/proc/self/status`, which counts in KiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == entry:
            return 1024 * int(value.split()[0])
    raise KeyError(entry)


def main(action: str, folder: str, specification: str) -> None:
    """What the fresh process does."""
    parts = json.loads(specification)
    model, settings = Model(**parts["model"]), Settings(**parts["settings"])
    data = Path(folder)
    if action == "memory":
        print(fit_and_weigh(model, settings, data))
    else:
        build(model, settings).fit(np.load(data / "X.npy"), np.load(data / "y.npy"))


if __name__ == "__main__":
    main(*sys.argv[1:])
