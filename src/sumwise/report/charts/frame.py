"""Frame: a picture with two axes, to which charts add their marks."""

from collections.abc import Sequence

import numpy as np

from sumwise.plotting.points import shorten
from sumwise.report.charts.scales import Scale
from sumwise.report.markup import Markup, element, join

# All pictures have this width in their own units, in which letters are about 6.7 wide and 12 high.
WIDTH = 420.0
_LETTER = 6.7
_TICKS_ROOM = 22.0
_TITLE_ROOM = 18.0
# Colors and dashes of the style sheet, s0 to s7.
N_SERIES = 8


class Frame:
    """A picture that is being drawn.

    Parameters
    ----------
    x, y : (float, float)
        Ranges of values, from left to right and from bottom to top.
    x_title, y_title : str
        What the axes show.
    height : float, default=270
    left, right, top : float
        Room for labels.
    """

    def __init__(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        x_title: str = "",
        y_title: str = "",
        *,
        height: float = 270.0,
        left: float | None = None,
        right: float = 10.0,
        top: float = 10.0,
        y_ticks: Sequence[tuple[float, str]] | None = None,
        x_ticks: Sequence[tuple[float, str]] | None = None,
        grid: str = "xy",
    ) -> None:
        self.height = height
        self._marks: list[Markup] = []
        bottom = height - _TICKS_ROOM - (_TITLE_ROOM if x_title else 0.0)
        self.y = Scale(*y, bottom, top)
        own_y = self.y.ticks(5) if y_ticks is None else y_ticks
        if left is None:
            longest = max((len(text) for _, text in own_y), default=0)
            left = longest * _LETTER + 12.0 + (_TITLE_ROOM if y_title else 0.0)
        self.x = Scale(*x, left, WIDTH - right)
        own_x = self.x.ticks(5) if x_ticks is None else x_ticks
        self._draw_grid(own_x, own_y, grid)
        self._draw_labels(own_x, own_y, x_title, y_title)

    def _draw_grid(
        self,
        x_ticks: Sequence[tuple[float, str]],
        y_ticks: Sequence[tuple[float, str]],
        grid: str,
    ) -> None:
        left, right, bottom, top = self.x.start, self.x.end, self.y.start, self.y.end
        if "x" in grid:
            places = [self.x(value) for value, _ in x_ticks]
            self.add(*(draw_line(at, bottom, at, top, "grid") for at in places))
        if "y" in grid:
            places = [self.y(value) for value, _ in y_ticks]
            self.add(*(draw_line(left, at, right, at, "grid") for at in places))
        self.add(draw_line(left, bottom, right, bottom, "axis"))

    def _draw_labels(
        self,
        x_ticks: Sequence[tuple[float, str]],
        y_ticks: Sequence[tuple[float, str]],
        x_title: str,
        y_title: str,
    ) -> None:
        bottom = self.y.start
        for value, text in x_ticks:
            self.text(self.x(value), bottom + 16.0, text, "tick middle")
        for value, text in y_ticks:
            self.text(self.x.start - 7.0, self.y(value) + 4.0, text, "tick end")
        if x_title:
            middle = (self.x.start + self.x.end) / 2
            self.text(middle, self.height - 5.0, x_title, "title middle")
        if y_title:
            middle = (self.y.start + self.y.end) / 2
            turned = f"translate(12 {middle:.1f}) rotate(-90)"
            self.add(element("text", y_title, class_="title middle", transform=turned))

    def clear(self) -> None:
        """Remove what is drawn so far, such as the axes of a picture without any."""
        self._marks.clear()

    def add(self, *marks: Markup) -> None:
        """Draw marks over those before."""
        self._marks.extend(marks)

    def text(self, x: float, y: float, text: str, class_: str) -> None:
        """Write a text."""
        self.add(element("text", text, x=x, y=y, class_=class_))

    def finish(self, alt: str) -> Markup:
        """Return the picture; ``alt`` says what it shows to those who do not see it."""
        return element(
            "svg",
            *self._marks,
            viewBox=f"0 0 {WIDTH:.0f} {self.height:.0f}",
            role="img",
            aria_label=alt,
        )


def draw_line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """Return a straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def draw_path(x: np.ndarray, y: np.ndarray, class_: str) -> Markup:
    """Return a line through points."""
    places = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return element("polyline", points=places, class_=class_)


def draw_box(
    left: float, top: float, right: float, bottom: float, class_: str, tip: str | None = None
) -> Markup:
    """Return a rectangle between two corners."""
    x, y = min(left, right), min(top, bottom)
    return element(
        "rect",
        x=x,
        y=y,
        width=abs(right - left),
        height=abs(bottom - top),
        class_=class_,
        data_tip=tip,
    )


def draw_dot(
    x: float, y: float, class_: str, radius: float = 4.0, tip: str | None = None
) -> Markup:
    """Return a circle."""
    return element("circle", cx=x, cy=y, r=radius, class_=class_, data_tip=tip)


def measure_labels(labels: Sequence[str], most: int) -> float:
    """Return the room that labels need, if they are shortened to so many letters."""
    longest = max((min(len(label), most) for label in labels), default=0)
    return longest * _LETTER + 12.0


def label_rows(frame: Frame, labels: Sequence[str], places: Sequence[float], most: int) -> None:
    """Write a label to the left of each row; a long one is shortened and has its text as a tip."""
    for label, place in zip(labels, places, strict=True):
        short = shorten(label, most)
        frame.add(
            element(
                "text",
                short,
                x=frame.x.start - 7.0,
                y=place + 4.0,
                class_="label end",
                data_tip=label if short != label else None,
            )
        )


def write_legend(names: Sequence[str], marks: Sequence[str]) -> Markup:
    """Return a legend: each name behind a mark of a class of the style sheet."""
    items = [
        element("li", element("span", class_=f"swatch {mark}"), name)
        for name, mark in zip(names, marks, strict=True)
    ]
    return element("ul", *items, class_="legend")


def stack(*parts: Markup) -> Markup:
    """Return a legend above a picture."""
    return join(*parts)
