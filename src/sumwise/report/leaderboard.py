"""The leaderboard of a comparison: scores with intervals, differences from the best, times."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sumwise.report.blocks import Block, Cell, Column, Figure, Section, Table, Text
from sumwise.report.charts.bars import draw_intervals
from sumwise.report.charts.frame import N_SERIES, stack, write_legend
from sumwise.report.charts.points import draw_scatter
from sumwise.report.charts.scales import choose_decimals, find_focus, format_number
from sumwise.report.contenders import Comparison, Contender


class Interval(NamedTuple):
    """A mean and its 95 % interval; NaN where there is none."""

    mean: float
    low: float
    high: float


def estimate_interval(scores: np.ndarray) -> Interval:
    """Return the mean over folds with a corrected interval of Student's t.

    Training sets of folds overlap, so their scores are correlated. The variance of the mean is
    therefore taken as (1/k + 1/(k - 1)) s² instead of s²/k: the correction of Nadeau and Bengio
    (2003) for k folds, whose test rows are 1/(k - 1) of the training rows.
    """
    known = scores[np.isfinite(scores)]
    if known.size == 0:
        return Interval(np.nan, np.nan, np.nan)
    mean = float(known.mean())
    if known.size < 2:
        return Interval(mean, np.nan, np.nan)
    k = known.size
    error = float(known.std(ddof=1)) * np.sqrt(1.0 / k + 1.0 / (k - 1))
    half = _find_t_quantile(k - 1) * error
    return Interval(mean, mean - half, mean + half)


def estimate_score(comparison: Comparison, contender: Contender) -> Interval:
    """Return the interval of a contender's score, which ends at perfect scores.

    Losses that are never negative end at 0, and scores between 0 and 1 at 1.
    """
    known = np.concatenate([c.fold_scores for c in comparison.contenders])
    known = known[np.isfinite(known)]
    own = estimate_interval(contender.fold_scores)
    if not known.size or known.min() < 0.0:
        return own
    if not comparison.greater_is_better:
        return own._replace(low=np.maximum(own.low, 0.0))
    return own._replace(high=np.minimum(own.high, 1.0)) if known.max() <= 1.0 else own


def _find_t_quantile(n_free: int) -> float:
    """Return the 97.5 % quantile of Student's t with ``n_free`` degrees of freedom."""
    from scipy.stats import t  # type: ignore[import-untyped] # slow to import

    return float(t.ppf(0.975, n_free))


def rank_contenders(comparison: Comparison) -> list[Contender]:
    """Return the contenders, the best mean score first, those without scores last."""
    sign = -1.0 if comparison.greater_is_better else 1.0

    def rank(contender: Contender) -> float:
        mean = estimate_interval(contender.fold_scores).mean
        return sign * mean if np.isfinite(mean) else np.inf

    return sorted(comparison.contenders, key=rank)


def describe_leaderboard(comparison: Comparison, key: str = "leaderboard") -> Section:
    """Rank the contenders by their mean scores."""
    ordered = rank_contenders(comparison)
    blocks: list[Block] = [_list_contenders(comparison, ordered)]
    blocks.append(_draw_scores(comparison, ordered))
    timed = _draw_times(comparison, ordered)
    if timed is not None:
        blocks.append(timed)
    n_folds = comparison.best.fold_scores.size
    better = "higher" if comparison.greater_is_better else "lower"
    if n_folds > 1:
        blocks.append(
            Text(
                f"Means over {n_folds} folds; {better} is better. Intervals have a level of 95 % "
                "and account for the overlap of training sets (Nadeau and Bengio, 2003). Where the "
                "interval of a difference contains 0, the folds cannot tell both models apart."
            )
        )
    else:
        blocks.append(Text(f"Scores of one split; {better} is better. One fold has no interval."))
    return Section(key, "Leaderboard", blocks)


def _list_contenders(comparison: Comparison, ordered: Sequence[Contender]) -> Table:
    sign = 1.0 if comparison.greater_is_better else -1.0
    best = comparison.best.fold_scores
    has_groups = any(c.group for c in ordered)
    metric = comparison.metric_name
    columns = [
        Column("Model"),
        *([Column("Family")] if has_groups else []),
        Column(metric, "", "Mean over folds"),
        Column("95 % interval", "", "Where the mean would be with other rows"),
        Column(
            "Behind the best",
            "",
            "Mean difference from the recommended model by fold, and its 95 % interval",
        ),
        Column("Members", ",d", "Members or rounds"),
        Column("Fit (s)", ",.2f", "Seconds of training over all folds"),
        Column("Predict (s)", ",.2f", "Seconds of prediction over all folds"),
    ]
    n_decimals = choose_decimals(estimate_interval(best).mean)
    rows = []
    for contender in ordered:
        own = estimate_score(comparison, contender)
        behind = estimate_interval(sign * (best - contender.fold_scores))
        rows.append(
            [
                contender.name,
                *([contender.group or ""] if has_groups else []),
                Cell(own.mean, _write_number(own.mean, n_decimals)),
                _write_interval(own, n_decimals),
                None if contender is comparison.best else _write_gap(behind, n_decimals),
                contender.n_members,
                float(contender.fit_seconds),
                float(contender.predict_seconds),
            ]
        )
    marked = ordered.index(comparison.best)
    return Table(f"Mean {metric} over folds", columns, rows, marked)


