"""X of ``fit`` and ``predict`` as a source of batches: a Parquet path, a dataset or a function."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from sumwise.data.batches.learning import BatchedTable, LearnedTable, Roles, learn_table
from sumwise.data.batches.memory import choose_batch_rows
from sumwise.data.batches.sources import BATCH_ROWS, Source, open_source, read_frames
from sumwise.data.schema import FeatureSchema, list_some
from sumwise.errors import DataError, DataWarning
from sumwise.estimators.input.features import (
    KnowsSchema,
    ReadsFeatures,
    describe_times,
    find_chosen,
)
from sumwise.estimators.input.targets import describe_rounding
from sumwise.estimators.warn import warn_user
from sumwise.peers import ALONE, Peers


def learn_training_data(
    estimator: ReadsFeatures,
    X: Any,
    roles: Roles,
    limit: int,
    columns: Sequence[str] | None = None,
    known: FeatureSchema | None = None,
    peers: Peers = ALONE,
) -> LearnedTable:
    """Read targets and schema of a source, the first pass of ``fit``.

    Sets ``n_features_in_`` and ``feature_names_in_``, as if the rows were in memory.

    Parameters
    ----------
    estimator : estimator
    X : path, dataset, callable or Source
        See :func:`sumwise.data.batches.sources.is_source`.
    roles : Roles
        The columns that are not features.
    limit : int
        Bytes of memory that the fit may use.
    columns : sequence of str or None
        The features; None for all columns without another role.
    known : FeatureSchema or None
        The schema of the model that training continues.
    peers : Peers
        Processes that have other rows. The first one warns for all.
    """
    source = X if isinstance(X, Source) else open_source(X)
    table = BatchedTable.open(source, roles, columns)
    n_features = len(table.names)
    names = list_feature_names(table)
    table.batch_rows = choose_batch_rows(limit, n_features)
    if known is not None and known.n_features != n_features:
        known = None
    is_category = _find_categories(estimator, names, n_features)
    learned = learn_table(table, is_category, known, peers)
    _store_names(estimator, names, n_features)
    if known is None and peers.rank == 0:
        labels = [f"column {name!r}" for name in table.names]
        for message in describe_times(labels, learned.schema):
            warn_user(message, DataWarning)
    return learned


def list_feature_names(table: BatchedTable) -> list[str] | None:
    """Return the names of the features; None if they are only numbered, as those of an array."""
    is_text = {isinstance(name, str) for name in table.names}
    if is_text == {True, False}:
        number = next(name for name in table.names if not isinstance(name, str))
        raise DataError(
            f"{table.source.name} has names of features that are not strings, such as {number!r}, "
            "and others that are; convert all to strings, for example by "
            "X.columns = X.columns.astype(str)"
        )
    return table.names if is_text == {True} else None


def _store_names(estimator: Any, names: Sequence[str] | None, n_features: int) -> None:
    """Set the attributes that scikit-learn reads; an earlier fit may have had names."""
    estimator.n_features_in_ = n_features
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def _find_categories(
    estimator: ReadsFeatures, names: Sequence[str] | None, n_features: int
) -> Sequence[bool] | None:
    """Return which features are categories; None for those that hold strings."""
    chosen = estimator.categorical_features
    if isinstance(chosen, str) and chosen == "auto":
        return None
    if chosen is None:
        return [False] * n_features
    mask: list[bool] = find_chosen(chosen, names, n_features).tolist()
    return mask


def warn_of_rounding(rounded: Sequence[str], peers: Peers = ALONE) -> None:
    """Warn of columns whose integers are rounded, once for all peers; see ``BinnedPages``."""
    if rounded and peers.rank == 0:
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
