"""Points of rows, placed and colored by the values of features."""

from typing import Any

import numpy as np

from sumwise.inspection.colors import COLORS
from sumwise.inspection.explanation import Explanation, read_numbers, show_value
from sumwise.inspection.interacting import has_order
from sumwise.plotting.axes import MARKERS, Axes

# Blue and vermilion differ for all readers. The gray between them stays visible on white.
LOW, HIGH, NEUTRAL = COLORS[0], COLORS[1], "#999999"
_SCALE = (LOW, "#C8C8C8", HIGH)
# Categories with a color of their own; all others share one.
_MOST_CATEGORIES = 6
_MOST_LETTERS = 34
# Points of a vector graphic, above which they become an image.
_MOST_POINTS = 2000
_DAY = 86400  # seconds; matplotlib counts days


def draw_swarm(
    ax: Axes, values: np.ndarray, place: int, shades: np.ndarray | None, colors: Any
) -> Any:
    """Draw the points of one feature, spread where they are dense; return what has the colors."""
    y = place + spread_points(values)
    style: dict[str, Any] = {"s": 12, "linewidths": 0, "rasterized": values.size > _MOST_POINTS}
    is_gray = np.isnan(shades) if shades is not None else np.ones(values.size, dtype=np.bool_)
    ax.scatter(values[is_gray], y[is_gray], color=NEUTRAL, **style)
    if shades is None or is_gray.all():
        return None
    seen = ~is_gray
    return ax.scatter(
        values[seen], y[seen], c=shades[seen], cmap=colors, vmin=0.0, vmax=1.0, **style
    )


