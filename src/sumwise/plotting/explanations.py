"""Explanations: of one row, of one feature, of all rows."""

from typing import Any, NamedTuple

import numpy as np

from sumwise.docstrings import fill_docstring
from sumwise.errors import ParameterError
from sumwise.inspection.colors import pick_color
from sumwise.inspection.explanation import Explanation, read_numbers, show_number, show_value
from sumwise.inspection.interacting import find_interacting, has_order
from sumwise.plotting.axes import Axes, check_data, document_plot, get_axes
from sumwise.plotting.points import (
    HIGH,
    LOW,
    NEUTRAL,
    draw_points,
    draw_swarm,
    holds_durations,
    make_colormap,
    place_values,
    scale_values,
    shorten,
)

_document = fill_docstring(
    explanation="""
explanation : Explanation
    From the method ``explain`` of a model.""",
    output="""
output : int, str or None, default=None
    The class or target to draw; None if there is only one.""",
)


# Outputs that a legend within the axes, or a column of it, names.
_MOST_IN_CORNER, _MOST_IN_COLUMN = 6, 15


# Below this number, a long name does not fit beside the bar of colors.
_FEW_FEATURES = 5


class _Ranking(NamedTuple):
    """The features to draw, and the others, which are drawn as one."""

    shown: np.ndarray
    others: np.ndarray

    @classmethod
    def of(cls, sizes: np.ndarray, max_features: int) -> "_Ranking":
        """Rank features by the sizes of their contributions; one alone is not "others"."""
        if not isinstance(max_features, (int, np.integer)) or max_features < 1:
            raise ParameterError(f"max_features={max_features!r}: must be at least 1")
        order = np.argsort(-sizes, kind="stable")
        n_shown = order.size if order.size == max_features + 1 else max_features
        return cls(order[:n_shown], order[n_shown:])

    def name(self, names: list[str]) -> list[str]:
        """Return the labels of the features, and of the others."""
        labels = [shorten(names[k]) for k in self.shown]
        return [*labels, f"{self.others.size} other features"] if self.others.size else labels


