"""Gradient boosting on a Dask cluster, side by side with dask-LightGBM and dask-XGBoost.

`python -m benchmarks.cluster` starts clusters of worker processes on this machine, each with one
thread, and trains all libraries in turn on the same Dask arrays, which lie in the memory of the
workers already. Beside the times it shows:

- the test AUC, and its difference between numbers of workers,
- bytes sent: what went through the loopback interface during the fit, all protocols together,
- the growth of the memory (RSS) of all workers, summed, at its peak,
- a digest of the model for each number of workers: equal digests are equal models.

Several workers on one machine share its cores: with more workers than cores, times say little.
"""

import gc
import hashlib
import io
import os
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.datasets import make_higgs_like
from benchmarks.measure import alternate
from benchmarks.report import Table, format_aligned, format_bytes, format_seconds
from benchmarks.rivals import LIGHTGBM, SUMWISE, XGBOOST, Settings, map_settings
from benchmarks.side_by_side import make_tree_parser, print_heading

# Our time to that of the faster rival, two workers of one thread.
GOAL = 0.6
N_FEATURES = 28
TEST_ROWS = 100_000
PARTITIONS = 8
NAMES = {SUMWISE.name: SUMWISE, LIGHTGBM.name: LIGHTGBM, XGBOOST.name: XGBOOST}


class Fit(NamedTuple):
    """What one fit took, and its model."""

    seconds: float
    sent: int
    memory: int
    auc: float
    digest: str


def build(name: str, settings: Settings, client: Any) -> Any:
    """Return an unfitted estimator of a library's Dask module."""
    parameters = map_settings(NAMES[name], settings)
    if name == SUMWISE.name:
        from sumwise.dask import GradientBoostingClassifier

        return GradientBoostingClassifier(client=client, **parameters)
    if name == LIGHTGBM.name:
        from lightgbm.dask import DaskLGBMClassifier

        return DaskLGBMClassifier(client=client, **parameters)
    from xgboost.dask import DaskXGBClassifier

    parameters.pop("enable_categorical")
    model = DaskXGBClassifier(**parameters)
    model.client = client
    return model


def digest(name: str, model: Any) -> str:
    """Return a short hash of the trees of a model."""
    if name == SUMWISE.name:
        file = io.BytesIO()
        model.to_local().save(file)
        content = file.getvalue()
    elif name == LIGHTGBM.name:
        content = model.booster_.model_to_string().partition("parameters:")[0].encode()
    else:
        content = bytes(model.get_booster().save_raw("ubj"))
    return hashlib.sha256(content).hexdigest()[:8]


def predict(name: str, model: Any, X: np.ndarray) -> np.ndarray:
    """Return the probabilities of the second class."""
    if name == XGBOOST.name:
        import xgboost

        return model.get_booster().predict(xgboost.DMatrix(X))
    return model.to_local().predict_proba(X)[:, 1]


def count_loopback() -> int:
    """Return the bytes that the loopback interface has sent so far."""
    for line in Path("/proc/net/dev").read_text().splitlines():
        name, _, counters = line.partition(":")
        if name.strip() == "lo":
            return int(counters.split()[8])
    return 0


@contextmanager
def watch_memory(pids: Sequence[int]) -> Iterator[list[int]]:
    """Yield a list that gets the growth of the resident memory of some processes."""
    import psutil

    processes = [psutil.Process(pid) for pid in pids]

    def read() -> int:
        return sum(process.memory_info().rss for process in processes)

    before, peak, done = read(), [0], threading.Event()

    def look() -> None:
        while not done.wait(0.02):
            peak[0] = max(peak[0], read() - before)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()


