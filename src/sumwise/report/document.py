"""Report: sections as one HTML page that needs nothing else, and as data."""

import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

from sumwise.report.blocks import Figure, Section
from sumwise.report.markup import Markup, element

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
        parts = _list_head(self.title)
        parts += self._list_body()
        return "\n".join(parts) + "\n"

    def _list_body(self) -> list[str]:
        facts = [
            element("div", element("dt", name), element("dd", value)) for name, value in self.facts
        ]
        links = [
            element("li", element("a", section.title, href=f"#{section.key}"))
            for section in self.sections
        ]
        switch = element(
            "button",
            type="button",
            id="theme",
            hidden=True,
        )
        titles = [
            element("h1", *_let_break(self.title)),
            element("p", self.subtitle) if self.subtitle else "",
        ]
        main = [
            element("dl", *facts) if facts else "",
            *(section.to_html() for section in self.sections),
        ]
        data = json.dumps(self.to_dict()["figures"], separators=(",", ":"), allow_nan=False)
        data = data.translate(_JSON_ESCAPES)
        return [
            "<body>",
            element("a", "Skip to the content", class_="skip", href="#content"),
            element("header", element("div", *titles), switch),
            element("nav", element("ul", *links), aria_label="Sections"),
            element("main", *main, id="content", tabindex=-1),
            element("div", id="tip", aria_hidden="true", hidden=True),
            element("script", Markup(data), type="application/json", id="figures"),
            element("script", Markup(_read_asset("report.js"))),
            "</body>",
            "</html>",
        ]

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
        """Show the page in a notebook, apart from the notebook's styles and scripts."""
        return element(
            "iframe",
            title=self.title,
            srcdoc=self.to_html(),
            sandbox="allow-scripts allow-downloads",
            style="width: 100%; height: 40rem; border: 1px solid #8886; border-radius: 6px",
        )

    def __repr__(self) -> str:
        names = ", ".join(section.title for section in self.sections)
        return f"Report({self.title!r}: {names})"


def _list_head(title: str) -> list[str]:
    return [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        # Browsers would ask for an icon otherwise.
        element("link", rel="icon", href="data:,"),
        element("style", Markup(_read_asset("report.css"))),
        "</head>",
    ]


def _let_break(title: str) -> list[str]:
    """Return a title that may break between the words of a name such as RandomForestRegressor."""
    words = re.split(r"(?<=[a-z])(?=[A-Z])", title)
    return [part for word in words for part in (Markup("<wbr>"), word)][1:]


@cache
def _read_asset(name: str) -> str:
    """Return the text of a file of this package."""
    return files("sumwise.report").joinpath(name).read_text(encoding="utf-8")
