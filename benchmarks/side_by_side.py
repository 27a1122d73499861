"""Fits of several models side by side: the loop and the command line of the small benchmarks."""

import argparse
import statistics
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from benchmarks.measure import Key, alternate, time_call
from benchmarks.report import describe_machine, format_figures, format_seconds

OURS, THEIRS = "sumwise", "scikit-learn"
# The first fit of each model compiles or loads kernels, and is not timed.
WARM_UP = {"n_estimators": 2}


class Fits(NamedTuple):
    """Median seconds of a fit, and the score of the last fit, by model."""

    seconds: dict[Any, float]
    scores: dict[Any, float]

    def describe(self, score: str) -> str:
        """Return our time, scikit-learn's, their ratio and both scores in one line."""
        ours, theirs = self.seconds[OURS], self.seconds[THEIRS]
        return (
            f"ours {format_seconds(ours)}, scikit-learn {format_seconds(theirs)}, "
            f"ratio {format_figures(ours / theirs)}, "
            f"{score} {self.scores[OURS]:.4f}, {self.scores[THEIRS]:.4f}"
        )


def compare_fits(
    makers: Mapping[Key, Callable[[], Any]],
    X: Any,
    y: Any,
    judge: Callable[[Any], float],
    n_repeats: int,
    warm_up: Mapping[str, Any] = WARM_UP,
) -> Fits:
    """Fit each model once per repeat, alternately in forward and reverse order."""
    for make in makers.values():
        make().set_params(**warm_up).fit(X, y)
    scores = {}

    def fit(key: Key) -> float:
        model = makers[key]()
        seconds = time_call(model.fit, X, y)
        scores[key] = judge(model)
        return seconds

    spent = alternate(fit, list(makers), n_repeats)
    return Fits({key: statistics.median(values) for key, values in spent.items()}, scores)


def make_parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """Return the command line of a benchmark, without options."""
    return argparse.ArgumentParser(
        prog=f"python -m benchmarks.{name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def make_tree_parser(
    name: str, description: str | None, n_trees: int = 100
) -> argparse.ArgumentParser:
    """Return a command line with the numbers of trees, threads and repeats."""
    parser = make_parser(name, description)
    parser.add_argument("--trees", type=int, default=n_trees)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    return parser


def print_heading(*notes: str) -> None:
    """Print the machine and the notes of a benchmark."""
    machine = ", ".join(f"{key} {value}" for key, value in describe_machine().items())
    print("\n".join([machine, *notes]))
