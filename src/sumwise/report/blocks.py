"""Blocks of a report: text, tables, figures, warnings and code, each as HTML and as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from sumwise.report.markup import Markup, element, join


class Block(Protocol):
    """A part of a section."""

    def to_html(self) -> Markup:
        """Return its HTML."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return it as data that can be written as JSON."""
        ...


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str

    def to_html(self) -> Markup:
        """Return a paragraph."""
        return element("p", self.text)

    def to_dict(self) -> dict[str, Any]:
        """Return the text."""
        return {"kind": "text", "text": self.text}


@dataclass(frozen=True)
class Code:
    """Code or a command, which keeps its line breaks."""

    code: str

    def to_html(self) -> Markup:
        """Return preformatted text that the keyboard can scroll."""
        return element("pre", element("code", self.code), tabindex=0)

    def to_dict(self) -> dict[str, Any]:
        """Return the code."""
        return {"kind": "code", "code": self.code}


@dataclass(frozen=True)
class Warnings:
    """What a reader should check: pairs of a subject and what was found."""

    items: Sequence[tuple[str, str]]

    def to_html(self) -> Markup:
        """Return a list."""
        lines = [element("li", element("strong", name), " ", text) for name, text in self.items]
        return element("ul", *lines, class_="warnings")

    def to_dict(self) -> dict[str, Any]:
        """Return subjects and texts."""
        items = [{"subject": subject, "text": text} for subject, text in self.items]
        return {"kind": "warnings", "items": items}


@dataclass(frozen=True)
class Cell:
    """A number in a table with a text of its own."""

    value: float
    text: str


@dataclass(frozen=True)
class Column:
    """A column of a table: its title, how numbers are written, and what it means."""

    title: str
    form: str = ""
    about: str | None = None


@dataclass(frozen=True)
class Table:
    """A table whose columns can be sorted.

    Cells are texts, numbers (NaN and None are empty), a :class:`Cell`, or blocks. ``marked`` is the
    row that stands out; ``beside`` puts the table beside figures on wide screens.
    """

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    marked: int | None = None
    beside: bool = False

    def to_html(self) -> Markup:
        """Return the table in a frame that scrolls sideways on narrow screens."""
        heads = [self._write_head(place) for place in range(len(self.columns))]
        rows = [
            element("tr", *self._write_cells(row), class_="marked" if i == self.marked else None)
            for i, row in enumerate(self.rows)
        ]
        table = element(
            "table",
            element("caption", self.caption),
            element("thead", element("tr", *heads)),
            element("tbody", *rows),
        )
        return element(
            "div", table, class_="frame", tabindex=0, role="region", aria_label=self.caption
        )

    def _write_head(self, place: int) -> Markup:
        column = self.columns[place]
        is_number = any(_is_number(row[place]) or isinstance(row[place], Cell) for row in self.rows)
        about = column.about
        button = element(
            "button", column.title, type="button", data_tip=about, aria_description=about
        )
        return element("th", button, scope="col", class_="number" if is_number else None)

    def _write_cells(self, row: Sequence[Any]) -> list[Markup]:
        cells = []
        for place, (column, value) in enumerate(zip(self.columns, row, strict=True)):
            if value is None or (_is_number(value) and np.isnan(value)):
                cells.append(element("td"))
            elif _is_number(value):
                text = format(value, column.form)
                cells.append(element("td", text, class_="number", data_value=f"{value:.9g}"))
            elif isinstance(value, Cell):
                key = None if np.isnan(value.value) else f"{value.value:.9g}"
                cells.append(element("td", value.text, class_="number", data_value=key))
            elif not isinstance(value, str):
                cells.append(element("td", value.to_html()))
            elif place == 0:
                cells.append(element("th", value, scope="row"))
            else:
                cells.append(element("td", value))
        return cells

    def to_dict(self) -> dict[str, Any]:
        """Return the columns by name."""
        columns = {
            column.title: [
                to_plain(cell.value if isinstance(cell := row[place], Cell) else cell)
                for row in self.rows
            ]
            for place, column in enumerate(self.columns)
        }
        return {"kind": "table", "caption": self.caption, "columns": columns}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number))


@dataclass(frozen=True)
class Figure:
    """A picture drawn from numbers.

    Attributes
    ----------
    key : str
        Names the figure in the page and in the JSON.
    title : str
    svg : Markup
        The picture.
    data : mapping
        Its numbers.
    caption : str
        How to read it.
    """

    key: str
    title: str
    svg: Markup
    data: Mapping[str, Any]
    caption: str = ""

    def to_html(self) -> Markup:
        """Return the picture with its title, caption and a button for its numbers."""
        button = element(
            "button",
            "JSON",
            type="button",
            class_="json",
            data_figure=self.key,
            aria_label=f"Numbers of {self.title} as JSON",
        )
        texts = [element("h3", self.title), element("p", self.caption) if self.caption else ""]
        caption = element("figcaption", *texts, button)
        return element("figure", caption, self.svg, id=self.key)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers."""
        return {
            "kind": "figure",
            "key": self.key,
            "title": self.title,
            "caption": self.caption,
            "data": to_plain(self.data),
        }


@dataclass(frozen=True)
class Section:
    """A titled part of a report."""

    key: str
    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)

    def to_html(self) -> Markup:
        """Return the section; figures that follow each other share the width of the page."""
        parts: list[Markup] = []
        grid: list[Markup] = []
        for block in self.blocks:
            if isinstance(block, Figure) or (isinstance(block, Table) and block.beside):
                grid.append(block.to_html())
                continue
            parts += _arrange(grid)
            grid = []
            parts.append(block.to_html())
        parts += _arrange(grid)
        title = element("h2", self.title, id=f"{self.key}-title")
        return element(
            "section", title, join(*parts), id=self.key, aria_labelledby=f"{self.key}-title"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the blocks as data."""
        blocks = [block.to_dict() for block in self.blocks]
        return {"key": self.key, "title": self.title, "blocks": blocks}


def _arrange(grid: Sequence[Markup]) -> list[Markup]:
    return [element("div", *grid, class_="figures")] if grid else []


def to_plain(value: Any) -> Any:
    """Return a value as JSON knows it: floats have 6 digits, NaN and infinities are None."""
    if isinstance(value, np.ndarray):
        return to_plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): to_plain(own) for key, own in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(own) for own in value]
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (np.bool_, np.integer, np.str_)):
        return value.item()
    if isinstance(value, int):
        return value
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.6g}") if np.isfinite(value) else None
    return value.to_dict() if hasattr(value, "to_dict") else str(value)
