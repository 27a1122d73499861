"""The rows of the table of a comparison, the same for terminals and Markdown."""

from collections.abc import Sequence

import numpy as np

from sumwise.cli.comparing.scores import Metric
from sumwise.cli.comparing.validation import Result
from sumwise.report.leaderboard import estimate_interval


def name_columns(metric: Metric) -> tuple[str, ...]:
    """Return the header of the table."""
    return ("method", f"{metric.title} ± 95 %", "fit s", "pred ms", "members", "gain")


def format_result(result: Result, n_folds: int) -> tuple[str, ...]:
    """Return the cells of a contender, which may still be running."""
    if result.failure is not None:
        return (result.name, "failed", "", "", "", "")
    if not result.scores:
        return (result.name, "", "", "", "", "")
    if len(result.scores) < n_folds:
        score = f"{format_score(result.mean_score)} ({len(result.scores)}/{n_folds})"
    else:
        score = format_interval(result.scores)
    parts = result.decomposition
    return (
        result.name,
        score,
        f"{np.mean(result.fit_seconds):.3f}",
        f"{1e3 * np.mean(result.predict_seconds):.1f}",
        f"{np.mean(result.members):,.0f}",
        "" if parts is None else f"{100 * parts.gain:.0f} %",
    )


def format_interval(scores: Sequence[float]) -> str:
    """Return the mean over folds and the half width of its interval."""
    found = estimate_interval(np.asarray(scores, np.float64))
    if not np.isfinite(found.mean):
        return "no probabilities"
    width = found.high - found.mean
    return f"{format_score(found.mean)} ± {format_score(width, found.mean)}"


def format_score(value: float, reference: float | None = None) -> str:
    """Return a score with four decimals, or four digits if it is large."""
    size = abs(value if reference is None else reference)
    decimals = 4 if size < 10 else max(0, 4 - len(str(int(size))))
    return f"{value:,.{decimals}f}"


def sort_results(results: Sequence[Result], metric: Metric) -> list[Result]:
    """Return results, the best first; those without a score last."""

    def rank(result: Result) -> float:
        if result.failure is not None or not np.isfinite(result.mean_score):
            return np.inf
        return -result.mean_score if metric.greater_is_better else result.mean_score

    return sorted(results, key=rank)


def format_decompositions(results: Sequence[Result]) -> list[tuple[str, ...]]:
    """Return a row for each ensemble whose error is decomposed."""
    rows = []
    for result in results:
        parts = result.decomposition
        if parts is not None:
            numbers = (parts.error, parts.mean_error, parts.good, parts.bad)
            rows.append((result.name, *(f"{number:.4g}" for number in numbers)))
    return rows


DECOMPOSITION_HEADER = ("ensemble", "error", "members' mean", "- diversity", "+ bad diversity")
