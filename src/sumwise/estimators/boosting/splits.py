"""From the parameters ``splits``, ``max_bins`` and ``bundling`` to the table that trees grow on."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from sumwise.data.binning import MAX_BINS, BinMapper
from sumwise.data.bundling import Bundling
from sumwise.data.matrix import Matrix, stack_rows
from sumwise.data.native import Native
from sumwise.data.presorted import presort
from sumwise.data.quantiles import make_quantile_tables
from sumwise.data.sparse import SparseMatrix
from sumwise.data.sparse_tables import refuse_large_table
from sumwise.errors import ParameterError
from sumwise.estimators.boosting.parameters import BoostingParameters
from sumwise.estimators.boosting.rows import FitData
from sumwise.estimators.input.parameters import check_choice, resolve_part
from sumwise.kernels.runtime.threads import Team
from sumwise.training.boost import TrainingTable

HISTOGRAM, APPROX, EXACT = "histogram", "approx", "exact"


@dataclass(frozen=True)
class BinSettings:
    """How features are binned, apart from the rows.

    Attributes
    ----------
    splits : {"histogram", "approx", "exact"}
    max_bins : int or ndarray of int64
        Maximum number of bins of all columns, or of each.
    native : Native
        How sets of categories are chosen.
    bundling : Bundling or None
    min_rows : int
        Minimum number of rows of a leaf.
    seed : int
    needs_columns : bool
        Whether every feature needs its own column, even if X is sparse.
    """

    splits: str
    max_bins: int | np.ndarray
    native: Native
    bundling: Bundling | None
    min_rows: int
    seed: int
    needs_columns: bool


def check_splits(params: BoostingParameters) -> str:
    """Return the checked parameter."""
    splits = str(check_choice(params, "splits", tuple(_MAKERS)))
    if splits == APPROX and not has_few_bins(params):
        raise ParameterError(
            f"{type(params).__name__}: splits='approx' with max_bins={params.max_bins!r}; its bins "
            f"take one byte: give one number for all features, of at most {MAX_BINS}"
        )
    return splits


def has_few_bins(params: BoostingParameters) -> bool:
    """Whether ``max_bins`` is one number for all features, and a bin fits into one byte."""
    return isinstance(params.max_bins, Integral) and params.max_bins <= MAX_BINS


def resolve_bundling(params: BoostingParameters) -> Bundling | None:
    """Return the checked part that ``bundling`` stands for."""
    value = params.bundling
    if isinstance(value, str) and value == "auto":
        return Bundling()
    part: Bundling | None = resolve_part(params, "bundling", [Bundling], names=True)
    return part


def make_table(data: FitData, settings: BinSettings, team: Team) -> TrainingTable:
    """Bin all rows of a fit; validation rows do not affect the bins."""
    return _MAKERS[settings.splits](data, settings, team)


def _stack_sets(data: FitData) -> Matrix | None:
    return stack_rows([rows.matrix for rows in data.sets]) if data.sets else None


def _make_histogram_table(data: FitData, settings: BinSettings, team: Team) -> TrainingTable:
    """Return a table whose bins are the same for all trees."""
    X, rows, X_val = data.train.matrix, data.rows.train, _stack_sets(data)
    categories = (data.n_categories, settings.native)
    mapper = BinMapper.fit(
        X, settings.max_bins, data.train.weight, rows, settings.seed, team, *categories
    )
    if mapper.has_many_bins:
        if settings.needs_columns:
            raise ParameterError(
                f"max_bins={settings.max_bins!r}: trees for several targets have at most "
                f"{MAX_BINS} bins per feature; lower it, or use "
                "multi_strategy='one_output_per_tree'"
            )
        options = (rows, team, X_val, *categories, mapper)
        binned, *variants = (presort(own, *options)[0] for own in (X, *data.variants))
        return TrainingTable(data.matrices, binned, mapper, variants)
    alone = None
    if settings.needs_columns and isinstance(X, SparseMatrix):
        refuse_large_table(*X.shape)
        alone = np.zeros(X.shape[1], dtype=np.bool_)  # a dense table
    screened = (team, X_val, settings.bundling, rows, settings.min_rows, alone)
    table, *more = (mapper.transform(own, *screened) for own in (X, *data.variants))
    return TrainingTable(data.matrices, table, mapper, more)


def _make_approx_table(data: FitData, settings: BinSettings, team: Team) -> TrainingTable:
    """Return a table whose bins are quantiles weighted by the hessians of each tree."""
    matrices = (data.train.matrix, *data.variants)
    of_columns = (data.n_categories, settings.native, int(settings.max_bins))
    made = make_quantile_tables(matrices, data.rows.train, team, _stack_sets(data), *of_columns)
    if made is None:  # no feature has more values than bins
        return _make_histogram_table(data, settings, team)
    mapper, (table, *variants) = made
    return TrainingTable(data.matrices, table, mapper, variants)


def _make_exact_table(data: FitData, settings: BinSettings, team: Team) -> TrainingTable:
    """Return a table with the rows in the order of each feature."""
    options = (data.rows.train, team, _stack_sets(data), data.n_categories, settings.native)
    made = [presort(X, *options) for X in (data.train.matrix, *data.variants)]
    table, mapper = made[0]
    return TrainingTable(data.matrices, table, mapper, [variant for variant, _ in made[1:]])


_MAKERS: dict[str, Callable[[FitData, BinSettings, Team], TrainingTable]] = {
    HISTOGRAM: _make_histogram_table,
    APPROX: _make_approx_table,
    EXACT: _make_exact_table,
}
