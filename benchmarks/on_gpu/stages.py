"""Where the time of a fit goes: set-up, trees, functions of Python, and kernels.

Three fits tell three things apart. Two plain ones, with one tree and with many, give the time of
the set-up and of a tree. One under Python's profiler shows the functions of the host. In the last
one, every kernel is launched alone and waited for, so that it can be timed; graphs are replayed
kernel by kernel. Kernels that overlap otherwise do not overlap there.
"""

import cProfile
import pstats
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from statistics import median
from time import perf_counter
from typing import Any
from unittest.mock import patch

from benchmarks.on_gpu.large_tables import make_events
from benchmarks.on_gpu.outcome import Outcome, join
from benchmarks.on_gpu.timing import CASES, set_size
from benchmarks.report import Table, format_figures, format_seconds
from benchmarks.rivals import SUMWISE, build

N_ROWS = 1_000_000
_N_FUNCTIONS = 40
# What waiting costs: every other time includes it.
_NOTHING = "(nothing)"
_COPIES = ("write", "copy", "clear", "download", "download_later")


def time_stages(make: Callable[[int], Any], X: Any, y: Any, n_trees: int) -> Table:
    """Return the time of the set-up and of a tree, from fits with one tree and with many."""
    make(2).fit(X, y)  # compiles kernels
    spent = {}
    for n in (1, 1 + n_trees):
        seconds = []
        for _ in range(3):
            start = perf_counter()
            make(n).fit(X, y)
            seconds.append(perf_counter() - start)
        spent[n] = median(seconds)
    whole = spent[1 + n_trees]
    tree = (whole - spent[1]) / n_trees
    lines = [
        ("set-up and end", format_seconds(max(spent[1] - tree, 0.0))),
        ("a tree", format_seconds(max(tree, 0.0))),
        (f"all, {1 + n_trees} trees", format_seconds(whole)),
    ]
    return Table("Stages", ("", "time"), lines)


def profile_functions(make: Callable[[int], Any], X: Any, y: Any, n_trees: int) -> Table:
    """Return the functions of this library that take the longest, with all that they call."""
    profiler = cProfile.Profile()
    model = make(n_trees)
    profiler.runcall(model.fit, X, y)
    found = []
    for (path, _, name), entry in pstats.Stats(profiler).stats.items():  # type: ignore[attr-defined]
        _, n_calls, own_seconds, seconds, _ = entry
        _, inside, module = path.rpartition("/sumwise/")
        if inside:
            label = f"{module.removesuffix('.py')}.{name}"
            found.append((seconds, label, n_calls, own_seconds))
    found.sort(reverse=True)
    lines = [
        (label, str(n_calls), format_seconds(seconds), format_seconds(own_seconds))
        for seconds, label, n_calls, own_seconds in found[:_N_FUNCTIONS]
    ]
    header = ("function", "calls", "with callees", "alone")
    return Table(f"Functions of the host, {n_trees} trees", header, lines)


class Watch:
    """Times every launch and copy of devices, one at a time."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self._recorded: list[Callable[[], Any]] | None = None
        self._is_timing = False

    @contextmanager
    def on(self, device_class: Any) -> Iterator[None]:
        """Watch all devices of a class."""
        with ExitStack() as stack:
            for name in (*_COPIES, "launch"):
                watched = self._watch(name, getattr(device_class, name))
                stack.enter_context(patch.object(device_class, name, watched))
            stack.enter_context(patch.object(device_class, "record", lambda device: self._record()))
            yield

    def _watch(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method that does what the original does, or keeps it for a graph."""

        def do(device: Any, *arguments: Any, **options: Any) -> Any:
            label = arguments[0].name if name == "launch" else name

            def work() -> Any:
                return self._time(label, device, lambda: original(device, *arguments, **options))

            if self._recorded is None:
                return work()
            self._recorded.append(work)
            return None

        return do

    @contextmanager
    def _record(self) -> Iterator[Any]:
        """Keep the work instead of doing it; a graph does it whenever it is launched."""
        recorded: list[Callable[[], Any]] = []
        self._recorded = recorded
        try:
            yield _Replay(recorded)
        finally:
            self._recorded = None

    def _time(self, label: str, device: Any, work: Callable[[], Any]) -> Any:
        if self._is_timing:  # a method that calls another one
            return work()
        if label not in self.seconds and label != _NOTHING:
            self._time(_NOTHING, device, lambda: None)
        device.wait()
        self._is_timing = True
        start = perf_counter()
        try:
            result = work()
            device.wait()
        finally:
            self._is_timing = False
        self.seconds[label].append(perf_counter() - start)
        return result


class _Replay:
    """A graph whose work is done piece by piece."""

    def __init__(self, works: Sequence[Callable[[], Any]]) -> None:
        self._works = works

    def launch(self) -> None:
        for work in self._works:
            work()


def profile_kernels(
    make: Callable[[int], Any], X: Any, y: Any, n_trees: int, device_class: type | None = None
) -> Table:
    """Return the kernels that take the longest; the class of devices is that of real ones."""
    if device_class is None:
        from sumwise.cuda.runtime.driver import DriverDevice  # needs the bindings of CUDA

        device_class = DriverDevice
    watch = Watch()
    with watch.on(device_class):
        make(n_trees).fit(X, y)
    whole = sum(map(sum, watch.seconds.values()))
    ranked = sorted(watch.seconds.items(), key=lambda item: -sum(item[1]))
    lines = [
        (
            label,
            str(len(seconds)),
            format_seconds(sum(seconds)),
            format_seconds(sum(seconds) / n_trees),
            format_seconds(median(seconds)),
            f"{format_figures(100 * sum(seconds) / whole)} %",
        )
        for label, seconds in ranked
    ]
    header = ("kernel", "launches", "time", "per tree", "median", "share")
    title = f"Kernels and copies one by one, {n_trees} trees, {format_seconds(whole)}"
    return Table(title, header, lines)


def run(
    cases: Sequence[str] = tuple(CASES),
    n_rows: int = N_ROWS,
    n_trees: int = 100,
    device: str = "cuda",
    device_class: type | None = None,
) -> Outcome:
    """Profile every case; each table is titled by it."""
    X, y = make_events(n_rows)
    outcomes = []
    for name in cases:
        case = set_size(CASES[name], n_trees)

        def make(n: int, case: Any = case) -> Any:
            options = {} if device == "cpu" else {"device": device}
            return build(replace(SUMWISE, options=options), replace(case.settings, n_trees=n))

        parts: list[Callable[..., Table]] = [time_stages, profile_functions]
        tables = [part(make, X, y, n_trees) for part in parts]
        if device != "cpu":
            tables.append(profile_kernels(make, X, y, max(1, n_trees // 10), device_class))
        tables = [
            own._replace(title=f"{case.title}, {n_rows:,} rows: {own.title}") for own in tables
        ]
        outcomes.append(Outcome(tables, [own._asdict() for own in tables]))
    return join(outcomes)
