"""Dask collections as partitions of rows, and functions of rows as lazy collections.

A partition of X belongs to the partitions of y, of weights and so on that have the same number;
the index of a DataFrame plays no role. Nothing is computed here.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from dask import array, delayed, is_dask_collection
from dask.utils import is_arraylike, is_dataframe_like, is_series_like
from distributed import futures_of

from sumwise.errors import DataError

# How messages say what to do with data in memory.
_SOLUTIONS = (
    "dask.dataframe.from_pandas(frame, npartitions=...) or dask.array.from_array(array, "
    "chunks=(n_rows, -1)) makes a collection of it"
)


class Sources(NamedTuple):
    """Where a partition of rows comes from: delayed values, values in memory, or None."""

    X: Any
    y: Any
    sample_weight: Any = None
    init_score: Any = None
    groups: Any = None


def is_frame(X: Any) -> bool:
    """Whether X is a Dask DataFrame."""
    return is_dask_collection(X) and is_dataframe_like(X)


def is_array(X: Any) -> bool:
    """Whether X is a Dask Array."""
    return is_dask_collection(X) and is_arraylike(X)


def list_partitions(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    init_score: Any = None,
    groups: Any = None,
    *,
    suffix: str = "",
    in_memory: bool = False,
    plain: str = "sumwise",
) -> list[Sources]:
    """Return the partitions of rows and of what belongs to them.

    Parameters
    ----------
    X : Dask DataFrame or Array
        An Array has two dimensions; blocks of columns are joined.
    y, sample_weight, init_score, groups : Dask Series, DataFrame, Array, str, list of str or None
        With as many partitions as X. If X is a DataFrame, they may be names of its columns, which
        are no features then.
    suffix : str
        Follows names in messages: "_val" for validation sets.
    in_memory : bool
        Whether data in memory is welcome, too; it is a single partition.
    plain : str
        What fits data in memory, for messages.
    """
    given = Sources(X, y, sample_weight, init_score, groups)
    if in_memory and not any(map(is_dask_collection, given)):
        return [given]
    if not (is_frame(X) or is_array(X)):
        hint = f"{_SOLUTIONS}, and {plain} fits data in memory"
        raise DataError(
            f"X{suffix} is a {_name_type(X)}; pass a Dask DataFrame or a Dask Array. {hint}"
        )
    given = _take_columns(given, suffix)
    if is_array(given.X) and given.X.ndim != 2:
        raise DataError(f"X{suffix}: Expected 2D array, got {given.X.ndim}D array instead")
    columns = {
        field: _split(own, f"{field}{suffix}")
        for field, own in zip(Sources._fields, given, strict=True)
        if own is not None
    }
    n_partitions = len(columns["X"])
    for field, own in columns.items():
        if len(own) != n_partitions:
            raise DataError(
                f"X{suffix} has {n_partitions} partitions, and {field}{suffix} has {len(own)}: "
                "each partition of X needs its own. Take them from the same DataFrame, or give "
                "Arrays the same chunks by rechunk"
            )
    nothing = [None] * n_partitions
    every = [columns.get(field, nothing) for field in Sources._fields]
    return [Sources(*own) for own in zip(*every, strict=True)]


def _take_columns(given: Sources, suffix: str) -> Sources:
    """Replace names of columns by the columns, which are no features then."""
    X = given.X
    taken: list[Any] = []
    values: list[Any] = []
    for field, own in zip(Sources._fields[1:], given[1:], strict=True):
        is_many = isinstance(own, list) and all(isinstance(name, str) for name in own)
        if not (isinstance(own, str) or is_many):
            values.append(own)
            continue
        if not is_frame(X):
            raise DataError(
                f"{field}{suffix}={own!r} names columns of X{suffix}, which is not a DataFrame"
            )
        for name in own if is_many else [own]:
            if name not in X.columns:
                raise DataError(
                    f"{field}{suffix}={name!r}: X{suffix} has no such column; it has "
                    f"{', '.join(map(repr, X.columns))}"
                )
            taken.append(name)
        values.append(X[own])
    return Sources(X.drop(columns=list(dict.fromkeys(taken))) if taken else X, *values)


def _split(values: Any, name: str) -> Sequence[Any]:
    """Return the partitions of a collection as delayed values."""
    if is_array(values):
        if values.ndim not in (1, 2):
            raise DataError(f"{name} has {values.ndim} dimensions; expected 1 or 2")
        whole = values if values.ndim == 1 else values.rechunk({1: -1})
        # Tasks that are merged would hide the inputs that are on workers already.
        return list(whole.to_delayed(optimize_graph=not futures_of(values)).ravel())
    if is_dask_collection(values) and (is_dataframe_like(values) or is_series_like(values)):
        return list(values.to_delayed())
    raise DataError(
        f"{name} is a {_name_type(values)}; pass a Dask Series or Array with the partitions of X"
    )


def _name_type(values: Any) -> str:
    kind = type(values)
    return f"{kind.__module__.partition('.')[0]} {kind.__name__}".removeprefix("builtins ")


# --- functions of rows ---


class Output(NamedTuple):
    """What a function returns for rows: an array of shape (n_rows,) or (n_rows, n_columns).

    Attributes
    ----------
    dtype : dtype
    columns : sequence or None
        The names of the columns, None for one dimension.
    """

    dtype: np.dtype
    columns: Sequence[Any] | None = None


def map_rows(function: Callable[[Any, Any], np.ndarray], X: Any, model: Any, output: Output) -> Any:
    """Return a lazy collection of ``function(model, rows)`` for the partitions of X.

    For a DataFrame it is a Series or DataFrame with the same index, for an Array it is an Array.
    ``model`` is sent once, not with every partition. ``function`` never gets an empty partition.
    """
    known = delayed(model, pure=False, traverse=False)
    apply = _RowFunction(function, output)
    if is_frame(X):
        return X.map_partitions(apply, known, meta=apply.make_empty(X._meta))
    X = X.rechunk({1: -1})
    if output.columns is None:
        shape: dict[str, Any] = {"drop_axis": 1, "meta": np.empty(0, output.dtype)}
    else:
        chunks = (X.chunks[0], (len(output.columns),))
        shape = {"chunks": chunks, "meta": np.empty((0, 0), output.dtype)}
    return array.map_blocks(apply, X, known, dtype=output.dtype, **shape)


class _RowFunction:
    """A function of the rows of one partition."""

    def __init__(self, function: Callable[[Any, Any], np.ndarray], output: Output) -> None:
        self.function, self.output = function, output
        self.__name__ = "predict"  # what dashboards and representations show

    def __call__(self, rows: Any, model: Any) -> Any:
        if len(rows) == 0:
            return self.make_empty(rows)
        values = np.asarray(self.function(model, rows)).astype(self.output.dtype, copy=False)
        return self._wrap(values, rows)

    def make_empty(self, rows: Any) -> Any:
        """Return what the function would return for no rows."""
        columns = self.output.columns
        shape = (0,) if columns is None else (0, len(columns))
        return self._wrap(np.empty(shape, self.output.dtype), rows[:0])

    def _wrap(self, values: np.ndarray, rows: Any) -> Any:
        if not is_dataframe_like(rows):
            return values
        import pandas as pd  # type: ignore[import-untyped]  # as the partitions of Dask

        # Otherwise pandas would turn objects into strings, depending on the partition.
        dtype = object if values.dtype == object else None
        columns = self.output.columns
        if columns is None:
            return pd.Series(values, index=rows.index, name="prediction", dtype=dtype)
        return pd.DataFrame(values, index=rows.index, columns=list(columns), dtype=dtype)
