"""The distinct values of a column, and the index of each row's value among them.

Every function returns (codes, values). Code -1 marks a missing value; ``values`` may also contain
missing entries and values that no row has.
"""

from typing import Any

import numpy as np


def factorize_objects(values: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Number hashable values in order of appearance; None and NaN count as values."""
    numbering = {value: code for code, value in enumerate(dict.fromkeys(values))}
    codes = np.fromiter(map(numbering.__getitem__, values), dtype=np.int64, count=len(values))
    return codes, to_objects(list(numbering))


def factorize_pandas(series: Any) -> tuple[np.ndarray, np.ndarray]:
    """Factorize a pandas-like series; take the codes of a categorical one."""
    if hasattr(series, "cat") and series.dtype == "category":
        codes = series.cat.codes.to_numpy()
        codes, categories = _drop_unused(codes, series.cat.categories)
        return codes, categories.to_numpy()
    codes, distinct = series.factorize()
    return np.asarray(codes), np.asarray(distinct)


def factorize_polars(series: Any) -> tuple[np.ndarray, np.ndarray]:
    """Factorize a series of polars.

    Codes of categories are renumbered: polars shares them between columns.
    """
    import narwhals as nw

    if series.dtype == nw.String:
        series = series.cast(nw.Categorical)
    if series.dtype not in (nw.Categorical, nw.Enum):
        known = np.flatnonzero(~series.is_null().to_numpy())
        if series.dtype == nw.Boolean:
            series = series.cast(nw.Int8)
        elif series.dtype in (nw.Int128, nw.UInt128):
            series = series.cast(nw.Int64)
        elif series.dtype == nw.Decimal:
            series = series.cast(nw.Float64)
        distinct, found = np.unique(series.drop_nulls().to_numpy(), return_inverse=True)
        codes = np.full(len(series), -1)
        codes[known] = found
        return codes, distinct
    physical = nw.from_native(series.to_native().to_physical(), series_only=True)
    numbers_of_rows = physical.cast(nw.Int64).fill_null(-1).to_numpy()
    is_used = np.zeros(numbers_of_rows.max(initial=-1) + 2, dtype=np.bool_)
    is_used[numbers_of_rows] = True
    is_used[-1] = False  # code -1 has marked the last entry
    codes = np.where(is_used, np.cumsum(is_used) - 1, -1)[numbers_of_rows]
    example = np.empty(np.count_nonzero(is_used) + 1, dtype=np.int64)
    example[codes] = np.arange(codes.size)
    distinct = series[example[:-1]].cast(nw.String).to_numpy()
    return codes, distinct.astype(object)


def factorize_arrow(values: Any) -> tuple[np.ndarray, np.ndarray]:
    """Factorize a chunked array of Arrow by its dictionary."""
    if values.num_chunks == 0:
        return np.empty(0, dtype=np.int64), np.empty(0)
    if not hasattr(values.type, "value_type"):
        values = values.dictionary_encode()
    encoded = values.unify_dictionaries().combine_chunks()
    codes = encoded.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
    codes, dictionary = _drop_unused(codes, encoded.dictionary)
    return codes, dictionary.to_numpy(zero_copy_only=False)


def _drop_unused(codes: np.ndarray, distinct: Any) -> tuple[np.ndarray, Any]:
    """Keep only the values that occur, where a large dictionary serves few rows."""
    if codes.size >= len(distinct):
        return codes, distinct
    used, codes = np.unique(codes, return_inverse=True)
    n_missing = int(used.size > 0 and used[0] == -1)
    return codes - n_missing, distinct.take(used[n_missing:])


def to_objects(values: list[Any]) -> np.ndarray:
    """Return values as an array of dtype object."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
