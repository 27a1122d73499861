"""What runs on the workers when a forest is fitted: functions of nothing but their arguments."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from dask.sizeof import sizeof
from dask.utils import is_dataframe_like, is_index_like, is_series_like
from distributed import get_worker
from scipy.sparse import issparse, vstack  # type: ignore[import-untyped]

from sumwise.data.sizes import count_bytes
from sumwise.errors import DataError
from sumwise.estimators.forests.base_forest import BaseForest
from sumwise.estimators.forests.ranges import BinnedSet
from sumwise.estimators.input.jobs import granting_cpus
from sumwise.estimators.input.parts import Part
from sumwise.estimators.warn import Told, keep_warnings
from sumwise.training.forest import GrownForest


class Rows(NamedTuple):
    """The binned rows of a fit, and the warnings of reading them."""

    binned: BinnedSet
    told: Sequence[Told]


class Outcome(NamedTuple):
    """A fitted forest, and all warnings of its fit."""

    fitted: BaseForest
    told: Sequence[Told]


def bin_rows(
    forest: BaseForest, start: BaseForest | None, seed: int, parts: Sequence[Part]
) -> Rows:
    """Read and bin the rows of all partitions, in their order."""
    for part in parts:
        _check_lengths(part)
    X, y, weight = (_join(parts, name) for name in ("X", "y", "sample_weight"))
    with keep_warnings() as told:
        return Rows(BinnedSet.read(forest, X, y, weight, start, seed, _count_threads(forest)), told)


def grow_trees(rows: Rows, numbers: range) -> GrownForest:
    """Grow the trees of some numbers. A worker runs as many such tasks as it has threads."""
    return rows.binned.grow(numbers, 1)


def predict_fold(rows: Rows, parts: Sequence[Part], fold: int) -> np.ndarray | None:
    """Fit on the rows of all other folds, and predict those of one."""
    with granting_cpus(get_worker().state.nthreads):
        return rows.binned.predict_fold(_join(parts, "X"), fold)


def join_trees(
    rows: Rows, grown: Sequence[GrownForest], found: Sequence[np.ndarray | None]
) -> Outcome:
    """Return the fitted forest, given all trees and what was found for each fold."""
    n_threads = _count_threads(rows.binned.forest)
    with keep_warnings() as told:
        return Outcome(rows.binned.join(grown, found, n_threads), [*rows.told, *told])


def give(value: Any) -> Any:
    """Return a result that this worker has, under a name that no other worker knows."""
    return value


def _count_threads(forest: BaseForest) -> int:
    """Return the threads for a step that one worker takes for all."""
    n_threads = int(get_worker().state.nthreads)
    n_jobs = forest.n_jobs
    if n_jobs is None:
        return n_threads
    wanted = int(n_jobs) if n_jobs > 0 else n_threads + 1 + int(n_jobs)
    return max(1, min(wanted, n_threads))


# --- partitions ---


def _check_lengths(part: Part) -> None:
    n_rows = _count_rows(part.X)
    for name in ("y", "sample_weight"):
        values = getattr(part, name)
        if values is not None and _count_rows(values) != n_rows:
            raise DataError(
                f"partition {part.number} has {n_rows} rows in X, and {_count_rows(values)} in "
                f"{name}"
            )


def _join(parts: Sequence[Part], name: str) -> Any:
    """Return X, y or the weights of all partitions, one after the other; None if there are none."""
    given = [getattr(part, name) for part in parts]
    if given[0] is None:
        return None
    # Dask may not know the types of partitions without rows.
    values = [own for own in given if _count_rows(own)] or given[:1]
    if len(values) == 1:
        return values[0]
    if any(issparse(own) for own in values):
        return vstack(values, format="csr")
    first = values[0]
    if is_dataframe_like(first) or is_series_like(first) or is_index_like(first):
        from dask.dataframe.dispatch import concat  # unites categories, unlike pandas

        return concat(values)
    return np.concatenate(values)


def _count_rows(values: Any) -> int:
    return int(values.shape[0]) if hasattr(values, "shape") else len(values)


# Dask asks how large results are.
sizeof.register(GrownForest, count_bytes)
sizeof.register(Outcome, lambda outcome: count_bytes(list(vars(outcome.fitted).values())))
