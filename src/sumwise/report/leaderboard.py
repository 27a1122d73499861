"""The leaderboard of a comparison: scores with intervals, ranks and times."""

from typing import NamedTuple

import numpy as np

from sumwise.report.blocks import Column, Section, Table
from sumwise.report.comparison import Comparison


class Interval(NamedTuple):
    """A mean and its 95 % interval; NaN where there is none."""

    mean: float
    low: float
    high: float


def estimate_interval(scores: np.ndarray) -> Interval:
    """Return the mean over folds with a corrected interval of Student's t.

    Training sets of folds overlap, so their scores are correlated. The variance of the mean is
    therefore not s²/k but (1/k + 1/(k - 1)) s², the correction of Nadeau and Bengio (2003) for k
    folds, whose tests have 1/(k - 1) of the rows of their training sets.
    """
    known = scores[np.isfinite(scores)]
    if known.size == 0:
        return Interval(np.nan, np.nan, np.nan)
    mean = float(known.mean())
    if known.size < 2:
        return Interval(mean, np.nan, np.nan)
    k = known.size
    error = float(known.std(ddof=1)) * np.sqrt(1.0 / k + 1.0 / (k - 1))
    width = find_t_quantile(k - 1) * error
    return Interval(mean, mean - width, mean + width)


def find_t_quantile(n_free: int) -> float:
    """Return the 97.5 % quantile of Student's t with ``n_free`` degrees of freedom."""
    from scipy.stats import t  # type: ignore[import-untyped] # slow to import

    return float(t.ppf(0.975, n_free))


def describe_leaderboard(comparison: Comparison) -> Section:
    """Rank the contenders by their mean scores."""
    intervals = {c.name: estimate_interval(c.fold_scores) for c in comparison.contenders}
    sign = -1.0 if comparison.greater_is_better else 1.0

    def rank(name: str) -> float:
        mean = intervals[name].mean
        return sign * mean if np.isfinite(mean) else np.inf

    ordered = sorted(comparison.contenders, key=lambda c: rank(c.name))
    columns = [
        Column("Model"),
        Column(comparison.metric_name, ".4g"),
        Column("95 % low", ".4g"),
        Column("95 % high", ".4g"),
        Column("Members", "d"),
        Column("Training (s)", ".2f"),
        Column("Prediction (s)", ".2f"),
    ]
    rows = [
        [c.name, *intervals[c.name], c.n_members, c.fit_seconds, c.predict_seconds] for c in ordered
    ]
    marked = next(i for i, c in enumerate(ordered) if c.name == comparison.best_name)
    return Section("leaderboard", "Leaderboard", [Table("Leaderboard", columns, rows, marked)])
