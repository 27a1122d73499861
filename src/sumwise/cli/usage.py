"""Errors that a user of the command line can correct."""

from collections.abc import Iterable
from difflib import get_close_matches


class UsageError(Exception):
    """An option or the input cannot be used; the message says what, where and what to do."""


def list_names(names: Iterable[object], most: int = 8) -> str:
    """Return names in one line, the first ones if there are many."""
    shown = [str(name) for name in names]
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more


def suggest(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean ...?" if a known name is similar, otherwise nothing."""
    lower = {each.lower(): each for each in known}
    found = get_close_matches(name.lower(), lower, n=1)
    return f"; did you mean {lower[found[0]]!r}?" if found else ""
