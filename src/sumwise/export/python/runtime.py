"""The fixed parts of exported Python; their source text is copied into it.

They run on Python 3.8 without any package. They are written for single rows: lists of floats.
"""

from __future__ import annotations

import inspect
from array import array
from base64 import b64decode
from bisect import bisect_right
from collections.abc import Callable
from math import isfinite, ldexp
from sys import byteorder
from typing import Any
from zlib import decompress


def _read_row(row: Any, features: Any) -> Any:
    """Return the values of a row in the order of the features."""
    if hasattr(row, "keys"):
        absent = [name for name in features if name not in row]
        if absent:
            raise ValueError(f"the row has no {absent[0]!r}; pass None if it is missing")
        return [row[name] for name in features]
    if len(row) != len(features):
        raise ValueError(f"the row has {len(row)} values, expected {len(features)}")
    return row


def _whole(number: float) -> int:
    """Return a number as a code of a category: -1 if it is missing, -2 if it cannot be one."""
    if number != number:
        return -1
    return int(number) if -1.0 < number < 1e18 else -2


def _digit(value: Any, codes: dict[Any, int]) -> int:
    """Return the code of a category; that after the last one if it is missing, -1 if unknown."""
    if value is None or value != value:
        return len(codes)
    return codes.get(value, -1)


def _exp(x: float) -> float:
    """Return e to the x for x clipped to [-708, 709]: the same bits as sumwise."""
    if x != x:
        return x
    x = min(max(x, -708.0), 709.0)
    k = (x * 1.4426950408889634 + 6755399441055744.0) - 6755399441055744.0
    r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    return ldexp(1.0 + (r + (r * r) * p), int(k))


def _expm1(x: float) -> float:
    """Return e to the x minus 1, without cancellation for small x."""
    size = abs(0.5 * x)
    s, e = size * size, _exp(-2.0 * size)
    p = 62.0 / 2835.0
    p = p * s - 17.0 / 315.0
    p = p * s + 2.0 / 15.0
    p = p * s - 1.0 / 3.0
    value = size + size * (s * p) if size < 0.05 else (1.0 - e) / (1.0 + e)
    return (value if x >= 0.0 else -value) * (_exp(x) + 1.0)


def _sigmoid(score: float) -> float:
    e = _exp(-abs(score))
    larger = 1.0 / (1.0 + e)
    return larger if score >= 0.0 else e * larger


def _softmax(scores: list[float]) -> list[float]:
    highest = max(scores)
    shares = [_exp(score - highest) for score in scores]
    total = 0.0
    for share in shares:
        total += share
    return [share / total for share in shares]


def _largest(values: list[float]) -> int:
    """Return the index of the largest number, the first of equals."""
    return values.index(max(values))


def _vote(members: list[list[float]], weights: list[float]) -> list[float]:
    votes = [0.0] * len(members[0])
    for k, values in enumerate(members):
        votes[_largest(values)] += weights[k]
    return votes


def _share(amounts: list[float]) -> list[float]:
    positive = [amount if amount > 0.0 else 0.0 for amount in amounts]
    total = 0.0
    for amount in positive:
        total += amount
    return [amount / total if total > 0.0 else 1.0 / len(positive) for amount in positive]


def _interpolate(at: float, x: list[float], y: list[float]) -> float:
    """Piecewise linear interpolation between points; constant outside of them."""
    if at != at:
        return at
    if at <= x[0]:
        return y[0]
    if at >= x[-1]:
        return y[-1]
    k = bisect_right(x, at) - 1
    return (y[k + 1] - y[k]) / (x[k + 1] - x[k]) * (at - x[k]) + y[k]


def _median(values: list[float], weights: list[float], half: float) -> float:
    """Return the weighted median. Equal values keep their order."""
    order = sorted(range(len(values)), key=values.__getitem__)
    so_far = 0.0
    for k in order:
        so_far += weights[k]
        if so_far >= half:
            break
    return values[k]


def _leaf(value: float, low: float, high: float, total: float) -> float:
    """Return what a linear model adds; the plain value if it gives no finite number."""
    return min(max(total, low), high) if isfinite(total) else value


def _unpack(kind: str, text: str) -> Any:
    """Return an array of numbers from its compressed bytes."""
    numbers = array(kind)
    numbers.frombytes(decompress(b64decode(text)))
    if byteorder == "big":
        numbers.byteswap()
    return numbers


def _walk(at: int, z: Any, nodes: Any, sets: Any) -> int:
    """Return the leaf that a row reaches from a node.

    A split by a set has the number of its set in place of a threshold, and ~column as column.
    """
    threshold, left, which, missing_left = nodes
    while left[at] >= 0:
        column = which[at]
        if column < 0:
            goes_left = z[~column] in sets[int(threshold[at])]
        else:
            x = z[column]
            goes_left = x <= threshold[at] or (x != x and missing_left[at])
        at = left[at] if goes_left else left[at] + 1
    return at


_FUNCTIONS: list[Callable[..., Any]] = [
    _read_row,
    _whole,
    _digit,
    _exp,
    _expm1,
    _sigmoid,
    _softmax,
    _largest,
    _vote,
    _share,
    _interpolate,
    _median,
    _leaf,
    _unpack,
    _walk,
]
_NEEDS = {
    "_expm1": {"_exp"},
    "_sigmoid": {"_exp"},
    "_softmax": {"_exp"},
    "_vote": {"_largest"},
}
_IMPORTS = {
    "_unpack": (
        "from array import array",
        "from base64 import b64decode",
        "from sys import byteorder",
        "from zlib import decompress",
    ),
    "_interpolate": ("from bisect import bisect_right",),
    "_leaf": ("from math import isfinite",),
    "_exp": ("from math import ldexp",),
}


def write_functions(names: set[str]) -> tuple[list[str], list[str]]:
    """Return the imports and the sources of functions, and of those that they call."""
    wanted = names.union(*(_NEEDS.get(name, set()) for name in names))
    own = [function for function in _FUNCTIONS if function.__name__ in wanted]
    imports = {"from typing import Any"} | {
        line for name in wanted for line in _IMPORTS.get(name, ())
    }
    return sorted(imports), [inspect.getsource(function) for function in own]