@contextmanager
def open_cluster(n_workers: int) -> Iterator[Any]:
    """Yield the client of a cluster of processes, each with one thread."""
    import dask
    from distributed import Client, LocalCluster

    options = {"processes": True, "threads_per_worker": 1, "dashboard_address": None}
    dask.config.set({"distributed.admin.tick.limit": "1 h"})  # no warnings about busy loops
    with (
        LocalCluster(n_workers=n_workers, memory_limit=0, **options) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(n_workers)
        yield client


def load_rows(client: Any, n_rows: int, n_partitions: int) -> tuple[Any, Any]:
    """Return X and y as Dask arrays in the memory of the workers."""
    import dask
    import dask.array as da
    from distributed import wait

    size = -(-n_rows // n_partitions)
    X, y = [], []
    for number, first in enumerate(range(0, n_rows, size)):
        n = min(size, n_rows - first)
        # Made where it stays; seeds other than that of the test rows.
        part = dask.delayed(make_higgs_like, nout=2, pure=True)(n, seed=100 + number)
        X.append(da.from_delayed(part[0], (n, N_FEATURES), np.float32))
        y.append(da.from_delayed(part[1], (n,), np.int64))
    rows = client.persist([da.concatenate(X), da.concatenate(y)])
    wait(rows)
    return rows[0], rows[1]


def fit(name: str, settings: Settings, client: Any, rows: Any, test: Any) -> Fit:
    """Train one model and weigh it."""
    pids = list(client.run(os.getpid).values())
    client.run(gc.collect)
    model = build(name, settings, client)
    sent = count_loopback()
    with watch_memory(pids) as peak:
        begin = time.perf_counter()
        model.fit(*rows)
        seconds = time.perf_counter() - begin
    sent = count_loopback() - sent
    X, y = test
    auc = float(roc_auc_score(y, predict(name, model, X)))
    return Fit(seconds, sent, peak[0], auc, digest(name, model))


def measure(
    n_workers: int, n_rows: int, settings: Settings, names: Sequence[str], n_repeats: int
) -> dict[str, list[Fit]]:
    """Train each model several times, in turns, on one cluster."""
    test = make_higgs_like(TEST_ROWS, seed=1)
    found: dict[str, list[Fit]] = {name: [] for name in names}
    with open_cluster(n_workers) as client:
        few = load_rows(client, 20_000, PARTITIONS)
        for name in names:  # loads code, compiles kernels
            build(name, Settings(n_trees=2, n_jobs=1), client).fit(*few)
        rows = load_rows(client, n_rows, PARTITIONS)

        def run(name: str) -> float:
            found[name].append(fit(name, settings, client, rows, test))
            return 0.0

        alternate(run, list(names), n_repeats)
    return found


def compare(
    all_workers: Sequence[int],
    n_rows: int,
    settings: Settings,
    names: Sequence[str],
    n_repeats: int,
) -> Table:
    """Return a table with a line for each library and number of workers."""
    lines = []
    for n_workers in all_workers:
        found = measure(n_workers, n_rows, settings, names, n_repeats)
        medians = {
            name: statistics.median(own.seconds for own in fits) for name, fits in found.items()
        }
        rivals = [seconds for name, seconds in medians.items() if name != SUMWISE.name]
        for name, fits in found.items():
            ratio = f"{medians[name] / min(rivals):.2f}" if rivals else ""
            digests = "/".join(sorted({own.digest for own in fits}))
            cells = [
                format_seconds(medians[name]),
                ratio,
                f"{fits[0].auc:.5f}",
                format_bytes(statistics.median(own.sent for own in fits)),
                format_bytes(max(own.memory for own in fits)),
                digests,
            ]
            lines.append([f"{name}, {n_workers} worker{'s' * (n_workers > 1)}", *cells])
    title = f"{n_rows:,} x 28, {PARTITIONS} partitions"
    heads = ["", "time", "to faster rival", "AUC", "sent", "memory", "model"]
    return Table(title, heads, lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare the libraries on clusters of 1, 2 and 4 workers."""
    parser = make_tree_parser("cluster", __doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--growth", choices=("leaf", "depth"), default="leaf")
    parser.add_argument("--models", nargs="+", choices=tuple(NAMES), default=tuple(NAMES))
    parsed = parser.parse_args(arguments)
    settings = Settings(n_trees=parsed.trees, n_jobs=1, growth=parsed.growth)
    print_heading(
        f"{parsed.trees} trees; workers are processes with one thread; goal with two workers: "
        f"{GOAL} of the faster rival"
    )
    own = (parsed.workers, parsed.rows, settings, parsed.models, parsed.repeat)
    print(f"\n{format_aligned(compare(*own))}", flush=True)


if __name__ == "__main__":
    main()
