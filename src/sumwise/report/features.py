"""What a model uses: importances of features, and a summary of SHAP values."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sumwise.data.frames.selection import take_rows
from sumwise.errors import SumwiseError
from sumwise.estimators.permutation_importance import permutation_importance
from sumwise.inspection.explanation import Explanation, read_numbers, show_value
from sumwise.inspection.interacting import has_order
from sumwise.plotting import feature_importances
from sumwise.plotting.points import scale_values
from sumwise.report.blocks import Block, Figure, Section, Text
from sumwise.report.charts.bars import draw_bars
from sumwise.report.charts.points import draw_swarm
from sumwise.report.charts.scales import format_number
from sumwise.report.predictions import Predictions, draw_rows, say_sample

_MOST_BARS = 15
_MOST_SWARMS = 10
_MOST_EXPLAINED = 250
# Permutation importances predict these rows once per feature and repeat.
_MOST_PERMUTED = 500
_MOST_REPEATS = 5
_MOST_PREDICTIONS = 150


def describe_features(
    model: Any, X: Any, known: Predictions, note: str = "", key: str = "features"
) -> Section | None:
    """Return the section of importances and SHAP values, as far as the model has them.

    ``note`` says what rows these are, if that is not plain.
    """
    figures = [_draw_importances(model), _draw_permutations(model, X, known)]
    explained, remark = explain_sample(model, X)
    if explained is not None:
        figures += _draw_explanation(explained, say_sample(len(explained), known.y.size))
    blocks: list[Block] = [figure for figure in figures if figure is not None]
    if blocks and note:
        blocks.append(Text(note))
    if remark:
        blocks.append(Text(remark))
    return Section(key, "Features", blocks) if blocks else None


def _draw_importances(model: Any) -> Figure | None:
    try:
        found = feature_importances(model, n_features=_MOST_BARS)
    except (SumwiseError, AttributeError):
        return None
    if not found.values.size:
        return None
    return Figure(
        "importances",
        "Importances in the model",
        draw_bars(
            found.labels,
            found.values,
            "importance",
            f"Most important feature: {found.labels[0]}, {found.values[0]:.3f}.",
        ),
        {"features": found.labels, "importance": found.values},
        "Share of each feature in what the splits of the trees gained in training.",
    )


def _draw_permutations(model: Any, X: Any, known: Predictions) -> Figure | None:
    """Measure how much worse the model predicts if a feature is shuffled."""
    n_features = int(getattr(model, "n_features_in_", 0))
    n_repeats = min(_MOST_PREDICTIONS // max(n_features, 1), _MOST_REPEATS)
    if n_repeats < 2 or known.y.size < 10:
        return None
    kept = draw_rows(known.y.size, _MOST_PERMUTED)
    try:
        found = permutation_importance(
            model, take_rows(X, kept), known.y[kept], n_repeats=n_repeats, random_state=0
        )
    except (SumwiseError, ValueError, TypeError):
        return None  # for example, features that cannot be reordered by row
    order = np.argsort(-found.importances_mean, kind="stable")[:_MOST_BARS]
    # Features without effect are left out, unless none has any.
    order = order[: max(int((found.importances_mean > 0).sum()), 3)]
    names = [str(found.names[k]) for k in order]
    means, spreads = found.importances_mean[order], found.importances_std[order]
    measure = "accuracy" if known.is_classification else "R²"
    return Figure(
        "permutation",
        "Permutation importances",
        draw_bars(
            names,
            means,
            f"decrease of {measure}",
            f"Shuffling {names[0]} costs most: {format_number(float(means[0]), 3)} of {measure}.",
            spreads,
        ),
        {"features": names, "decrease": means, "standard_deviation": spreads},
        f"How much {measure} decreases if the values of a feature are shuffled; mean of "
        f"{n_repeats} shuffles."
        f"{say_sample(kept.size, known.y.size)}",
    )


def explain_sample(model: Any, X: Any) -> tuple[Explanation | None, str]:
    """Return SHAP values of a sample of rows, or None and the reason why there are none."""
    explain = getattr(model, "explain", None)
    reason = f"SHAP values are left out: {type(model).__name__} cannot be explained this way"
    if explain is None:
        return None, f"{reason}."
    rows = draw_rows(len(X) if not hasattr(X, "shape") else X.shape[0], _MOST_EXPLAINED)
    try:
        return explain(take_rows(X, rows)), ""
    except (SumwiseError, ValueError, TypeError, NotImplementedError) as error:
        return None, f"{reason}: {error}"


def _draw_explanation(explained: Explanation, sample: str) -> list[Figure]:
    """Return the swarm; of several outputs, mean sizes of contributions."""
    if explained.values.ndim == 3:
        return [_draw_sizes(explained, sample)]
    order = np.argsort(-explained.importances, kind="stable")[:_MOST_SWARMS]
    names = [str(explained.feature_names[k]) for k in order]
    columns = [explained.data[:, k] for k in order]
    values = [explained.values[:, k] for k in order]
    shades = [scale_values(read_numbers(c)) if has_order(c) else None for c in columns]
    tips = [
        _write_tips(name, column, own)
        for name, column, own in zip(names, columns, values, strict=True)
    ]
    scale = explained.scale or "score"
    output = explained.output_names if isinstance(explained.output_names, str) else None
    of_class = f" of class {output}" if output else ""
    sizes = explained.importances[order]
    alt = (
        f"SHAP values of {len(explained):,} rows. Largest mean size: {names[0]}, "
        f"{format_number(float(sizes[0]), 3)}."
    )
    svg = draw_swarm(names, values, shades, tips, f"contribution to the {scale}{of_class}", alt)
    data = {
        "features": names,
        "mean_size": sizes,
        "contributions": np.round(np.column_stack(values), 5),
        "values": [[show_value(value) for value in column] for column in columns],
    }
    caption = (
        "A point per row: right of zero, the feature raises the prediction of that row. Gray "
        f"points are categories or missing values.{sample}"
    )
    return [Figure("shap", "SHAP values", svg, data, caption)]


def _write_tips(name: str, column: np.ndarray, values: np.ndarray) -> Sequence[str]:
    short = name if len(name) <= 40 else name[:39] + "…"
    return [
        f"{short} = {show_value(value)[:40]}: {number:+.3g}"
        for value, number in zip(column, values.tolist(), strict=True)
    ]


def _draw_sizes(explained: Explanation, sample: str) -> Figure:
    sizes = explained.importances.sum(axis=1)
    order = np.argsort(-sizes, kind="stable")[:_MOST_BARS]
    names = [str(explained.feature_names[k]) for k in order]
    scale = explained.scale or "score"
    return Figure(
        "shap",
        "SHAP values",
        draw_bars(
            names,
            sizes[order],
            "mean size of contributions",
            f"Largest mean size of SHAP values: {names[0]}.",
        ),
        {
            "features": names,
            "outputs": list(explained.output_names or ()),
            "mean_size": explained.importances[order],
        },
        f"How much a feature moves the {scale}s of all classes, in sum.{sample}",
    )
