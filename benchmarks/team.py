"""What a team of threads costs: a barrier, a call, and a call after a pause.

`python -m benchmarks.team` prints medians for teams of 2, 4, 8, ... threads, up to the number of
CPUs; see `--help`. Nothing else should run on the machine meanwhile.
"""

import argparse
import statistics
import time
from collections.abc import Sequence

import joblib
import numpy as np

from benchmarks.report import Table, format_aligned, format_seconds
from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.runtime.threads import Team, wait_for_all

N_BARRIERS = 20_000
# Longer than a team waits in compiled code before it goes to sleep.
PAUSE = 0.003


@kernel
def do_nothing(thread, n_threads, sync, array):
    """Return at once: the time is that of the call."""
    if thread < 0:
        array[0] = 0


@kernel
def meet(thread, n_threads, sync, array):
    """Meet at the barrier, as often as the array has items."""
    for _ in range(array.size):
        wait_for_all(sync, n_threads)


def measure(n_threads: int, n_calls: int, n_barriers: int) -> tuple[float, float, float]:
    """Return the seconds of a barrier, of a call, and of a call after a pause."""
    barriers, nothing = np.zeros(n_barriers), np.zeros(1)
    with Team(n_threads) as team:
        for kernel_, array in ((do_nothing, nothing), (meet, barriers)):
            team.run(kernel_, array)
        of_barriers = [_time(team, meet, barriers) / n_barriers for _ in range(5)]
        of_calls = [_time(team, do_nothing, nothing) for _ in range(n_calls)]
        after_pause = []
        for _ in range(max(1, n_calls // 10)):
            time.sleep(PAUSE)
            after_pause.append(_time(team, do_nothing, nothing))
    medians = map(statistics.median, (of_barriers, of_calls, after_pause))
    barrier, call, sleeping = medians
    return barrier, call, sleeping


def _time(team: Team, kernel_: object, array: np.ndarray) -> float:
    start = time.perf_counter()
    team.run(kernel_, array)
    return time.perf_counter() - start


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure teams of several sizes and print a table."""
    sizes = [n for n in (2, 4, 8, 12, 16, 32, 64) if n <= joblib.cpu_count()]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, nargs="+", default=sizes or [1])
    parser.add_argument("--calls", type=int, default=1_000, help="calls to take the median of")
    parser.add_argument("--barriers", type=int, default=N_BARRIERS, help="barriers in one call")
    options = parser.parse_args(arguments)
    measured = [measure(n, options.calls, options.barriers) for n in options.threads]
    names = ("a barrier", "a call of a waiting team", f"a call after {PAUSE * 1e3:.0f} ms of pause")
    rows = [
        [name, *(format_seconds(seconds) for seconds in figures)]
        for name, figures in zip(names, zip(*measured, strict=True), strict=True)
    ]
    header = ["threads", *map(str, options.threads)]
    print(format_aligned(Table("Costs of a team of threads", header, rows)))


if __name__ == "__main__":
    main()
