"""Progress in notebooks: a bar in the output of the cell, without another package.

A notebook's standard error is no terminal: lines cannot be overwritten there, and the bars of rich
need widgets that many installations lack. IPython can update what a cell has displayed.
"""

import sys
from collections.abc import Callable
from html import escape
from typing import Any

_STYLE = "font: 13px/1.5 system-ui, sans-serif; font-variant-numeric: tabular-nums"


def find_display() -> Callable[..., Any] | None:
    """Return IPython's function ``display`` if this process runs cells of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    # A shell in a terminal has no kernel.
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display  # type: ignore[import-not-found]

    return display


class NotebookBar:
    """A progress bar with a text, displayed when it is first updated.

    Parameters
    ----------
    display : callable
        From :func:`find_display`.
    """

    def __init__(self, display: Callable[..., Any]) -> None:
        self._display = display
        self._handle: Any = None

    def update(self, share: float | None, text: str) -> None:
        """Show the share of the work that is done, None if it is not known, and a text."""
        content = _Content(share, text)
        if self._handle is None:
            self._handle = self._display(content, display_id=True)
        else:
            self._handle.update(content)


class _Content:
    """A bar and a text: HTML, and text where no HTML is shown."""

    def __init__(self, share: float | None, text: str) -> None:
        self._share, self._text = share, text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        value = "" if self._share is None else f' value="{min(max(self._share, 0.0), 1.0):.3f}"'
        bar = f'<progress max="1"{value} style="vertical-align: middle"></progress>'
        return f'<div style="{_STYLE}">{bar} {escape(self._text)}</div>'
