"""X of ``fit`` and ``predict`` as a source of batches: a Parquet path, a dataset or a function."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from sumwise.data.batches.learning import BatchedTable, LearnedTable, Roles, learn_table
from sumwise.data.batches.memory import choose_batch_rows
from sumwise.data.batches.sources import BATCH_ROWS, open_source, read_frames
from sumwise.data.schema import FeatureSchema, list_some
from sumwise.errors import DataWarning
from sumwise.estimators.input.features import (
    KnowsSchema,
    ReadsFeatures,
    describe_times,
    find_chosen,
)
from sumwise.estimators.input.targets import describe_rounding
from sumwise.estimators.warn import warn_user


def learn_training_data(
    estimator: ReadsFeatures,
    X: Any,
    roles: Roles,
    limit: int,
    columns: Sequence[str] | None = None,
    known: FeatureSchema | None = None,
) -> LearnedTable:
    """Read targets and schema of a source, the first pass of ``fit``.

    Sets ``n_features_in_`` and ``feature_names_in_``, as if the rows were in a frame.

    Parameters
    ----------
    estimator : estimator
    X : path, dataset or callable
        See :func:`sumwise.data.batches.sources.is_source`.
    roles : Roles
        The columns that are not features.
    limit : int
        Bytes of memory that the fit may use.
    columns : sequence of str or None
        The features; None for all columns without another role.
    known : FeatureSchema or None
        The schema of the model that training continues.
    """
    table = BatchedTable.open(open_source(X), roles, columns)
    table.batch_rows = choose_batch_rows(limit, len(table.names))
    if known is not None and known.n_features != len(table.names):
        known = None
    learned = learn_table(table, _find_categories(estimator, table.names), known)
    estimator.n_features_in_ = len(table.names)  # type: ignore[attr-defined]
    estimator.feature_names_in_ = np.array(table.names, dtype=object)  # type: ignore[attr-defined]
    if known is None:
        labels = [f"column {name!r}" for name in table.names]
        for message in describe_times(labels, learned.schema):
            warn_user(message, DataWarning)
    return learned


def _find_categories(estimator: ReadsFeatures, names: Sequence[str]) -> Sequence[bool] | None:
    """Return which features are categories; None for those that hold strings."""
    chosen = estimator.categorical_features
    if isinstance(chosen, str) and chosen == "auto":
        return None
    if chosen is None:
        return [False] * len(names)
    mask: list[bool] = find_chosen(chosen, names, len(names)).tolist()
    return mask


def warn_of_rounding(rounded: Sequence[str]) -> None:
    """Warn of columns whose integers are rounded; see ``BinnedPages``."""
    if rounded:
        warn_user(describe_rounding(list_some(rounded)), DataWarning)


def predict_batches(
    estimator: KnowsSchema,
    X: Any,
    predict: Callable[[Any], np.ndarray],
    batch_rows: int = BATCH_ROWS,
) -> Iterator[np.ndarray]:
    """Yield what ``predict`` returns for the frames of a source, in the order of their rows.

    Features are found by their names. Other columns, such as the target, are not read.
    """
    names = getattr(estimator, "feature_names_in_", None)
    columns = None if names is None else list(names)
    yield from map(predict, read_frames(X, columns, batch_rows))