def spread_points(values: np.ndarray) -> np.ndarray:
    """Return offsets of points from their line: those of similar values lie beside each other."""
    low, high = float(values.min()), float(values.max())
    width = (high - low) / 100 or 1.0
    bins = ((values - low) / width).astype(np.int64)
    order = np.argsort(bins, kind="stable")
    counts = np.bincount(bins)
    within = np.arange(values.size) - np.repeat(np.cumsum(counts) - counts, counts)
    # Ranks 0, 1, 2, 3, ... become layers 0, 1, -1, 2, ...
    layer = np.where(within % 2, (within + 1) // 2, -(within // 2))
    offsets = np.empty(values.size)
    offsets[order] = layer
    return offsets * 0.8 / max(float(counts.max()), 8.0)


def draw_points(
    ax: Axes, x: np.ndarray, y: np.ndarray, explanation: Explanation, by: int | None
) -> None:
    """Draw points, colored by the values of a feature."""
    style: dict[str, Any] = {"s": 18, "linewidths": 0, "rasterized": y.size > _MOST_POINTS}
    if by is None:
        ax.scatter(x, y, color=COLORS[0], **style)
        return
    column, name = explanation.data[:, by], shorten(explanation.feature_names[by])
    if not has_order(column):
        _draw_categories(ax, x, y, column, name, style)
        return
    shades = scale_values(numbers := read_numbers(column))
    is_known = ~np.isnan(shades)
    ax.scatter(x[~is_known], y[~is_known], color=NEUTRAL, **style)
    if not is_known.any():
        return
    holds_dates = _holds_dates(column)
    numbers = numbers / _DAY if holds_dates else numbers
    low, high = np.quantile(numbers[is_known & np.isfinite(numbers)], [0.05, 0.95])
    drawn = ax.scatter(
        x[is_known],
        y[is_known],
        c=np.clip(numbers[is_known], low, high),
        cmap=make_colormap(),
        **style,
    )
    bar = ax.figure.colorbar(drawn, ax=ax, aspect=40, pad=0.02)
    if holds_dates:
        _show_dates(bar.ax.yaxis)
    bar.set_label(name)
    bar.outline.set_visible(False)


def _draw_categories(
    ax: Axes, x: np.ndarray, y: np.ndarray, column: np.ndarray, name: str, style: dict[str, Any]
) -> None:
    """Draw points with a color and marker for each frequent category."""
    texts = np.array([shorten(show_value(value)) for value in column], dtype=object)
    found, counts = np.unique(texts.astype(str), return_counts=True)
    shown = sorted(found[np.argsort(-counts, kind="stable")][:_MOST_CATEGORIES].tolist())
    is_other = ~np.isin(texts, shown)
    for k, text in enumerate(shown):
        own = texts == text
        ax.scatter(x[own], y[own], color=COLORS[k], marker=MARKERS[k], label=text, **style)
    if is_other.any():
        ax.scatter(x[is_other], y[is_other], color=NEUTRAL, label="other", **style)
    legend = ax.legend(title=name, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    legend.set_frame_on(False)


def place_values(ax: Axes, column: np.ndarray) -> np.ndarray:
    """Return the positions of values on the x axis; categories lie side by side."""
    numbers = read_numbers(column)
    is_known = ~np.isnan(numbers)
    jitter = 0.5 * (np.arange(numbers.size) * 0.6180339887498949 % 1.0) - 0.25
    if not has_order(column) or _holds_booleans(column):
        texts = [shorten(show_value(value), 16) for value in column]
        codes = np.where(is_known, numbers, numbers[is_known].max(initial=-1) + 1)
        found, first = np.unique(codes, return_index=True)
        step = -(-found.size // 30)
        ax.set_xticks(found[::step], [texts[k] for k in first[::step]])
        if found.size > 8 or max(map(len, texts)) > 10:
            ax.tick_params(axis="x", rotation=60)
        return codes + jitter
    if _holds_dates(column):
        numbers = numbers / _DAY
        _show_dates(ax.xaxis)
    finite = numbers[np.isfinite(numbers)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
    room = 0.06 * (high - low or 1.0)
    positions = np.clip(numbers, low - room, high + room)  # infinities at the ends
    if not is_known.all():
        place = low - 3 * room
        positions = np.where(is_known, positions, place + room * jitter)
        _keep_ticks_within(ax, low - room, high + room, _holds_dates(column))
        ax.axvline(low - 1.5 * room, color=NEUTRAL, linewidth=0.8, linestyle=":")
        ax.annotate(
            "missing",
            (place, 1.0),
            xycoords=("data", "axes fraction"),
            ha="center",
            va="bottom",
            fontsize="small",
        )
    return positions


def scale_values(numbers: np.ndarray) -> np.ndarray:
    """Return the position of each number between low and high values, from 0 to 1."""
    finite = numbers[np.isfinite(numbers)]
    if not finite.size:
        return np.full(numbers.size, np.nan)
    low, high = np.quantile(finite, [0.05, 0.95])
    if low == high:
        low, high = finite.min(), finite.max()
    if low == high:
        return np.where(np.isnan(numbers), np.nan, 0.5)
    return np.clip((numbers - low) / (high - low), 0.0, 1.0)


def _show_dates(axis: Any) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator()  # type: ignore[no-untyped-call]
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def _keep_ticks_within(ax: Axes, low: float, high: float, holds_dates: bool) -> None:
    from matplotlib.dates import AutoDateLocator, num2date
    from matplotlib.ticker import FixedLocator, MaxNLocator

    if holds_dates:
        dates: Any = AutoDateLocator()  # type: ignore[no-untyped-call]
        ticks = dates.tick_values(*map(num2date, (low, high)))
    else:
        ticks = MaxNLocator(8).tick_values(low, high)
    ax.xaxis.set_major_locator(FixedLocator([tick for tick in ticks if low <= tick <= high]))


def _holds_dates(column: np.ndarray) -> bool:
    return any(isinstance(value, np.datetime64) for value in column[:1])


def holds_durations(column: np.ndarray) -> bool:
    """Whether the values are durations, which are drawn in seconds."""
    return any(isinstance(value, np.timedelta64) for value in column[:1])


def _holds_booleans(column: np.ndarray) -> bool:
    known = [value for value in column if show_value(value) != "missing"]
    return bool(known) and all(isinstance(value, (bool, np.bool_)) for value in known)


def make_colormap() -> Any:
    """Return the colors from low to high values."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("low to high", _SCALE)


def shorten(text: str, most: int = _MOST_LETTERS) -> str:
    """Return the beginning of a long text."""
    return text if len(text) <= most else text[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"
