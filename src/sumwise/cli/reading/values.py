"""Texts of a column to numbers, booleans, dates or strings: one rule for all text formats."""

import re
from collections.abc import Sequence

import numpy as np

# Texts that stand for a missing value, as pandas reads them.
MISSING = ("", "#N/A", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null")

_INTEGER = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf(inity)?", re.I)
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?)?Z?"
)
_BOOLEANS = {"true": True, "false": False}
_LARGEST = 2**63 - 1


def read_texts(texts: Sequence[str | None], as_text: bool = False) -> np.ndarray:
    """Return texts as the narrowest type that holds all of them; None is missing.

    Integers without missing values are int64, other numbers float64; "true" and "false" are
    booleans; ISO dates are datetime64; everything else stays text, in an array of objects.
    """
    known = [text for text in texts if text is not None]
    if as_text or not known:
        return _place(known, texts, None if known else np.nan)
    for read in (_read_integers, _read_numbers, _read_booleans, _read_dates):
        values = read(known)
        if values is not None:
            return _fill(values, texts)
    return _place(known, texts, None)


def _read_integers(texts: list[str]) -> np.ndarray | None:
    if not all(map(_INTEGER.fullmatch, texts)):
        return None
    numbers = list(map(int, texts))
    return np.array(numbers, np.int64) if max(map(abs, numbers)) <= _LARGEST else None


def _read_numbers(texts: list[str]) -> np.ndarray | None:
    if not all(map(_NUMBER.fullmatch, texts)):
        return None
    return np.array(list(map(float, texts)))


def _read_booleans(texts: list[str]) -> np.ndarray | None:
    values = [_BOOLEANS.get(text.lower()) for text in texts]
    return None if None in values else np.array(values, np.bool_)


def _read_dates(texts: list[str]) -> np.ndarray | None:
    if not all(map(_DATE.fullmatch, texts)):
        return None
    try:
        return np.array([text.removesuffix("Z") for text in texts], "datetime64[us]")
    except ValueError:  # the 31st of February
        return None


def _fill(values: np.ndarray, texts: Sequence[str | None]) -> np.ndarray:
    """Return values with gaps where texts are None, as a type that has them."""
    if len(values) == len(texts):
        return values
    if values.dtype.kind == "M":
        filled = np.full(len(texts), np.datetime64("NaT", "us"))
    elif values.dtype.kind == "b":
        return _place(values.tolist(), texts, None)
    else:
        filled = np.full(len(texts), np.nan)
    filled[[text is not None for text in texts]] = values
    return filled


def _place(known: Sequence[object], texts: Sequence[str | None], missing: object) -> np.ndarray:
    """Return an array of objects, or of NaN if nothing is known."""
    if not known:
        return np.full(len(texts), np.nan)
    rest = iter(known)
    filled = np.empty(len(texts), dtype=object)
    filled[:] = [missing if text is None else next(rest) for text in texts]
    return filled
