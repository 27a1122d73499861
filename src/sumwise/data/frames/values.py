"""The values of X as users know them: numbers, names of categories, dates."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sumwise.data.frames.reading import collect_lazy, open_frame, read_list, series_to_array
from sumwise.data.sparse import SparseMatrix, is_sparse


def show_values(X: Any, names: Sequence[str] | None = None, absent: float = 0.0) -> np.ndarray:
    """Return the values of X as an array of numbers, or of objects if they are not all numbers.

    ``names`` selects the columns of a frame; None for all. ``absent`` is what entries that a sparse
    matrix does not store stand for.
    """
    X = collect_lazy(X)
    if isinstance(X, (list, tuple)):
        X = read_list(X)
    if is_sparse(X):
        return SparseMatrix.from_scipy(X, absent).convert(0, X.shape[0])
    frame = None if isinstance(X, np.ndarray) else open_frame(X)
    if frame is None:
        return np.asarray(X)
    if names is not None:
        frame = frame.select(list(names))
    columns = [series_to_array(series.to_native()) for series in frame.iter_columns()]
    if all(column.dtype.kind in "buif" for column in columns):
        return np.column_stack(columns)
    values = np.empty((len(frame), len(columns)), dtype=object)
    for k, column in enumerate(columns):
        # Item by item: NumPy would convert dates to integers.
        values[:, k] = list(column) if column.dtype.kind in "Mm" else column
    return values
