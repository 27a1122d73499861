"""Sparse columns of pandas frames, and the matrix of a frame that has some."""

from dataclasses import dataclass
from typing import Any

import numpy as np


def has_sparse_type(series: Any) -> bool:
    """Whether a pandas series is sparse."""
    return _is_sparse_type(getattr(series, "dtype", None))


def _is_sparse_type(dtype: Any) -> bool:
    return type(dtype).__name__ == "SparseDtype"


@dataclass(frozen=True, eq=False)
class SparseFrame:
    """A pandas frame of numbers with sparse columns, and its values as a sparse matrix.

    Attributes
    ----------
    source : DataFrame
    matrix : csc_matrix
    is_missing : bool
        Whether values that are not stored are missing; otherwise they are zero.
    """

    source: Any
    matrix: Any
    is_missing: bool


def read_sparse_frame(frame: Any) -> SparseFrame | None:
    """Return a frame with its sparse matrix; None if the frame does not allow one.

    At least one column must be sparse, all columns must hold numbers, and the fill values of the
    sparse columns must be all zero or all NaN.
    """
    if not any(map(_is_sparse_type, frame.dtypes)):  # to take single columns takes longer
        return None
    columns = [frame.iloc[:, f] for f in range(frame.shape[1])]
    fills = {
        "missing" if np.isnan(column.dtype.fill_value) else float(column.dtype.fill_value)
        for column in columns
        if has_sparse_type(column) and column.dtype.kind in "buif"
    }
    if fills not in ({"missing"}, {0.0}):
        return None
    is_missing = fills == {"missing"}
    plain = [column.dtype for column in columns if not has_sparse_type(column)]
    if not all(isinstance(dtype, np.dtype) and dtype.kind in "buif" for dtype in plain):
        return None
    from scipy.sparse import csc_matrix  # type: ignore[import-untyped]

    rows, values = [], []
    for column in columns:
        if has_sparse_type(column):
            rows.append(column.array.sp_index.indices)
            values.append(column.array.sp_values)
            continue
        dense = column.to_numpy(dtype=None if column.dtype.kind == "f" else np.float64)
        rows.append(np.flatnonzero(~np.isnan(dense) if is_missing else dense))
        values.append(dense[rows[-1]])
    start = np.cumsum([0, *(own.size for own in rows)])
    parts = (np.concatenate(values), np.concatenate(rows), start)
    return SparseFrame(frame, csc_matrix(parts, shape=frame.shape), is_missing)