@_document
@document_plot
def plot_waterfall(
    explanation: Explanation,
    row: int = 0,
    *,
    output: int | str | None = None,
    max_features: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw how the features lead from the base value to the score of one row.

    Parameters
    ----------
    {explanation}
    row : int, default=0
        Which row; ignored if the explanation is that of one row.
    {output}
    max_features : int, default=10
        Number of features to draw, those that contribute most; the others are drawn as one.
    {ax}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import GradientBoostingRegressor
    >>> from sumwise.plotting import plot_waterfall
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, y)
    >>> ax = plot_waterfall(model.explain(X[:3]), row=1)
    >>> ax.get_xlabel()
    'prediction'
    """
    own = _choose_output(explanation, output)
    own = own[row] if own.values.ndim == 2 else own
    ranking = _Ranking.of(np.abs(own.values), max_features)
    names = [
        f"{shorten(name)} = {shorten(show_value(value))}"
        for name, value in zip(own.feature_names, own.data, strict=True)
    ]
    steps = own.values[ranking.shown]
    labels = [names[k] for k in ranking.shown]
    if ranking.others.size:
        steps = np.append(steps, own.values[ranking.others].sum())
        labels.append(f"{ranking.others.size} other features")

    ax = get_axes(ax, 7.2, 0.36 * steps.size + 1.6)
    base, score = float(own.base_values), float(own.outputs)
    _draw_steps(ax, base, steps)
    ax.axvline(base, color="black", linewidth=0.8, linestyle=":")
    ax.axvline(score, color="black", linewidth=0.8, linestyle="--")
    ax.set_yticks(np.arange(steps.size), labels)
    ax.invert_yaxis()
    ax.set_xlabel(_name_score(own))
    ends = f"{show_number(base, 4)} (dotted), score {show_number(score, 4)} (dashed)"
    ax.set_title(f"base value {ends}", fontsize="medium")
    return _clear_frame(ax)


def _draw_steps(ax: Axes, base: float, steps: np.ndarray) -> None:
    """Draw steps as bars, each from the end of the one below; the lowest begins at the base."""
    ends = base + np.cumsum(steps[::-1])[::-1]
    starts = np.append(ends[1:], base)
    places = np.arange(steps.size)
    colors = [HIGH if step > 0 else LOW for step in steps]
    ax.barh(places, steps, left=starts, color=colors, height=0.72)
    ax.vlines(starts[:-1], places[:-1] - 0.36, places[:-1] + 1.36, color=NEUTRAL, linewidth=0.8)
    for place, step, right in zip(places, steps, np.maximum(starts, ends), strict=True):
        _write_number(ax, show_number(step, sign="+"), right, float(place))
    low, high = float(min(starts.min(), ends.min())), float(max(starts.max(), ends.max()))
    room = high - low or 1.0
    ax.set_xlim(low - 0.05 * room, high + 0.17 * room)  # the numbers are on the right


@_document
@document_plot
def plot_beeswarm(
    explanation: Explanation,
    *,
    output: int | str | None = None,
    max_features: int = 15,
    ax: Axes | None = None,
) -> Axes:
    """Draw the contributions of each feature to all rows, colored by the feature's values.

    Parameters
    ----------
    {explanation}
    {output}
    max_features : int, default=15
        Number of features to draw, those that contribute most; the others are drawn as one.
    {ax}

    Notes
    -----
    Categories have no order, so they are gray, and so are missing values.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import GradientBoostingRegressor
    >>> from sumwise.plotting import plot_beeswarm
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, y)
    >>> ax = plot_beeswarm(model.explain(X), max_features=5)
    >>> ax.get_yticklabels()[-1].get_text()
    '5 other features'
    """
    own = _need_rows(_choose_output(explanation, output))
    ranking = _Ranking.of(own.importances, max_features)
    labels = ranking.name(list(own.feature_names))
    ax = get_axes(ax, 7.2, 0.36 * len(labels) + 1.4)
    ax.axvline(0.0, color="black", linewidth=0.8)
    colors = make_colormap()
    drawn = None
    for place, k in enumerate(ranking.shown.tolist()):
        values, is_ordered = own.values[:, k], has_order(own.data[:, k])
        shades = scale_values(read_numbers(own.data[:, k])) if is_ordered else None
        drawn = draw_swarm(ax, values, place, shades, colors) or drawn
    if ranking.others.size:
        total = own.values[:, ranking.others].sum(axis=1)
        draw_swarm(ax, total, len(labels) - 1, None, colors)
    ax.set_yticks(np.arange(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.set_xlabel(_name_contribution(own))
    if drawn is not None:
        bar = ax.figure.colorbar(drawn, ax=ax, ticks=[0.0, 1.0], aspect=40, pad=0.02)
        bar.ax.set_yticklabels(["low", "high"])
        is_short = len(labels) < _FEW_FEATURES
        bar.set_label("value" if is_short else "value of the feature", labelpad=-12)
        bar.outline.set_visible(False)
    return _clear_frame(ax)


@_document
@document_plot
def plot_dependence(
    explanation: Explanation,
    feature: int | str,
    *,
    color_by: int | str | None = "auto",
    output: int | str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the contributions of one feature against its values.

    Parameters
    ----------
    {explanation}
    feature : int or str
        The feature: a number, or a category, whose values are drawn side by side.
    color_by : int, str or None, default="auto"
        The feature that colors the points. "auto": the one that interacts most with the feature,
        by ``explanation.interactions`` if these were asked for, otherwise the one whose values tell
        most about contributions of rows with a similar value. None for one color.
    {output}
    {ax}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import GradientBoostingRegressor
    >>> from sumwise.plotting import plot_dependence
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, y)
    >>> ax = plot_dependence(model.explain(X), "bmi")
    >>> ax.get_xlabel()
    'bmi'
    """
    own = _need_rows(_choose_output(explanation, output))
    k = _find_feature(own, feature)
    ax = get_axes(ax, 7.2, 4.6)
    x = place_values(ax, own.data[:, k])
    ax.axhline(0.0, color="black", linewidth=0.8)
    if isinstance(color_by, str) and color_by == "auto":
        by = find_interacting(own, k)
    else:
        by = None if color_by is None else _find_feature(own, color_by)
    draw_points(ax, x, own.values[:, k], own, by)
    unit = " (seconds)" if holds_durations(own.data[:, k]) else ""
    ax.set_xlabel(shorten(own.feature_names[k]) + unit)
    ax.set_ylabel(_name_contribution(own))
    return _clear_frame(ax, keeps_y=True)


