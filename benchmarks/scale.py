"""Data larger than memory: training from Parquet out of core, in memory, and beside XGBoost.

`python -m benchmarks.scale` writes simulated collisions (28 features) to Parquet files and trains
on them, each model in its own process; see `--help`. Times are from the files to the model. The fit
in memory runs first; out of core, the models may use a quarter of its peak (`--share`). With
`--enforce`, the system refuses them more: RLIMIT_DATA, which counts private memory and no mapped
files. The page cache is warm, because the files have just been read.

Compare `--growth leaf` and `depth`: level by level, XGBoost needs fewer passes over its pages. On a
machine with other load, wall times mislead, and those of XGBoost most, as its threads wait by
spinning; the CPU times beside them show it.

Two peaks are shown: resident memory (RSS), to which mapped files add as long as memory is free, and
private memory (anonymous), which the system cannot take back.
"""

import hashlib
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.datasets import make_higgs_like
from benchmarks.fresh import REPOSITORY, read_memory
from benchmarks.measure import alternate
from benchmarks.report import Table, format_aligned, format_bytes, format_seconds
from benchmarks.rivals import SUMWISE, XGBOOST, Settings, build, map_settings
from benchmarks.side_by_side import make_tree_parser, print_heading

IN_MEMORY, OUT_OF_CORE, EXTERNAL = "sumwise in memory", "sumwise out of core", "XGBoost external"
# Times: out of core to in memory, and to XGBoost's external memory.
GOALS = (2.0, 0.6)
TARGET = "label"
N_FEATURES = 28
ROWS_PER_FILE = 500_000
BATCH_ROWS = 1 << 16
# Code, threads and buffers that a process needs besides, when the limit is enforced.
MARGIN = 64_000_000


def write_files(folder: Path, n_rows: int) -> None:
    """Write rows to several Parquet files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for number, first in enumerate(range(0, n_rows, ROWS_PER_FILE)):
        X, y = make_higgs_like(min(ROWS_PER_FILE, n_rows - first), seed=number)
        columns = {f"f{k:02}": X[:, k] for k in range(X.shape[1])}
        path = folder / f"part-{number:03}.parquet"
        pq.write_table(pa.table({**columns, TARGET: y}), path, row_group_size=BATCH_ROWS)


def list_files(folder: Path) -> list[Path]:
    """Return the files in the order of their rows."""
    return sorted(folder.glob("*.parquet"))


# --- in the process of a model ---


def fit_in_memory(folder: Path, settings: Settings, limit: int) -> Any:
    """Read all rows into an array of float32 and train on them."""
    import numpy as np
    import pyarrow.parquet as pq

    table = pq.read_table(folder)
    y = table[TARGET].to_numpy()
    table = table.drop_columns([TARGET])
    X = np.empty(table.shape, dtype=np.float32, order="F")
    for k, column in enumerate(table.columns):
        X[:, k] = column.to_numpy()
    names = table.column_names
    del table
    model = build(SUMWISE, settings).fit(X, y)
    model.feature_names_in_ = np.array(names, dtype=object)
    return model


def fit_out_of_core(folder: Path, settings: Settings, limit: int) -> Any:
    """Train on the folder within a limit of memory."""
    with tempfile.TemporaryDirectory() as cache:
        options = {"memory_limit": limit, "cache_dir": cache}
        return build(SUMWISE, settings).fit(folder, TARGET, **options)


def fit_external(folder: Path, settings: Settings, limit: int) -> Any:
    """Train XGBoost on batches that it keeps on disk."""
    import pyarrow.parquet as pq
    import xgboost

    class Batches(xgboost.DataIter):
        def __init__(self, cache: str) -> None:
            self._batches: Iterator[Any] = iter(())
            self.reset()
            super().__init__(cache_prefix=os.path.join(cache, "pages"), on_host=False)

        def next(self, input_data: Any) -> bool:
            batch = next(self._batches, None)
            if batch is None:
                return False
            frame = batch.to_pandas()
            input_data(data=frame.drop(columns=[TARGET]), label=frame[TARGET])
            return True

        def reset(self) -> None:
            files = map(pq.ParquetFile, list_files(folder))
            self._batches = (batch for file in files for batch in file.iter_batches(n_rows))

    # Large batches, as its documentation advises, but within the limit: three copies of a batch.
    n_rows = max(BATCH_ROWS, min(ROWS_PER_FILE, limit // (8 * 3 * 4 * N_FEATURES)))
    parameters = dict(map_settings(XGBOOST, settings))
    n_rounds = parameters.pop("n_estimators")
    parameters["nthread"] = parameters.pop("n_jobs", settings.n_jobs)
    parameters["objective"] = "binary:logistic"
    max_bins = int(parameters.get("max_bin", 256))
    with tempfile.TemporaryDirectory() as cache:
        data = xgboost.ExtMemQuantileDMatrix(
            Batches(cache), max_bin=max_bins, nthread=settings.n_jobs
        )
        return xgboost.train(parameters, data, num_boost_round=n_rounds)


FITS = {IN_MEMORY: fit_in_memory, OUT_OF_CORE: fit_out_of_core, EXTERNAL: fit_external}


def fit_and_weigh(name: str, folder: Path, settings: Settings, limit: int, enforce: bool) -> Any:
    """Return seconds, both peaks of memory in bytes, and a digest of the model."""
    warm_up(name, settings)
    before, before_private = read_memory("VmRSS"), read_memory("RssAnon")
    if enforce and name != IN_MEMORY:
        import resource

        most = read_memory("VmData") + limit + MARGIN
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM to VmRSS
    with watch("RssAnon") as peak:
        start, start_cpu = time.perf_counter(), time.process_time()
        model = FITS[name](folder, settings, limit)
        seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    return {
        "seconds": seconds,
        "cpu": cpu,
        "resident": read_memory("VmHWM") - before,
        "private": max(peak) - before_private,
        "digest": digest(model),
    }


def warm_up(name: str, settings: Settings) -> None:
    """Load code, compile kernels and start threads on a few rows."""
    few = replace(settings, n_trees=2)
    with tempfile.TemporaryDirectory() as small:
        write_files(Path(small), 20_000)
        FITS[name](Path(small), few, 12_000_000)


@contextmanager
def watch(entry: str) -> Iterator[list[int]]:
    """Yield a list that gets the memory of this process, again and again."""
    seen, done = [read_memory(entry)], threading.Event()

    def look() -> None:
        while not done.wait(0.02):
            seen[0] = max(seen[0], read_memory(entry))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        done.set()
        thread.join()


def digest(model: Any) -> str:
    """Return a short hash of our models; XGBoost's are not compared."""
    if not hasattr(model, "save"):
        return ""
    file = io.BytesIO()
    model.save(file)
    return hashlib.sha256(file.getvalue()).hexdigest()[:12]


