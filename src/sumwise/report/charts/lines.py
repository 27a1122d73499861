"""Lines over a common axis, with bands that show the values at a place."""

from collections.abc import Mapping, Sequence

import numpy as np

from sumwise.report.charts.frame import (
    N_SERIES,
    Frame,
    draw_box,
    draw_dot,
    draw_line,
    draw_path,
    stack,
    write_legend,
)
from sumwise.report.charts.scales import find_range, format_number
from sumwise.report.markup import Markup, element

# More places of a line cannot be distinguished.
_MOST_PLACES = 240
_MOST_BANDS = 60


def thin(n_values: int, most: int = _MOST_PLACES) -> np.ndarray:
    """Return at most so many indices of values, evenly, the first and the last included."""
    if n_values <= most:
        return np.arange(n_values)
    return np.unique(np.linspace(0, n_values - 1, most).round().astype(np.intp))


def draw_lines(
    series: Mapping[str, tuple[np.ndarray, np.ndarray]],
    x_title: str,
    y_title: str,
    alt: str,
    *,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    mark: tuple[float, str] | None = None,
    level: tuple[float, str] | None = None,
    diagonal: bool = False,
    dots: bool = False,
) -> Markup:
    """Draw a line per name, through places ``x`` and ``y``.

    Parameters
    ----------
    series : mapping of str to (x, y)
    x_title, y_title, alt : str
    x_range, y_range : (float, float) or None
        None for the range of the values.
    mark : (float, str) or None
        A place of the x axis that stands out, and its name.
    level : (float, str) or None
        A height that stands out, and its name.
    diagonal : bool
        Whether to draw the line on which both values are equal.
    dots : bool
        Whether to draw the places, for lines of few of them.
    """
    xs = [x for x, _ in series.values()]
    ys = [y for _, y in series.values()]
    if x_range is None:
        x_range = find_range(*xs, room=0.0)
    if y_range is None:
        y_range = find_range(*ys, [] if level is None else [level[0]])
    frame = Frame(x_range, y_range, x_title, y_title)
    if diagonal:
        low, high = max(x_range[0], y_range[0]), min(x_range[1], y_range[1])
        frame.add(draw_line(frame.x(low), frame.y(low), frame.x(high), frame.y(high), "reference"))
    if mark is not None:
        at = frame.x(mark[0])
        frame.add(draw_line(at, frame.y.start, at, frame.y.end, "reference"))
    if level is not None:
        at = frame.y(level[0])
        frame.add(draw_line(frame.x.start, at, frame.x.end, at, "reference"))
    for k, (x, y) in enumerate(zip(xs, ys, strict=True)):
        kept = thin(len(x))
        frame.add(draw_path(frame.x(x[kept]), frame.y(y[kept]), f"line s{k % N_SERIES}"))
        if dots:
            places = zip(frame.x(x), frame.y(y), strict=True)
            frame.add(*(draw_dot(a, b, f"dot s{k % N_SERIES}", 3.5) for a, b in places))
    frame.add(*_draw_bands(frame, series, x_title, y_title))
    names = list(series)
    marks = [f"line s{k % N_SERIES}" for k in range(len(names))]
    extra = [pair[1] for pair in (mark, level) if pair is not None]
    if len(names) + len(extra) == 1 and not names[0]:
        return frame.finish(alt)
    return stack(
        write_legend([*names, *extra], [*marks, *["reference"] * len(extra)]), frame.finish(alt)
    )


def _draw_bands(
    frame: Frame,
    series: Mapping[str, tuple[np.ndarray, np.ndarray]],
    x_title: str,
    y_title: str,
) -> list[Markup]:
    """Return invisible bands, each with the values of all lines at its place as a tip."""
    longest = max((x for x, _ in series.values()), key=len)
    kept = thin(len(longest), _MOST_BANDS)
    values = longest[kept]
    places = np.asarray(frame.x(values), dtype=np.float64)
    edges = np.concatenate([[frame.x.start], (places[1:] + places[:-1]) / 2, [frame.x.end]])
    bands = []
    for k, value in enumerate(values):
        lines = [f"{x_title}: {format_number(float(value))}"]
        for name, (x, y) in series.items():
            near = int(np.abs(x - value).argmin())
            lines.append(f"{name or y_title}: {format_number(float(y[near]))}")
        tip = "\n".join(lines)
        bands.append(draw_box(edges[k], frame.y.end, edges[k + 1], frame.y.start, "hit", tip))
    return bands


def draw_histogram(edges: np.ndarray, counts: np.ndarray, x_title: str, alt: str) -> Markup:
    """Draw counts of values between edges."""
    frame = Frame(
        (float(edges[0]), float(edges[-1])),
        find_range(counts, include=(0.0,)),
        x_title,
        "rows",
        grid="y",
    )
    zero = frame.y(0.0)
    for k, count in enumerate(counts):
        left, right = frame.x(edges[k]), frame.x(edges[k + 1])
        between = f"{format_number(edges[k])} to {format_number(edges[k + 1])}"
        tip = f"{between}: {int(count):,} rows"
        frame.add(draw_box(left + 0.5, zero, right - 0.5, frame.y(count), "bar s0", tip))
    return frame.finish(alt)


def draw_spark(counts: Sequence[float] | np.ndarray, alt: str) -> Markup:
    """Draw a small histogram for a cell of a table."""
    top = max(float(np.max(counts, initial=0.0)), 1.0)
    width = 64.0 / max(len(counts), 1)
    bars = [
        draw_box(k * width + 0.4, 20.0, (k + 1) * width - 0.4, 20.0 - 19.0 * count / top, "bar s0")
        for k, count in enumerate(counts)
        if count > 0
    ]
    return element("svg", *bars, viewBox="0 0 64 20", class_="spark", role="img", aria_label=alt)
