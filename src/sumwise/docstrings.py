"""Docstring text that several public names share is written once and filled in here."""

import re
from collections.abc import Callable
from textwrap import indent
from typing import TypeVar

_Documented = TypeVar("_Documented")


def fill_docstring(**texts: str) -> Callable[[_Documented], _Documented]:
    r"""Replace ``{name}`` in a docstring by the text of that name.

    A text is written without indentation. Where ``{name}`` stands alone on its line, every line
    of the text gets the indentation of that line. Other braces stay as they are.

    Examples
    --------
    >>> from sumwise.docstrings import fill_docstring
    >>> @fill_docstring(ax="ax : Axes\n    Where to draw.", what="a tree")
    ... def plot():
    ...     '''Draw {what}.
    ...
    ...     {ax}
    ...     '''
    >>> print(plot.__doc__)
    Draw a tree.
    <BLANKLINE>
        ax : Axes
            Where to draw.
    <BLANKLINE>
    """

    def fill_block(match: re.Match[str]) -> str:
        margin, name = match.groups()
        return indent(texts[name].strip(), margin) if name in texts else match[0]

    def fill_word(match: re.Match[str]) -> str:
        return texts.get(match[1], match[0])

    def document(thing: _Documented) -> _Documented:
        if thing.__doc__ is not None:  # python -OO removes docstrings
            filled = re.sub(r"^( *)\{(\w+)\}$", fill_block, thing.__doc__, flags=re.MULTILINE)
            thing.__doc__ = re.sub(r"\{(\w+)\}", fill_word, filled)
        return thing

    return document


# For methods of estimators that predict rows: ``{rows}`` comes before the type of the result.
document_rows = fill_docstring(
    rows="""
Parameters
----------
X : frame, array-like or sparse matrix of shape (n_rows, n_features)

Returns
-------"""
)
