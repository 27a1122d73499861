"""Progress of a fit: a bar on a terminal or in a notebook, otherwise lines on standard error."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TextIO

import numpy as np

from sumwise.training.callbacks import Callback, RoundState
from sumwise.training.notebook import NotebookBar, find_display
from sumwise.training.stopping import OOB

# Number of lines per fit if they cannot be overwritten.
_LINES = 10
# Seconds between updates of a line that is overwritten.
_PAUSE = 0.1


@contextmanager
def show_progress(wanted: bool) -> Iterator[list[Callback]]:
    """Yield a list of the callback that shows each round, empty if not ``wanted``."""
    with ExitStack() as stack:
        displays: list[Callback] = []

        def show(state: RoundState, /) -> None:
            if not displays:  # the display starts with the first round
                displays.append(stack.enter_context(_choose_display(sys.stderr)))
            displays[0](state)

        yield [show] if wanted else []


def _choose_display(stream: TextIO) -> AbstractContextManager[Callback]:
    display = find_display()
    if display is not None:
        return _show_in_notebook(NotebookBar(display))
    if not stream.isatty():
        return _show_lines(stream, rewrite=False)
    try:
        return _show_bar(stream)
    except ImportError:
        return _show_lines(stream, rewrite=True)


def describe_scores(state: RoundState) -> str:
    """Return the scores in one line."""
    return "  ".join(f"{name} {value:.6g}" for name, value in state.scores.items())


def show_best_round(scores: np.ndarray, best_round: int, n_asked: int, watched: str) -> None:
    """Report the last round of early stopping, the best round and its score."""
    n_rounds = len(scores)
    end = f"stopped at round {n_rounds}" if n_rounds < n_asked else f"trained {n_rounds} rounds"
    # The quality of a model is the sum of the improvements of its rounds.
    is_sum = watched == OOB
    score = scores[:best_round].sum() if is_sum else scores[best_round - 1]
    name = "sum of oob_improvement" if is_sum else watched
    sys.stderr.write(f"{end}, best round {best_round}, {name} {score:.6g}\n")
    sys.stderr.flush()


class _Clock:
    """Estimates the time left from the rounds of this fit, which may continue another."""

    def __init__(self) -> None:
        self._n_seen = 0

    def time_left(self, state: RoundState) -> float:
        self._n_seen += 1
        return state.seconds / self._n_seen * (state.n_rounds - state.round_number)


@contextmanager
def _show_lines(stream: TextIO, rewrite: bool) -> Iterator[Callback]:
    """Show a line for each tenth of the rounds, or one line that is overwritten."""
    clock = _Clock()
    line = written = ""
    written_at = -_PAUSE

    def show(state: RoundState, /) -> None:
        nonlocal line, written_at
        line = _describe(state, clock)
        step = max(1, state.n_rounds // _LINES)
        is_due = state.seconds >= written_at + _PAUSE if rewrite else state.round_number % step == 0
        if is_due or state.round_number == 1:
            write()
            written_at = state.seconds

    def write() -> None:
        nonlocal written
        # Spaces overwrite the rest of a longer line.
        stream.write(f"\r{line.ljust(len(written))}" if rewrite else f"{line}\n")
        stream.flush()
        written = line

    try:
        yield show
    finally:
        if line != written:
            write()
        if rewrite:
            stream.write("\n")


@contextmanager
def _show_in_notebook(bar: NotebookBar) -> Iterator[Callback]:
    """Show a bar in the output of the cell."""
    clock = _Clock()
    last: tuple[float, str] | None = None
    shown_at = -_PAUSE

    def show(state: RoundState, /) -> None:
        nonlocal last, shown_at
        share = state.round_number / state.n_rounds
        last = share, _describe(state, clock)
        if state.seconds >= shown_at + _PAUSE:
            bar.update(*last)
            last, shown_at = None, state.seconds

    try:
        yield show
    finally:
        if last is not None:
            bar.update(*last)


def _describe(state: RoundState, clock: _Clock) -> str:
    """Return the round, the scores and the time left in one line."""
    left = format_seconds(clock.time_left(state))
    return f"round {state.round_number}/{state.n_rounds}  {describe_scores(state)}  {left} left"


def _show_bar(stream: TextIO) -> AbstractContextManager[Callback]:
    """Show a progress bar of the package rich."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn("round"),
        MofNCompleteColumn(),
        BarColumn(),
        TextColumn("{task.fields[scores]}"),
        TextColumn("{task.fields[left]} left"),
    )
    # rich would redirect standard output while the bar is shown.
    bar = Progress(*columns, console=Console(file=stream), redirect_stdout=False)
    clock = _Clock()

    @contextmanager
    def display() -> Iterator[Callback]:
        with bar:
            task = bar.add_task("", total=None, scores="", left="")

            def show(state: RoundState, /) -> None:
                bar.update(
                    task,
                    completed=state.round_number,
                    total=state.n_rounds,
                    scores=describe_scores(state),
                    left=format_seconds(clock.time_left(state)),
                )

            yield show

    return display()


def format_seconds(seconds: float) -> str:
    """Return a duration as "8 s", "2:05" or "1:02:05"."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes == 0:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
