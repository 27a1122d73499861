"""Rows with labels: bars, points with intervals, and steps from one value to another."""

from collections.abc import Sequence

import numpy as np

from sumwise.report.charts.frame import (
    Frame,
    draw_box,
    draw_dot,
    draw_line,
    label_rows,
    measure_labels,
)
from sumwise.report.charts.scales import find_range, format_number
from sumwise.report.markup import Markup

_ROW = 24.0
_MOST_LETTERS = 24


def _open_rows(
    labels: Sequence[str], x: tuple[float, float], x_title: str, right: float = 12.0
) -> tuple[Frame, list[float]]:
    """Return a frame with a labeled row for each label, and the middles of the rows."""
    height = len(labels) * _ROW + 52.0
    left = measure_labels(labels, _MOST_LETTERS)
    frame = Frame(
        x,
        (0.0, 1.0),
        x_title,
        height=height,
        left=left,
        right=right,
        top=6.0,
        y_ticks=(),
        grid="x",
    )
    places = [6.0 + _ROW * (i + 0.5) for i in range(len(labels))]
    label_rows(frame, labels, places, _MOST_LETTERS)
    return frame, places


def draw_bars(
    labels: Sequence[str],
    values: np.ndarray,
    x_title: str,
    alt: str,
    errors: np.ndarray | None = None,
) -> Markup:
    """Draw a bar per label, from zero, with its number; ``errors`` are drawn as whiskers."""
    spread = np.zeros(len(values)) if errors is None else errors
    low, high = find_range(values - spread, values + spread, include=(0.0,), room=0.02)
    frame, places = _open_rows(labels, (low, high), x_title, right=52.0)
    zero = frame.x(0.0)
    for label, value, error, place in zip(labels, values, spread, places, strict=True):
        end = frame.x(value)
        around = f" ± {format_number(error, 2)}" if errors is not None else ""
        tip = f"{label}: {format_number(value)}{around}"
        frame.add(draw_box(zero, place - 7.5, end, place + 7.5, "bar s0", tip))
        if errors is not None:
            frame.add(
                draw_line(frame.x(value - error), place, frame.x(value + error), place, "whisker")
            )
        after = frame.x(max(value + error, 0.0)) + 5.0
        frame.text(after, place + 4.0, format_number(value, 2), "tick")
    frame.add(draw_line(zero, 6.0, zero, frame.y.start, "axis"))
    return frame.finish(alt)


def draw_intervals(
    labels: Sequence[str],
    middle: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    classes: Sequence[str],
    x_title: str,
    alt: str,
    reference: float | None = None,
    focus: tuple[float, float] = (-np.inf, np.inf),
) -> Markup:
    """Draw a point with an interval per label; NaN ends leave the interval out.

    What lies outside of ``focus`` is drawn at the edge, with its number.
    """
    include = () if reference is None else (reference,)
    is_near = (middle >= focus[0]) & (middle <= focus[1])
    near = [own[is_near] for own in (middle, low, high)]
    x = find_range(*near, np.clip(middle, *focus), include, room=0.05)
    frame, places = _open_rows(labels, x, x_title)
    if reference is not None:
        at = frame.x(reference)
        frame.add(draw_line(at, 6.0, at, frame.y.start, "reference"))
    for k, place in enumerate(places):
        if not np.isfinite(middle[k]):
            frame.text(frame.x.start + 6.0, place + 4.0, "no score", "tick")
            continue
        tip = f"{labels[k]}: {format_number(middle[k])}"
        if np.isfinite(low[k]):
            tip += f" ({format_number(low[k])} to {format_number(high[k])})"
            ends = frame.x(low[k]), frame.x(high[k])
            frame.add(draw_line(ends[0], place, ends[1], place, f"interval {classes[k]}"))
        frame.add(draw_dot(frame.x(middle[k]), place, f"dot {classes[k]}", 5.0, tip))
        if middle[k] > x[1]:
            text = f"{format_number(middle[k], 3)} →"
            frame.text(frame.x(middle[k]) - 9.0, place - 4.0, text, "tick end small")
        elif middle[k] < x[0]:
            text = f"← {format_number(middle[k], 3)}"
            frame.text(frame.x(middle[k]) + 9.0, place - 4.0, text, "tick small")
    return frame.finish(alt)


def draw_steps(
    labels: Sequence[str], starts: np.ndarray, ends: np.ndarray, x_title: str, alt: str
) -> Markup:
    """Draw how one value becomes another: a bar from its start to its end per label.

    Bars that begin at zero are totals; others are drawn in the color of a gain, to the left, or of
    a loss, to the right.
    """
    low, high = find_range(starts, ends, include=(0.0,), room=0.02)
    frame, places = _open_rows(labels, (low, high), x_title, right=56.0)
    for k, place in enumerate(places):
        start, end = float(starts[k]), float(ends[k])
        is_total = start == 0.0
        kind = "s0" if is_total else "gain" if end < start else "loss"
        change = end if is_total else end - start
        text = format_number(change, 3) if is_total else format_number(change, 3, "+")
        tip = f"{labels[k]}: {text}"
        frame.add(
            draw_box(frame.x(start), place - 7.5, frame.x(end), place + 7.5, f"bar {kind}", tip)
        )
        frame.text(frame.x(max(start, end)) + 5.0, place + 4.0, text, "tick")
        if k + 1 < len(places):
            at = frame.x(end)
            frame.add(draw_line(at, place + 7.5, at, places[k + 1] - 7.5, "reference"))
    return frame.finish(alt)
