"""Matrices as colored cells with numbers."""

from collections.abc import Sequence

import numpy as np

from sumwise.plotting.points import shorten
from sumwise.report.charts.frame import WIDTH, Frame, draw_box, label_rows, measure_labels
from sumwise.report.charts.scales import format_number
from sumwise.report.markup import Markup, element

_MOST_LETTERS = 16
# Labels that are closer to each other than this cannot be read.
_CLOSEST = 15.0
# Numbers are written into the cells of matrices up to this size.
_MOST_WRITTEN = 12
# Strength of the color of cells in the style sheet, h0 to h8.
_N_STRENGTHS = 9


def draw_matrix(
    rows: Sequence[str],
    columns: Sequence[str],
    values: np.ndarray,
    strengths: np.ndarray,
    tips: Sequence[Sequence[str]],
    alt: str,
    *,
    row_title: str = "",
    column_title: str = "",
    form: str = ".2f",
) -> Markup:
    """Draw cells; ``strengths`` between 0 and 1 are their colors, NaN stays blank."""
    n_rows, n_columns = values.shape
    left = measure_labels(rows, _MOST_LETTERS) + (16.0 if row_title else 0.0)
    right = 8.0
    size = (WIDTH - left - right) / n_columns
    head = measure_labels(columns, _MOST_LETTERS) * 0.78 + 8.0
    is_turned = max(map(len, columns)) * 6.6 > size
    if is_turned:  # the last label leans to the right
        right = 36.0
        size = (WIDTH - left - right) / n_columns
    height_of_row = min(size, 44.0)
    head = head if is_turned else 24.0
    head += 16.0 if column_title else 0.0
    height = head + height_of_row * n_rows + 6.0
    places = [head + height_of_row * (i + 0.5) for i in range(n_rows)]
    frame = Frame(
        (0.0, float(n_columns)),
        (0.0, 1.0),
        height=height + 22.0,
        left=left,
        right=right,
        y_ticks=(),
        x_ticks=(),
        grid="",
    )
    frame.clear()
    step = max(1, int(np.ceil(_CLOSEST / height_of_row)))
    label_rows(frame, rows[::step], places[::step], _MOST_LETTERS)
    for k in range(0, n_columns, max(1, int(np.ceil(_CLOSEST / size)))):
        _label_column(frame, columns[k], left + size * (k + 0.5), head - 8.0, is_turned)
    if column_title:
        frame.text(left + size * n_columns / 2, 12.0, column_title, "title middle")
    if row_title:
        turned = f"translate(12 {head + height_of_row * n_rows / 2:.1f}) rotate(-90)"
        frame.add(element("text", row_title, class_="title middle", transform=turned))
    is_written = max(n_rows, n_columns) <= _MOST_WRITTEN
    for (i, j), value in np.ndenumerate(values):
        x, y = left + size * j, head + height_of_row * i
        strength = strengths[i, j]
        kind = "none" if np.isnan(strength) else f"h{int(strength * (_N_STRENGTHS - 1) + 0.5)}"
        box = draw_box(
            x + 0.5, y + 0.5, x + size - 0.5, y + height_of_row - 0.5, f"cell {kind}", tips[i][j]
        )
        frame.add(box)
        if is_written and np.isfinite(value):
            text = format(value, form) if form else format_number(value)
            small = " small" if size < 34.0 else ""
            frame.text(x + size / 2, y + height_of_row / 2 + 4.0, text, f"value middle{small}")
    frame.height = height
    return frame.finish(alt)


def _label_column(frame: Frame, label: str, x: float, y: float, is_turned: bool) -> None:
    short = shorten(label, _MOST_LETTERS)
    if not is_turned:
        frame.text(x, y, short, "label middle")
        return
    turned = f"translate({x:.1f} {y:.1f}) rotate(-50)"
    tip = label if short != label else None
    frame.add(element("text", short, class_="label", transform=turned, data_tip=tip))
