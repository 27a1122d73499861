"""Predictions of rows that are read in batches: to an array, or to a Parquet file."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sumwise.data.batches.learning import BatchedTable, Roles, learn_table
from sumwise.data.batches.output import ParquetOutput
from sumwise.data.batches.sources import is_source, open_source
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.input.batches import predict_batches


def predict_source(
    model: Any,
    X: Any,
    predict: Callable[[Any], Any],
    output: Any = None,
    name: str = "prediction",
    labels: Sequence[Any] | None = None,
) -> np.ndarray | None:
    """Return the predictions of a source, or write them to a Parquet file and return None.

    Parameters
    ----------
    model : estimator
        A fitted model with a ``schema_``.
    X : Any
        A source, or rows in memory.
    predict : callable
        Takes rows and returns their predictions.
    output : path or None
        The file.
    name : str
        The name of its column; of several outputs, followed by their ``labels``.
    labels : sequence or None
        None to number the outputs.
    """
    check_is_fitted(model)
    if output is not None and not isinstance(output, (str, os.PathLike)):
        raise ParameterError(f"output={output!r} must be the path of a Parquet file, or None")
    parts = predict_batches(model, X, predict) if is_source(X) else map(predict, [X])
    if output is None:
        return np.concatenate(list(parts))
    _write(output, parts, name, labels)
    return None


def read_scored_columns(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any]:
    """Return the target and the weights that ``score`` gets as names of columns."""
    check_is_fitted(model)
    if not isinstance(y, str) or not isinstance(sample_weight, (str, type(None))):
        raise DataError("y and sample_weight must be names of columns, as X is read in batches")
    names = getattr(model, "feature_names_in_", None)
    columns = None if names is None else list(names)
    table = BatchedTable.open(open_source(X), Roles(y, sample_weight), columns)
    learned = learn_table(table, known=model.schema_)
    return learned.target, learned.sample_weight


def _write(
    output: str | os.PathLike[str],
    parts: Iterable[Any],
    name: str,
    labels: Sequence[Any] | None,
) -> None:
    """Write predictions as columns; the file appears when it is complete."""
    with ParquetOutput(output) as file:
        for part in parts:
            file.write(_name_columns(np.asarray(part), name, labels))


def _name_columns(
    values: np.ndarray, name: str, labels: Sequence[Any] | None
) -> dict[str, np.ndarray]:
    if values.ndim == 1:
        return {name: values}
    known = range(values.shape[1]) if labels is None else labels
    return {f"{name}_{label}": own for label, own in zip(known, values.T, strict=True)}
