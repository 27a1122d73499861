"""JSON lines: one object per line."""

import json
from collections.abc import Collection
from typing import Any

import numpy as np

from sumwise.cli.usage import UsageError

_NUMBERS = {int, float}


def read_json_lines(
    text: str, where: str, *, as_text: Collection[str] = ()
) -> dict[str, np.ndarray]:
    """Return the columns of a text by name; a key that a line lacks is missing there."""
    rows: list[dict[str, Any]] = []
    names: dict[str, None] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise UsageError(f"{where}, line {number}: no JSON ({error})") from None
        if not isinstance(row, dict):
            raise UsageError(f"{where}, line {number}: expected an object, as in {{'age': 35}}")
        for name, value in row.items():
            if isinstance(value, (dict, list)):
                raise UsageError(
                    f"{where}, line {number}: {name!r} holds a {type(value).__name__}; a column "
                    "has one number, string or boolean per row"
                )
        names.update(dict.fromkeys(row))
        rows.append(row)
    if not rows:
        raise UsageError(f"{where} is empty")
    return {name: _read([row.get(name) for row in rows], name in as_text) for name in names}


def _read(values: list[Any], as_text: bool) -> np.ndarray:
    """Return values as an array of their type; of objects if they differ or some are missing."""
    known = [value for value in values if value is not None]
    kinds = set(map(type, known))
    if as_text:
        values = [
            value if value is None or type(value) is str else json.dumps(value) for value in values
        ]
    elif not kinds or kinds <= _NUMBERS:
        is_whole = kinds == {int} and len(known) == len(values)
        if is_whole and max(map(abs, known)) < 2**63:
            return np.array(values, np.int64)
        return np.array([np.nan if value is None else value for value in values], np.float64)
    elif kinds == {bool} and len(known) == len(values):
        return np.array(values, np.bool_)
    filled = np.empty(len(values), dtype=object)
    filled[:] = values
    return filled
