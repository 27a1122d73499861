"""XML as text: elements with attributes."""

import re
from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from sumwise.errors import ExportError

# Characters that XML cannot hold.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


def element(tag: str, attributes: Mapping[str, Any] | None = None, *children: str) -> str:
    """Return an element; children are elements or escaped text."""
    return open_tag(tag, attributes or {}, not children) + _close(tag, children)


def open_tag(tag: str, attributes: Mapping[str, Any], closes: bool = False) -> str:
    """Return the tag that begins an element."""
    parts = [tag, *(f"{key}={quoteattr(_check(value))}" for key, value in attributes.items())]
    return f"<{' '.join(parts)}{'/' if closes else ''}>"


def _close(tag: str, children: tuple[str, ...]) -> str:
    return f"{''.join(children)}</{tag}>" if children else ""


def text(value: Any) -> str:
    """Return escaped text."""
    return escape(_check(value))


def number(value: float) -> str:
    """Return a number with all its digits, as Java and XML Schema both read it."""
    return repr(float(value) + 0.0)  # -0.0 becomes 0.0: Java orders the two, and they are equal


def _check(value: Any) -> str:
    written = number(value) if isinstance(value, float) else str(value)
    if _FORBIDDEN.search(written):
        raise ExportError(
            f"XML cannot hold the characters of {written!r}, the name of a feature, a category or "
            "a class; rename it, or use to_json"
        )
    return written
