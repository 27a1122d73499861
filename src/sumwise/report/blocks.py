"""Blocks of a report: text, tables, figures, warnings and code, each as HTML and as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Literal, Protocol

import numpy as np


class Block(Protocol):
    """A part of a section."""

    def to_html(self) -> str:
        """Return its HTML; texts of users are escaped."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return it as data that can be written as JSON."""
        ...


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str

    def to_html(self) -> str:
        """Return a paragraph."""
        return f"<p>{escape(self.text)}</p>"

    def to_dict(self) -> dict[str, Any]:
        """Return the text."""
        return {"kind": "text", "text": self.text}


@dataclass(frozen=True)
class Code:
    """Code or a command, which keeps its line breaks."""

    code: str

    def to_html(self) -> str:
        """Return preformatted text that the keyboard can scroll."""
        return f'<pre tabindex="0"><code>{escape(self.code)}</code></pre>'

    def to_dict(self) -> dict[str, Any]:
        """Return the code."""
        return {"kind": "code", "code": self.code}


@dataclass(frozen=True)
class Warnings:
    """What a reader should check: pairs of a subject and what was found."""

    items: Sequence[tuple[str, str]]

    def to_html(self) -> str:
        """Return a list."""
        lines = "".join(
            f"<li><strong>{escape(subject)}</strong> {escape(text)}</li>"
            for subject, text in self.items
        )
        return f'<ul class="warnings">{lines}</ul>'

    def to_dict(self) -> dict[str, Any]:
        """Return subjects and texts."""
        items = [{"subject": subject, "text": text} for subject, text in self.items]
        return {"kind": "warnings", "items": items}


@dataclass(frozen=True)
class Column:
    """A column of a table: its title, how numbers are written, and what it means."""

    title: str
    form: str = ""
    about: str = ""


@dataclass(frozen=True)
class Table:
    """A table whose columns can be sorted.

    Cells are texts, numbers (NaN and None are empty), or blocks with a method ``to_html``.
    """

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    marked: int | None = None

    def to_html(self) -> str:
        """Return the table in a frame that scrolls sideways on narrow screens."""
        heads = "".join(self._head(k) for k in range(len(self.columns)))
        rows = "".join(
            f"<tr{' class="marked"' if i == self.marked else ''}>{self._cells(row)}</tr>"
            for i, row in enumerate(self.rows)
        )
        return (
            f'<div class="frame" tabindex="0" role="region" aria-label="{escape(self.caption)}">'
            f"<table><caption>{escape(self.caption)}</caption>"
            f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
        )

    def _is_numeric(self, place: int) -> bool:
        return any(isinstance(row[place], (int, float, np.number)) for row in self.rows)

    def _head(self, place: int) -> str:
        column = self.columns[place]
        kind = ' class="number"' if self._is_numeric(place) else ""
        about = f' data-tip="{escape(column.about)}"' if column.about else ""
        return (
            f'<th scope="col"{kind}><button type="button"{about}>{escape(column.title)}'
            "</button></th>"
        )

    def _cells(self, row: Sequence[Any]) -> str:
        cells = []
        for place, (column, value) in enumerate(zip(self.columns, row, strict=True)):
            if isinstance(value, (int, float, np.number)):
                text = "" if np.isnan(value) else format(value, column.form)
                key = "" if np.isnan(value) else f' data-value="{float(value):.17g}"'
                cells.append(f'<td class="number"{key}>{text}</td>')
            elif value is None:
                cells.append("<td></td>")
            elif isinstance(value, str):
                tag = 'th scope="row"' if place == 0 else "td"
                cells.append(f"<{tag}>{escape(value)}</{tag[:2]}>")
            else:
                cells.append(f"<td>{value.to_html()}</td>")
        return "".join(cells)

    def to_dict(self) -> dict[str, Any]:
        """Return the columns by name."""
        columns = {
            column.title: [to_plain(row[place]) for row in self.rows]
            for place, column in enumerate(self.columns)
        }
        return {"kind": "table", "caption": self.caption, "columns": columns}


@dataclass(frozen=True)
class Figure:
    """A picture drawn from numbers.

    Attributes
    ----------
    key : str
        Names the figure in the page and in the JSON.
    title : str
    svg : str
        Inline SVG, without an outer label.
    alt : str
        What the picture shows, for those who do not see it.
    data : mapping
        The numbers of the picture.
    caption : str
        How to read it.
    width : {"half", "full"}
        Share of the page on wide screens.
    """

    key: str
    title: str
    svg: str
    alt: str
    data: Mapping[str, Any]
    caption: str = ""
    width: Literal["half", "full"] = "half"

    def to_html(self) -> str:
        """Return the picture with its title, caption and a button for its numbers."""
        caption = f"<p>{escape(self.caption)}</p>" if self.caption else ""
        label = escape(self.alt, quote=True)
        return (
            f'<figure id="{self.key}" class="{self.width}"><figcaption><h3>{escape(self.title)}'
            f"</h3>{caption}</figcaption>"
            f"{self.svg.replace('<svg ', f'<svg role="img" aria-label="{label}" ', 1)}"
            f'<button type="button" class="json" data-figure="{self.key}" aria-label="Numbers of '
            f'{escape(self.title)} as JSON">JSON</button></figure>'
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers."""
        return {
            "kind": "figure",
            "key": self.key,
            "title": self.title,
            "alt": self.alt,
            "caption": self.caption,
            "data": to_plain(self.data),
        }


@dataclass(frozen=True)
class Section:
    """A titled part of a report."""

    key: str
    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)

    def to_html(self) -> str:
        """Return the section; figures in a row share the width of the page."""
        parts, run = [], ""
        for block in self.blocks:
            if isinstance(block, Figure):
                run += block.to_html()
                continue
            parts.append(f'<div class="figures">{run}</div>' if run else "")
            parts.append(block.to_html())
            run = ""
        parts.append(f'<div class="figures">{run}</div>' if run else "")
        return (
            f'<section id="{self.key}" aria-labelledby="{self.key}-title">'
            f'<h2 id="{self.key}-title">{escape(self.title)}</h2>{"".join(parts)}</section>'
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the blocks as data."""
        blocks = [block.to_dict() for block in self.blocks]
        return {"key": self.key, "title": self.title, "blocks": blocks}


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