def _write_number(value: float, n_decimals: int) -> str:
    return f"{value:,.{n_decimals}f}" if np.isfinite(value) else ""


def _write_interval(interval: Interval, n_decimals: int) -> str:
    if not np.isfinite(interval.low):
        return ""
    ends = _write_number(interval.low, n_decimals), _write_number(interval.high, n_decimals)
    return " to ".join(ends)


def _write_gap(behind: Interval, n_decimals: int) -> Cell:
    text = _write_number(behind.mean, n_decimals)
    ends = _write_interval(behind, n_decimals)
    return Cell(behind.mean, f"{text} ({ends})" if ends else text)


def _draw_scores(comparison: Comparison, ordered: Sequence[Contender]) -> Figure:
    intervals = [estimate_score(comparison, c) for c in ordered]
    mean, low, high = (np.array(own) for own in zip(*intervals, strict=True))
    groups = list(dict.fromkeys(c.group or "" for c in ordered))
    series = [f"s{groups.index(c.group or '') % N_SERIES}" for c in ordered]
    best = ordered.index(comparison.best)
    alt = (
        f"{comparison.metric_name} of {len(ordered)} models with intervals. "
        f"{ordered[best].name}: {format_number(mean[best])}; last: {ordered[-1].name}, "
        f"{format_number(mean[-1])}."
    )
    names = [c.name for c in ordered]
    reference = float(mean[best]) if np.isfinite(mean[best]) else None
    focus = (-np.inf, np.inf) if reference is None else find_focus(mean, reference)
    svg = draw_intervals(
        names, mean, low, high, series, comparison.metric_name, alt, reference, focus
    )
    if len(groups) > 1:
        marks = [f"dot s{k % N_SERIES}" for k in range(len(groups))]
        svg = stack(write_legend([group or "other" for group in groups], marks), svg)
    data = {
        "models": names,
        "mean": mean,
        "low": low,
        "high": high,
        "fold_scores": [c.fold_scores for c in ordered],
    }
    caption = (
        "Mean over folds and 95 % interval. The line is the recommended model; arrows point at "
        "scores outside of the picture."
        if np.isfinite(focus[0]) and ((mean < focus[0]) | (mean > focus[1])).any()
        else "Mean over folds and 95 % interval. The line is the recommended model."
    )
    return Figure("scores", "Scores with intervals", svg, data, caption)


def _draw_times(comparison: Comparison, ordered: Sequence[Contender]) -> Figure | None:
    """Return scores against times of training, on a logarithmic scale."""
    means = np.array([estimate_interval(c.fold_scores).mean for c in ordered])
    seconds = np.array([float(c.fit_seconds) for c in ordered])
    shown = np.isfinite(means) & (seconds > 0)
    if shown.sum() < 2:
        return None
    kept = [c for c, is_shown in zip(ordered, shown, strict=True) if is_shown]
    groups = list(dict.fromkeys(c.group or "" for c in ordered))
    times = np.log10(seconds[shown])
    by_group = {}
    for group in groups:
        own = np.array([(c.group or "") == group for c in kept])
        tips = [
            f"{c.name}\n{comparison.metric_name} {format_number(m)}, {c.fit_seconds:.2f} s"
            for c, m, is_own in zip(kept, means[shown], own, strict=True)
            if is_own
        ]
        by_group[group or "other"] = times[own], means[shown][own], tips
    low, high = np.floor(times.min()), np.ceil(times.max())
    ticks = [
        (float(k), f"{10.0**k:,g} s")
        for k in np.arange(low, high + 1)
        if high - low <= 8 or not k % 2
    ]
    span = (float(low), float(high) if high > low else float(low) + 1.0)
    alt = f"{comparison.metric_name} against seconds of training of {len(kept)} models."
    svg = draw_scatter(
        by_group,
        "training time over all folds (logarithmic)",
        comparison.metric_name,
        alt,
        x_range=span,
        x_ticks=ticks,
        y_focus=find_focus(means, _choose_best(comparison, means)),
    )
    data = {"models": [c.name for c in kept], "seconds": seconds[shown], "mean": means[shown]}
    side = "upper" if comparison.greater_is_better else "lower"
    caption = (
        f"Fast and good models are at the {side} left. Scores far from the best are at the edge."
    )
    return Figure("times", "Score and training time", svg, data, caption)


def _choose_best(comparison: Comparison, means: np.ndarray) -> float:
    known = means[np.isfinite(means)]
    return float(known.max() if comparison.greater_is_better else known.min())