@_document
@document_plot
def plot_global_bars(
    explanation: Explanation, *, max_features: int = 15, ax: Axes | None = None
) -> Axes:
    """Draw the mean size of the contributions of each feature; those of several outputs stacked.

    Parameters
    ----------
    {explanation}
    max_features : int, default=15
        Number of features to draw, those that contribute most; the others are drawn as one.
    {ax}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sumwise import GradientBoostingClassifier
    >>> from sumwise.plotting import plot_global_bars
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = GradientBoostingClassifier(n_estimators=5).fit(X, y)
    >>> ax = plot_global_bars(model.explain(X))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['0', '1', '2']
    """
    check_data(Explanation, explanation, "model.explain")
    sizes = explanation.importances.reshape(len(explanation.feature_names), -1)
    ranking = _Ranking.of(sizes.sum(axis=1), max_features)
    labels = ranking.name(list(explanation.feature_names))
    widths = sizes[ranking.shown]
    if ranking.others.size:
        widths = np.vstack([widths, sizes[ranking.others].sum(axis=0)])
    ax = get_axes(ax, 7.2, 0.32 * len(labels) + 1.2)
    places, left = np.arange(len(labels)), np.zeros(len(labels))
    names = explanation.output_names
    n_outputs = widths.shape[1]
    for k, own in enumerate(widths.T):
        name = names[k] if n_outputs > 1 and names is not None else None
        ax.barh(places, own, left=left, color=pick_color(k, n_outputs), label=name, height=0.72)
        left = left + own
    if n_outputs > 1:
        _add_legend(ax, n_outputs)
    else:
        for place, size in zip(places, left, strict=True):
            _write_number(ax, show_number(size), size, float(place))
        ax.margins(x=0.12)
    ax.set_yticks(places, labels)
    ax.invert_yaxis()
    ax.set_xlabel(f"mean size of contributions ({explanation.scale or 'score'})")
    return _clear_frame(ax)


def _add_legend(ax: Axes, n_names: int) -> None:
    """Name few outputs in the empty corner, many beside the bars, which they would cover."""
    if n_names <= _MOST_IN_CORNER:
        ax.legend(loc="lower right")
        return
    n_columns = -(-n_names // _MOST_IN_COLUMN)
    beside: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
    ax.legend(ncols=n_columns, fontsize="small", frameon=False, **beside)


def _clear_frame(ax: Axes, keeps_y: bool = False) -> Axes:
    for side in ("top", "right") if keeps_y else ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    if not keeps_y:
        ax.tick_params(axis="y", length=0)
    return ax


# --- parts of explanations ---


def _choose_output(explanation: Any, output: int | str | None) -> Explanation:
    check_data(Explanation, explanation, "model.explain")
    names = explanation.output_names
    if names is None or isinstance(names, str):
        if output not in (None, 0, names):
            raise ParameterError(f"output={output!r}: the explanation has one output, {names!r}")
        return explanation
    if output is None:
        raise ParameterError(f"choose an output of {', '.join(map(repr, names))}: pass output=")
    if output not in names and not (isinstance(output, int) and 0 <= output < len(names)):
        raise ParameterError(f"output={output!r}: must be one of {', '.join(map(repr, names))}")
    return explanation[..., output]


def _need_rows(explanation: Explanation) -> Explanation:
    if explanation.values.ndim != 2:
        raise ParameterError("this plot needs several rows and features, not a selection of one")
    return explanation


def _find_feature(explanation: Explanation, feature: int | str) -> int:
    names = explanation.feature_names
    if isinstance(feature, str) and feature in names:
        return list(names).index(feature)
    if isinstance(feature, (int, np.integer)) and 0 <= feature < len(names):
        return int(feature)
    raise ParameterError(
        f"feature={feature!r}: must be the name of a feature, or its number up to {len(names) - 1}"
    )


def _write_number(ax: Axes, text: str, x: float, y: float) -> None:
    """Write a number to the right of a bar, above the lines."""
    ax.annotate(
        text,
        (x, y),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        fontsize="small",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
    )


def _name_score(explanation: Explanation) -> str:
    scale, output = explanation.scale or "score", explanation.output_names
    return scale if output is None else f"{scale} of {output!r}"


def _name_contribution(explanation: Explanation) -> str:
    return f"contribution to the {_name_score(explanation)}"