# --- in the process of the benchmark ---


def measure(name: str, folder: Path, settings: Settings, limit: int, enforce: bool) -> Any:
    """Train a model in a new process; None if it fails, for example for lack of memory."""
    what = json.dumps([name, str(folder), asdict(settings), limit, enforce])
    command = [sys.executable, "-m", "benchmarks.scale", "--fit", what]
    # Arrow's own allocators reserve memory in advance, which an enforced limit would not count.
    environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}
    options = {"cwd": REPOSITORY, "env": environment, "capture_output": True, "text": True}
    done = subprocess.run(command, check=False, **options)
    if done.returncode:
        print(f"{name} failed: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def compare(
    folder: Path,
    n_rows: int,
    settings: Settings,
    share: float,
    enforce: bool,
    n_repeats: int,
    models: Sequence[str] = tuple(FITS),
) -> Table:
    """Return a table of times, peaks and ratios."""
    first = measure(IN_MEMORY, folder, settings, 0, False)
    limit = int(share * first["resident"])
    found: dict[str, list[Any]] = {name: [] for name in models}

    def run(name: str) -> float:
        found[name].append(measure(name, folder, settings, limit, enforce))
        return 0.0

    alternate(run, list(models), n_repeats)
    known = {name: [one for one in own if one] for name, own in found.items()}
    seconds = {
        name: statistics.median(one["seconds"] for one in own) for name, own in known.items() if own
    }
    rows = []
    for name, own in known.items():
        if not own:
            rows.append([name, "failed", "", "", "", "", "", ""])
            continue
        peaks = [max(one[kind] for one in own) for kind in ("resident", "private")]
        ratios = [
            f"{seconds[name] / seconds[other]:.2f}" if other in seconds else ""
            for other in (IN_MEMORY, EXTERNAL)
        ]
        cpu = format_seconds(statistics.median(one["cpu"] for one in own))
        cells = [format_seconds(seconds[name]), *ratios, cpu, *map(format_bytes, peaks)]
        rows.append([name, *cells, own[0]["digest"]])
    title = f"{n_rows:,} x 28, limit {format_bytes(limit)}{', enforced' if enforce else ''}"
    heads = ["", "time", "to in memory", "to XGBoost", "CPU", "peak RSS", "peak private", "model"]
    return Table(title, heads, rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare the models, or (``--fit``) train one of them in this process."""
    parser = make_tree_parser("scale", __doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--share", type=float, default=0.25)
    parser.add_argument("--growth", choices=("leaf", "depth"), default="leaf")
    parser.add_argument("--models", nargs="+", choices=tuple(FITS), default=tuple(FITS))
    parser.add_argument("--enforce", action="store_true")
    parser.add_argument("--fit", help="for the processes that this one starts")
    parsed = parser.parse_args(arguments)
    if parsed.fit:
        name, folder, chosen, limit, enforce = json.loads(parsed.fit)
        print(json.dumps(fit_and_weigh(name, Path(folder), Settings(**chosen), limit, enforce)))
        return
    settings = Settings(n_trees=parsed.trees, n_jobs=parsed.jobs, growth=parsed.growth)
    shape = "of 31 leaves" if parsed.growth == "leaf" else "of depth 6"
    print_heading(
        f"{parsed.trees} trees {shape}; goals: {GOALS[0]} times the time in memory, "
        f"{GOALS[1]} of XGBoost's"
    )
    with tempfile.TemporaryDirectory() as name:
        write_files(Path(name), parsed.rows)
        own = (settings, parsed.share, parsed.enforce, parsed.repeat, parsed.models)
        print(f"\n{format_aligned(compare(Path(name), parsed.rows, *own))}", flush=True)


if __name__ == "__main__":
    main()
