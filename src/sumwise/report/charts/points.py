"""Points: scatter plots, and the swarm of contributions of features."""

from collections.abc import Mapping, Sequence

import numpy as np

from sumwise.plotting.points import spread_points
from sumwise.report.charts.frame import (
    N_SERIES,
    Frame,
    draw_dot,
    draw_line,
    label_rows,
    measure_labels,
    stack,
    write_legend,
)
from sumwise.report.charts.scales import find_range
from sumwise.report.markup import Markup, element

_ROW = 30.0
_MOST_LETTERS = 22
# Colors from low to high values in the style sheet, v0 to v8.
N_SHADES = 9


def draw_scatter(
    groups: Mapping[str, tuple[np.ndarray, np.ndarray, Sequence[str] | None]],
    x_title: str,
    y_title: str,
    alt: str,
    *,
    diagonal: bool = False,
    level: float | None = None,
    centers: bool = False,
    square: bool = False,
    x_range: tuple[float, float] | None = None,
    y_focus: tuple[float, float] = (-np.inf, np.inf),
    x_ticks: Sequence[tuple[float, str]] | None = None,
) -> Markup:
    """Draw points by group: x, y and tips.

    ``centers`` adds a large point at the mean of each group. Points above or below ``y_focus`` are
    drawn at the edge.
    """
    xs = [x for x, _, _ in groups.values()]
    ys = [y for _, y, _ in groups.values()]
    include = [] if level is None else [level]
    y_range = find_range(*(np.clip(y, *y_focus) for y in ys), include)
    x_range = find_range(*xs) if x_range is None else x_range
    if square:
        x_range = y_range = find_range(*xs, *ys)
    height = 300.0 if square else 270.0
    frame = Frame(x_range, y_range, x_title, y_title, height=height, x_ticks=x_ticks)
    if diagonal:
        low, high = max(x_range[0], y_range[0]), min(x_range[1], y_range[1])
        frame.add(draw_line(frame.x(low), frame.y(low), frame.x(high), frame.y(high), "reference"))
    if level is not None:
        at = frame.y(level)
        frame.add(draw_line(frame.x.start, at, frame.x.end, at, "reference"))
    n_points = sum(x.size for x in xs)
    style = "dot faint" if n_points > 150 else "dot"
    radius = 2.6 if n_points > 150 else 4.0
    for k, (x, y, tips) in enumerate(groups.values()):
        for i, (a, b) in enumerate(zip(frame.x(x), frame.y(y), strict=True)):
            tip = None if tips is None else tips[i]
            frame.add(draw_dot(a, b, f"{style} s{k % N_SERIES}", radius, tip))
    for k, (x, y, _) in enumerate(groups.values()) if centers else ():
        center = frame.x(float(x.mean())), frame.y(float(y.mean()))
        frame.add(draw_dot(*center, f"dot center s{k % N_SERIES}", 7.0, "mean of all pairs"))
    picture = frame.finish(alt)
    if len(groups) == 1:
        return picture
    return stack(
        write_legend(list(groups), [f"dot s{k % N_SERIES}" for k in range(len(groups))]), picture
    )


def draw_swarm(
    labels: Sequence[str],
    values: Sequence[np.ndarray],
    shades: Sequence[np.ndarray | None],
    tips: Sequence[Sequence[str]],
    x_title: str,
    alt: str,
) -> Markup:
    """Draw a row of points per label, spread where they are dense.

    ``shades`` are places between low and high values of a feature, 0 to 1; NaN and None are gray.
    """
    left = measure_labels(labels, _MOST_LETTERS)
    frame = Frame(
        find_range(*values),
        (0.0, 1.0),
        x_title,
        height=len(labels) * _ROW + 52.0,
        left=left,
        top=6.0,
        y_ticks=(),
        grid="x",
    )
    places = [6.0 + _ROW * (i + 0.5) for i in range(len(labels))]
    label_rows(frame, labels, places, _MOST_LETTERS)
    if frame.x.low <= 0.0 <= frame.x.high:
        zero = frame.x(0.0)
        frame.add(draw_line(zero, 6.0, zero, frame.y.start, "axis"))
    for k, place in enumerate(places):
        # Offsets are up to 0.4 of a row to each side.
        y = place - spread_points(values[k]) * _ROW
        own = shades[k]
        for i, (a, b) in enumerate(zip(frame.x(values[k]), y, strict=True)):
            shade = None if own is None or np.isnan(own[i]) else int(own[i] * (N_SHADES - 1) + 0.5)
            kind = "none" if shade is None else f"v{shade}"
            frame.add(draw_dot(a, b, kind, 2.4, tips[k][i]))
    picture = frame.finish(alt)
    ramp = [element("span", class_=f"swatch v{shade}") for shade in range(N_SHADES)]
    legend = element(
        "p",
        "low value ",
        element("span", *ramp, class_="ramp"),
        " high value",
        class_="scale",
    )
    return stack(legend, picture)
