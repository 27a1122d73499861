"""Rows and columns taken from any container: arrays, lists, frames and sparse matrices."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sumwise.data.frames.columns import NUMBER
from sumwise.data.frames.reading import (
    ColumnFrame,
    collect_lazy,
    open_frame,
    read_array,
    read_input,
    refuse_repeated_names,
)
from sumwise.data.on_device import is_on_device


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Return some rows of an array, frame, series, sparse matrix or list, in the same container.

    Those of a matrix in the memory of a GPU are a :class:`DeviceMatrix`.
    """
    if isinstance(X, np.ndarray):
        return X[rows]
    if isinstance(X, (list, tuple)):
        return [X[row] for row in rows]
    if hasattr(X, "tocsr"):
        return _keep_format(X, X.tocsr()[rows])
    if is_on_device(X):
        from sumwise.data.device_reading import read_device_matrix  # few users need it

        return read_device_matrix(X).take(rows)
    import narwhals as nw

    X = collect_lazy(X)
    refuse_repeated_names(X)
    values = nw.from_native(X, eager_only=True, allow_series=True, pass_through=True)
    return values[rows].to_native() if hasattr(values, "to_native") else np.asarray(X)[rows]


def _keep_format(X: Any, taken: Any) -> Any:
    """Return a selection in the format of X: CSC if X is CSC, otherwise CSR."""
    return taken.tocsc() if getattr(X, "format", "csr") == "csc" else taken.tocsr()


def take_features(X: Any, features: np.ndarray | None) -> Any:
    """Return some features of an array, frame, sparse matrix or list of rows; None for all.

    A frame stays a frame, unless a feature is taken twice: names in a frame must be unique, so
    the result is an array.
    """
    if features is None:
        return X
    if isinstance(X, (list, tuple)):
        X = np.asarray(X)
    if hasattr(X, "tocsc"):
        return _keep_format(X, X.tocsc()[:, features])
    frame = None if isinstance(X, np.ndarray) else open_frame(X)
    if frame is None:
        return np.asarray(X)[:, features]
    if np.unique(features).size < features.size:
        return read_array(X)[:, features]
    return frame[:, features.tolist()].to_native()


def shuffle_feature(X: Any, feature: int, order: np.ndarray) -> Any:
    """Return X with the values of one feature reordered by row."""
    return shuffle_features(X, np.array([feature]), order)


def shuffle_features(X: Any, features: np.ndarray, order: np.ndarray) -> Any:
    """Return X with the values of some features reordered by row, all in the same order."""
    if hasattr(X, "tocsc"):
        moved = np.empty(len(order), dtype=np.int64)
        moved[order] = np.arange(len(order))
        shuffled = X.tocsc(copy=True)
        for feature in features:
            own = slice(shuffled.indptr[feature], shuffled.indptr[feature + 1])
            shuffled.indices[own] = moved[shuffled.indices[own]]
        return shuffled.tocsr()  # sorts the indices
    frame = None if isinstance(X, (np.ndarray, list, tuple)) else open_frame(X)
    if frame is None:
        shuffled = np.array(X)
        shuffled[:, features] = shuffled[np.ix_(order, features)]
        return shuffled
    all_rows = np.arange(len(order))
    columns = [frame[:, int(feature)] for feature in features]
    return frame.with_columns(
        *(series.scatter(all_rows, series[order]) for series in columns)
    ).to_native()


def join_columns(values: np.ndarray, X: Any, names: Sequence[str]) -> Any:
    """Return columns of numbers, followed by the columns of X.

    The result is sparse if X is sparse. If X is a frame with columns that are not numbers, it is a
    frame of the same library. Otherwise it is an array.
    """
    if hasattr(X, "tocsr"):
        from scipy.sparse import hstack  # type: ignore[import-untyped]

        return hstack([values, X], format="csr")
    table = read_input(X)
    if not isinstance(table, ColumnFrame):
        return np.hstack([values, table])
    if all(column.kind == NUMBER for column in table.columns):
        numbers = [column.read(0, table.n_rows) for column in table.columns]
        return np.column_stack([values, *numbers])
    frame = open_frame(X)
    if frame is None:
        return np.hstack([values.astype(object), np.asarray(X, dtype=object)])
    import narwhals as nw

    series = [
        nw.new_series(name, np.ascontiguousarray(column), backend=frame.implementation)
        for name, column in zip(names, values.T, strict=True)
    ]
    return frame.with_columns(*series).select(*names, *frame.columns).to_native()
