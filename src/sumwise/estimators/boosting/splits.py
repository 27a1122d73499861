"""From the parameter ``splits`` to the tables that trees are grown on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from sumwise.data.binned import BinnedData
from sumwise.data.binning import MAX_BINS, BinMapper
from sumwise.data.matrix import Matrix
from sumwise.data.native import Native
from sumwise.data.presorted import presort
from sumwise.data.quantiles import make_quantile_tables
from sumwise.data.sparse import SparseMatrix
from sumwise.data.sparse_tables import refuse_large_table
from sumwise.errors import ParameterError
from sumwise.estimators.input.parameters import check_choice
from sumwise.estimators.input.sparse import resolve_bundling
from sumwise.kernels.runtime.threads import Team

HISTOGRAM, APPROX, EXACT = "histogram", "approx", "exact"


@dataclass(frozen=True)
class TableSource:
    """What the tables of a fit are made of.

    Attributes
    ----------
    X : Matrix
        The rows of the table, those that train among them.
    X_val : Matrix or None
        Rows that come after them, and only get scores.
    variants : sequence of Matrix
        X with categories encoded by other permutations.
    rows : ndarray
        The rows of X that train.
    min_rows : int
        Rows that a leaf must have.
    weight : ndarray or None
        Sample weights of the rows of X.
    n_categories : ndarray of int64
        Of each feature, 0 for numbers.
    native : Native
        How sets of categories are chosen.
    seed : int
    max_bins : int or ndarray of int64
        Most bins of all columns, or of each.
    needs_columns : bool
        Whether every feature needs a column of its own, also of a sparse X.
    """

    X: Matrix
    X_val: Matrix | None
    variants: Sequence[Matrix]
    rows: np.ndarray
    min_rows: int
    weight: np.ndarray | None
    n_categories: np.ndarray
    native: Native
    seed: int
    max_bins: int | np.ndarray
    needs_columns: bool = False


class Tables(NamedTuple):
    """What training takes: see :class:`sumwise.training.session.Table`."""

    data: BinnedData | None = None
    mapper: BinMapper | None = None
    variants: Sequence[BinnedData] = ()


def check_splits(estimator: Any) -> str:
    """Return the checked parameter."""
    splits = str(check_choice(estimator, "splits", tuple(_MAKERS)))
    if splits == APPROX and not has_few_bins(estimator):
        raise ParameterError(
            f"{type(estimator).__name__}: splits='approx' with max_bins={estimator.max_bins!r}; "
            f"its bins take a byte: give one number for all features, of at most {MAX_BINS}"
        )
    return splits


def has_few_bins(estimator: Any) -> bool:
    """Whether ``max_bins`` is one number for all features, such that a bin takes a byte."""
    return isinstance(estimator.max_bins, Integral) and estimator.max_bins <= MAX_BINS


def make_tables(estimator: Any, source: TableSource, team: Team) -> Tables:
    """Make the tables for the way in which an estimator finds splits."""
    return _MAKERS[check_splits(estimator)](estimator, source, team)


def _make_histogram_tables(estimator: Any, source: TableSource, team: Team) -> Tables:
    """Bins that are the same for all trees."""
    mapper = BinMapper.fit(
        source.X,
        source.max_bins,
        source.weight,
        source.rows,
        source.seed,
        team,
        source.n_categories,
        source.native,
    )
    if mapper.has_many_bins:
        if source.needs_columns:
            raise ParameterError(
                f"{type(estimator).__name__}: max_bins={estimator.max_bins!r}: trees for several "
                f"targets have at most {MAX_BINS} bins per feature; lower it, or use "
                "multi_strategy='one_output_per_tree'"
            )
        presorted = (source.rows, team, source.X_val, source.n_categories, source.native, mapper)
        tables = [presort(X, *presorted)[0] for X in (source.X, *source.variants)]
        return Tables(tables[0], mapper, tables[1:])
    alone = None
    if source.needs_columns and isinstance(source.X, SparseMatrix):
        refuse_large_table(*source.X.shape)
        alone = np.zeros(source.X.shape[1], dtype=np.bool_)  # a dense table
    screened = (source.rows, source.min_rows, alone)
    binned = (team, source.X_val, resolve_bundling(estimator), *screened)
    data, *more = (mapper.transform(X, *binned) for X in (source.X, *source.variants))
    return Tables(data, mapper, more)


def _make_approx_tables(estimator: Any, source: TableSource, team: Team) -> Tables:
    """Bins by quantiles of the hessians of each tree."""
    matrices = (source.X, *source.variants)
    of_columns = (source.n_categories, source.native, int(estimator.max_bins))
    made = make_quantile_tables(matrices, source.rows, team, source.X_val, *of_columns)
    if made is None:  # no feature has more values than bins
        return _make_histogram_tables(estimator, source, team)
    mapper, (data, *more) = made
    return Tables(data, mapper, more)


def _make_exact_tables(estimator: Any, source: TableSource, team: Team) -> Tables:
    """Rows in the order of each feature."""
    made = [
        presort(X, source.rows, team, source.X_val, source.n_categories, source.native)
        for X in (source.X, *source.variants)
    ]
    data, mapper = made[0]
    return Tables(data, mapper, [variant for variant, _ in made[1:]])


# How tables are made, by the values of the parameter.
_MAKERS: dict[str, Callable[[Any, TableSource, Team], Tables]] = {
    HISTOGRAM: _make_histogram_tables,
    APPROX: _make_approx_tables,
    EXACT: _make_exact_tables,
}
