"""Tables and targets of any size with the same bits on every machine.

Every number is made of a 64-bit hash of its row and column, by operations that IEEE 754 defines
exactly: no exp, no sums over rows, no random generator whose stream may change.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

Floats = NDArray[np.float64]

N_EVENT_FEATURES = 28
N_SPARSE_FEATURES = 30
# Values per category of the tables "categories" and "mixed".
N_VALUES = (3, 12, 40, 200)
_MISSING_SHARE = 0.05
# Columns of noise, missing values and so on are far from those of features.
_NOISE, _MISSING, _ZERO, _WEIGHT, _INITIAL, _GROUP = range(1000, 7000, 1000)


def hash_rows(rows: range, column: int) -> NDArray[np.uint64]:
    """Return splitmix64 of row and column."""
    start = column << 40
    x = np.arange(start + rows.start + 1, start + rows.stop + 1, dtype=np.uint64)
    x *= np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x ^= x >> np.uint64(shift)
        x *= np.uint64(factor)
    return x ^ (x >> np.uint64(31))


def draw(rows: range, column: int) -> Floats:
    """Return multiples of 2**-53 from 0 to below 1."""
    return (hash_rows(rows, column) >> np.uint64(11)) * 2.0**-53


def draw_integers(rows: range, column: int, n_values: int) -> NDArray[np.int64]:
    """Return integers from 0 to below ``n_values``."""
    return (hash_rows(rows, column) % np.uint64(n_values)).astype(np.int64)


@lru_cache(maxsize=16)
def make_table(name: str, n_rows: int, first_row: int = 0) -> tuple[Any, Floats]:
    """Return X and a score from about 0 to 4 that depends on some columns of X.

    Rows from ``first_row`` on: another part of the same endless table.

    =============  ===========================================================
    "numbers"      8 numbers, 5 % missing, one with 9 levels
    "events"       28 float32 numbers
    "ties"         5 small integers, none missing
    "extreme"      infinities, denormals, zeros of both signs, a constant, an
                   empty column
    "sparse"       30 columns with 15 % of nonzero values
    "categories"   4 categories of 3 to 200 values, 5 % missing
    "mixed"        4 numbers and the categories
    =============  ===========================================================
    """
    makers: dict[str, Callable[[range], tuple[Any, Floats]]] = {
        "numbers": _make_numbers,
        "events": _make_events,
        "ties": _make_ties,
        "extreme": _make_extreme,
        "sparse": _make_sparse,
        "categories": _make_categories,
        "mixed": _make_mixed,
    }
    return makers[name](range(first_row, first_row + n_rows))


def _make_numbers(rows: range) -> tuple[Any, Floats]:
    X = np.column_stack([draw(rows, column) for column in range(8)])
    noise = draw(rows, _NOISE)
    score = X[:, 0] * 2 + X[:, 1] * X[:, 2] + np.abs(X[:, 3] - 0.5) + noise * 0.5
    X[:, 7] = np.round(X[:, 7] * 8)
    for column in range(8):
        X[draw(rows, _MISSING + column) < _MISSING_SHARE, column] = np.nan
    return X, score


def _make_events(rows: range) -> tuple[Any, Floats]:
    X = np.empty((len(rows), N_EVENT_FEATURES), dtype=np.float32)
    for column in range(N_EVENT_FEATURES):
        # The product of two numbers is dense near 0 and sparse near 1, as momenta are.
        X[:, column] = draw(rows, column) * draw(rows, _ZERO + column)
    first = [X[:, column].astype(np.float64) for column in range(4)]
    score = first[0] * 2 + first[1] * first[2] * 4 + np.abs(first[3] - 0.25) + draw(rows, _NOISE)
    return X, score


def _make_ties(rows: range) -> tuple[Any, Floats]:
    columns = [draw_integers(rows, column, 5) for column in range(5)]
    X = np.column_stack(columns).astype(np.float64)
    return X, X[:, 0] * 0.25 + X[:, 1] * X[:, 2] * 0.125 + draw(rows, _NOISE)


def _make_extreme(rows: range) -> tuple[Any, Floats]:
    X, score = _make_numbers(rows)
    special = np.array([np.inf, -np.inf, 0.0, -0.0, 5e-324, -5e-324, 1e300, np.nan])
    which = draw_integers(rows, _ZERO, 2 * special.size)
    X[:, 1] = np.where(which < special.size, special[which % special.size], X[:, 1])
    X[:, 4], X[:, 5] = 1.0, np.nan
    X[:, 6] = (X[:, 6] - 0.5) * 2.0**-1060  # denormals
    return X, score


def _make_sparse(rows: range) -> tuple[Any, Floats]:
    X = np.column_stack([draw(rows, column) for column in range(N_SPARSE_FEATURES)])
    for column in range(N_SPARSE_FEATURES):
        X[draw(rows, _ZERO + column) < 0.85, column] = 0.0
    noise = draw(rows, _NOISE)
    score = X[:, 0] * 2 + X[:, 1] * 3 + X[:, 2] * X[:, 3] + X[:, 4] + noise * 2
    return csr_array(X), score


def _make_categories(rows: range) -> tuple[Any, Floats]:
    columns, score = {}, draw(rows, _NOISE) * 0.5
    for column, n_values in enumerate(N_VALUES):
        codes = draw_integers(rows, column, n_values)
        score += codes * 7 % n_values / n_values
        codes[draw(rows, _MISSING + column) < _MISSING_SHARE] = -1
        values = [f"k{code:03d}" for code in range(n_values)]
        columns[f"c{column}"] = pd.Categorical.from_codes(codes, values)
    return pd.DataFrame(columns), score


def _make_mixed(rows: range) -> tuple[Any, Floats]:
    X, score = _make_numbers(rows)
    frame, by_category = _make_categories(rows)
    for column in range(4):
        frame.insert(column, f"x{column}", X[:, column])
    return frame, np.maximum(score + by_category - 1.25, 0.0)


def make_target(name: str, score: Floats) -> NDArray[Any]:
    """Return a target made of a score."""
    levels = np.floor(score).astype(np.int64)
    makers: dict[str, Callable[[], NDArray[Any]]] = {
        "number": lambda: score,
        "positive": lambda: score + 0.125,
        "count": lambda: levels,
        "share": lambda: np.clip(score * 0.25, 0.0, 1.0),
        "binary": lambda: (score > 1.5).astype(np.int64),
        "classes": lambda: np.clip(levels, 0, 2),
        "seven": lambda: np.clip(np.floor(score * 2), 0, 6).astype(np.int64),
        "numbers": lambda: np.column_stack([score, np.abs(score - 1.5), score * score]),
    }
    return makers[name]()


def make_argument(name: str, n_rows: int) -> NDArray[Any]:
    """Return an argument of ``fit`` with an entry for every row."""
    rows = range(n_rows)
    makers: dict[str, Callable[[], NDArray[Any]]] = {
        "sample_weight": lambda: draw_integers(rows, _WEIGHT, 5) * 0.5,
        "init_score": lambda: draw(rows, _INITIAL),
        "groups": lambda: draw_integers(rows, _GROUP, 30),
    }
    return makers[name]()
