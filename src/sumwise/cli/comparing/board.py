"""A table that fills while contenders are trained: live with rich, by lines without."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Protocol

from sumwise.cli.comparing.contenders import AUTOMATIC, Contender, Terms
from sumwise.cli.comparing.rows import format_result, name_columns
from sumwise.cli.comparing.scores import Metric
from sumwise.cli.comparing.validation import Result
from sumwise.cli.console import Console, has_rich
from sumwise.training.progress import format_seconds

# Widths of the columns after the first, as their widest usual cells.
_WIDTHS = (17, 7, 8, 7, 5)


class Board(Protocol):
    """Shows the state of a contender."""

    def __call__(self, result: Result) -> None: ...


class Clock:
    """Estimates the time left from the costs of what is done and what is not."""

    def __init__(self, contenders: Sequence[Contender], terms: Terms, n_folds: int) -> None:
        self._costs = {each.name: each.cost for each in contenders}
        self._limits = {each.name: terms.auto_seconds for each in contenders if _is_timed(each)}
        self._n_folds = n_folds
        self._n_done: dict[str, int] = {}
        self._spent = 0.0  # by contenders without a limit
        self.start = self._last = perf_counter()

    def update(self, result: Result) -> None:
        """Take note of another fold of a contender."""
        is_over = result.failure is not None
        self._n_done[result.name] = self._n_folds if is_over else len(result.scores)
        now = perf_counter()
        if result.name not in self._limits:
            self._spent += now - self._last
        self._last = now

    @property
    def n_done(self) -> int:
        """The number of contenders that are done."""
        return sum(count == self._n_folds for count in self._n_done.values())

    def find_left(self) -> float | None:
        """Return an estimate of the seconds left; None before the first fold."""
        done = sum(self._costs[name] * count for name, count in self._n_done.items())
        if done <= 0:
            return None
        left = {name: self._n_folds - self._n_done.get(name, 0) for name in self._costs}
        rest = sum(self._costs[name] * count for name, count in left.items())
        timed = sum(limit * left[name] for name, limit in self._limits.items())
        return self._spent / done * rest + timed

    def describe(self) -> str:
        """Return the time so far and the time left."""
        left = self.find_left()
        text = format_seconds(perf_counter() - self.start)
        return text if left is None else f"{text}, about {format_seconds(left)} left"


def _is_timed(contender: Contender) -> bool:
    return contender.group == AUTOMATIC


@contextmanager
def show_board(
    console: Console,
    contenders: Sequence[Contender],
    metric: Metric,
    terms: Terms,
    n_folds: int,
) -> Iterator[Board]:
    """Yield what shows a result: a live table, lines, or nothing if nobody watches."""
    clock = Clock(contenders, terms, n_folds)
    if not console.is_live:
        yield lambda result: None
    elif has_rich():
        with _show_live(contenders, metric, n_folds, clock) as show:
            yield show
    else:
        with _show_lines(contenders, metric, n_folds, clock) as show:
            yield show


@contextmanager
def _show_lines(
    contenders: Sequence[Contender], metric: Metric, n_folds: int, clock: Clock
) -> Iterator[Board]:
    """Write a line for each contender when it is done."""
    first = max(len(each.name) for each in contenders)

    def write(cells: Sequence[str]) -> None:
        rest = (f"{cell:>{width}}" for cell, width in zip(cells[1:], _WIDTHS, strict=True))
        sys.stderr.write(f"{cells[0]:<{first}}  {'  '.join(rest)}".rstrip() + "\n")
        sys.stderr.flush()

    def show(result: Result) -> None:
        clock.update(result)
        if result.failure is not None or len(result.scores) == n_folds:
            write(format_result(result, n_folds))

    write(name_columns(metric))
    yield show


@contextmanager
def _show_live(
    contenders: Sequence[Contender], metric: Metric, n_folds: int, clock: Clock
) -> Iterator[Board]:
    """Redraw one table with a row per contender, and a line about the time below it."""
    import rich.console
    import rich.live

    screen = rich.console.Console(file=sys.stderr, highlight=False)
    cells: dict[str, tuple[str, ...]] = {each.name: (each.name,) for each in contenders}
    running = contenders[0].name
    best: Result | None = None

    class Picture:
        """Drawn again several times a second, for the clock."""

        def __rich__(self) -> Any:
            title = f"{clock.n_done}/{len(contenders)} done, now {running}: {clock.describe()}"
            return _draw(cells, metric, running, best.name if best else "", title)

    live = rich.live.Live(
        Picture(),
        console=screen,
        refresh_per_second=4,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with live:

        def show(result: Result) -> None:
            nonlocal running, best
            clock.update(result)
            cells[result.name] = format_result(result, n_folds)
            is_done = result.failure is not None or len(result.scores) == n_folds
            if is_done and result.failure is None and _is_better(result, best, metric):
                best = result
            names = list(cells)
            place = names.index(result.name) + is_done
            running = names[min(place, len(names) - 1)]

        yield show


def _is_better(result: Result, best: Result | None, metric: Metric) -> bool:
    if best is None:
        return True
    if metric.greater_is_better:
        return result.mean_score > best.mean_score
    return result.mean_score < best.mean_score


def _draw(
    cells: dict[str, tuple[str, ...]], metric: Metric, running: str, best: str, title: str
) -> Any:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    header = name_columns(metric)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for place, name in enumerate(header):
        table.add_column(name, justify="right" if place else "left", no_wrap=True)
    for name, row in cells.items():
        style = "green" if name == best else "cyan" if name == running else None
        padded = (*row, *[""] * (len(header) - len(row)))
        table.add_row(*map(Text, padded), style=style)
    return Group(table, Text(title, style="dim", no_wrap=True, overflow="ellipsis"))
