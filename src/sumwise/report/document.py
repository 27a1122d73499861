"""Report: sections as one HTML page that needs nothing else, and as data."""

import json
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

from sumwise.report.blocks import Figure, Section

# What may end the element, or begin a comment that hides its end, in embedded JSON.
_JSON_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


class Report:
    """A report on a model or on a comparison of models.

    In a notebook, it shows itself. :meth:`save` writes the page; it is one file that asks for
    nothing from elsewhere and can be sent by mail.

    Parameters
    ----------
    title : str
    sections : sequence of Section
    facts : sequence of (str, str), default=()
        Names and values at the top of the page.
    subtitle : str, default=""

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = GradientBoostingRegressor(n_estimators=20).fit(X[::2], y[::2])
    >>> report = model.report(X[1::2], y[1::2])
    >>> [section["title"] for section in report.to_dict()["sections"]][0]
    'Scores'
    """

    def __init__(
        self,
        title: str,
        sections: Sequence[Section],
        facts: Sequence[tuple[str, str]] = (),
        subtitle: str = "",
    ) -> None:
        self.title = title
        self.sections = tuple(sections)
        self.facts = tuple(facts)
        self.subtitle = subtitle

    def to_html(self) -> str:
        """Return the page."""
        body = "".join(section.to_html() for section in self.sections)
        links = "".join(
            f'<li><a href="#{section.key}">{escape(section.title)}</a></li>'
            for section in self.sections
        )
        facts = "".join(
            f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
            for name, value in self.facts
        )
        data = json.dumps(self.to_dict()["figures"], separators=(",", ":"), allow_nan=False)
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n'
            f"<title>{escape(self.title)}</title>\n"
            '<link rel="icon" href="data:,">\n'
            f"<style>\n{_read_asset('report.css')}</style>\n</head>\n<body>\n"
            '<a class="skip" href="#content">Skip to the content</a>\n'
            f"<header><div><h1>{escape(self.title)}</h1>"
            f"{f'<p>{escape(self.subtitle)}</p>' if self.subtitle else ''}</div>"
            '<button type="button" id="theme" aria-label="Switch between light and dark" hidden>'
            "</button></header>\n"
            f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n'
            f'<main id="content" tabindex="-1">{f"<dl>{facts}</dl>" if facts else ""}{body}'
            "</main>\n"
            '<div id="tip" role="status" hidden></div>\n'
            '<script type="application/json" id="figures">'
            f"{data.translate(_JSON_ESCAPES)}</script>\n"
            f"<script>\n{_read_asset('report.js')}</script>\n</body>\n</html>\n"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the content as data: texts, tables, and the numbers of the figures.

        ``json.dumps`` writes it. ``"figures"`` has the numbers of each figure by its key.
        """
        blocks = [block for section in self.sections for block in section.blocks]
        figures = [block.to_dict() for block in blocks if isinstance(block, Figure)]
        return {
            "title": self.title,
            "subtitle": self.subtitle,
            "facts": dict(self.facts),
            "sections": [section.to_dict() for section in self.sections],
            "figures": {
                figure["key"]: {"title": figure["title"], **figure["data"]} for figure in figures
            },
        }

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file.

        Parameters
        ----------
        path : str or path-like
            An HTML file; an existing one is replaced.
        """
        Path(path).write_text(self.to_html(), encoding="utf-8")

    def _repr_html_(self) -> str:
        """Show the page in a notebook, apart from its styles and scripts."""
        page = escape(self.to_html(), quote=True)
        return (
            f'<iframe title="{escape(self.title)}" srcdoc="{page}" '
            'sandbox="allow-scripts allow-downloads" '
            'style="width: 100%; height: 40rem; border: 1px solid #8886; border-radius: 6px">'
            "</iframe>"
        )

    def __repr__(self) -> str:
        names = ", ".join(section.title for section in self.sections)
        return f"Report({self.title!r}: {names})"


@cache
def _read_asset(name: str) -> str:
    """Return the text of a file of this package."""
    return files("sumwise.report").joinpath(name).read_text(encoding="utf-8")
