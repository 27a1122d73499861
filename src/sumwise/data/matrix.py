"""Numeric matrices: views that kernels can read, without a copy where the type allows it."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sumwise.errors import DataError

# Rows converted at a time where a type needs conversion; keeps the copy small.
_CHUNK = 1 << 16
# Integers up to here are exact in float64.
EXACT_INTEGER = 1 << 53


class FlatMatrix(NamedTuple):
    """A matrix as kernels read it: ``values[i * row_stride + f * column_stride]``."""

    values: np.ndarray
    row_stride: int
    column_stride: int
    n_rows: int


def read_chunks(X: np.ndarray) -> Iterator[tuple[int, FlatMatrix]]:
    """Yield (first row, flat view): all of X at once if float, converted row chunks otherwise.

    float32 and float64 in either order are read in place; other layouts and types are converted
    a chunk at a time, so that no second matrix of the size of X is made.
    """
    if X.dtype in (np.float32, np.float64) and X.dtype.isnative:
        if X.flags.c_contiguous:
            yield 0, FlatMatrix(_read_only(X.reshape(-1)), X.shape[1], 1, X.shape[0])
            return
        if X.flags.f_contiguous:
            yield 0, FlatMatrix(_read_only(X.T.reshape(-1)), 1, X.shape[0], X.shape[0])
            return
    kind = np.float32 if X.dtype in (np.float16, np.float32) else np.float64
    for first in range(0, X.shape[0], _CHUNK):
        chunk = np.ascontiguousarray(X[first : first + _CHUNK], dtype=kind)
        yield first, FlatMatrix(_read_only(chunk.reshape(-1)), X.shape[1], 1, chunk.shape[0])


def _read_only(values: np.ndarray) -> np.ndarray:
    """A read-only view: kernels are compiled for that one kind, whatever the user's flags are."""
    view: np.ndarray = values.view(np.ndarray)
    view.flags.writeable = False
    return view


def check_matrix(X: np.ndarray) -> None:
    """Refuse what is not a numeric matrix."""
    if X.ndim != 2:
        raise DataError(f"X must have two dimensions, rows and features; it has {X.ndim}")
    if X.dtype.kind not in "buif":
        raise DataError(f"X must be numeric; it has dtype {X.dtype}")


def rounds_integers(X: np.ndarray) -> bool:
    """Whether X has integers that float64 cannot hold exactly."""
    if X.dtype not in (np.int64, np.uint64) or X.size == 0:
        return False
    return int(X.max()) > EXACT_INTEGER or int(X.min()) < -EXACT_INTEGER
