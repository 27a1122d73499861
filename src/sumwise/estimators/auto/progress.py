"""Progress of an automatic ensemble: a bar on a terminal or in a notebook, otherwise lines."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple, TextIO

from sumwise.training.notebook import NotebookBar, find_display
from sumwise.training.progress import format_seconds


class MemberState(NamedTuple):
    """What is shown after a member.

    Attributes
    ----------
    name : str
    result : str
        Its score, or why it has none.
    best : str
        The best score so far.
    elapsed, limit : float
        Seconds; the limit may be infinite.
    """

    name: str
    result: str
    best: str
    elapsed: float
    limit: float

    def describe_time(self) -> str:
        """Return the time spent, and the limit if there is one."""
        spent = format_seconds(self.elapsed)
        return spent if self.limit == float("inf") else f"{spent} of {format_seconds(self.limit)}"


Report = Callable[[MemberState], None]


def show_members(wanted: bool) -> AbstractContextManager[Report]:
    """Return a context whose value reports a member."""
    if not wanted:
        return _show_nothing()
    display = find_display()
    if display is not None:
        return _show_in_notebook(NotebookBar(display))
    if sys.stderr.isatty():
        try:
            return _show_bar(sys.stderr)
        except ImportError:
            pass
    return _show_lines(sys.stderr)


@contextmanager
def _show_nothing() -> Iterator[Report]:
    yield lambda state: None


@contextmanager
def _show_lines(stream: TextIO) -> Iterator[Report]:
    def report(state: MemberState) -> None:
        stream.write(f"{state.name}: {state.result}  best {state.best}  {state.describe_time()}\n")
        stream.flush()

    yield report


@contextmanager
def _show_in_notebook(bar: NotebookBar) -> Iterator[Report]:
    def report(state: MemberState) -> None:
        share = None if state.limit == float("inf") else state.elapsed / state.limit
        text = f"{state.name}: {state.result}, best {state.best}, {state.describe_time()}"
        bar.update(share, text)

    yield report


def _show_bar(stream: TextIO) -> AbstractContextManager[Report]:
    """Show the time as a progress bar of the package rich, and a line for each member above it."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("members"),
        BarColumn(),
        TextColumn("{task.fields[time]}"),
        TextColumn("best {task.fields[best]}"),
    )
    console = Console(file=stream)
    # rich would redirect standard output while the bar is shown.
    bar = Progress(*columns, console=console, redirect_stdout=False)

    @contextmanager
    def display() -> Iterator[Report]:
        with bar:
            task = bar.add_task("", total=None, time="0 s", best="")

            def report(state: MemberState) -> None:
                total = None if state.limit == float("inf") else state.limit
                time, best = state.describe_time(), state.best
                bar.update(task, total=total, completed=state.elapsed, time=time, best=best)
                bar.console.print(f"{state.name}: {state.result}", markup=False, highlight=False)

            yield report

    return display()
