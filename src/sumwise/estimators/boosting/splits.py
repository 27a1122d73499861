"""From the parameters ``splits``, ``max_bins`` and ``bundling`` to the table that trees grow on."""

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from sumwise.data.binning import BinMapper
from sumwise.data.bundling import Bundling
from sumwise.data.matrix import stack_rows
from sumwise.data.presorted import presort
from sumwise.data.quantiles import make_quantile_tables
from sumwise.data.sparse import SparseMatrix
from sumwise.data.sparse.byte_tables import refuse_large_table
from sumwise.data.thresholds import MAX_BINS
from sumwise.errors import ParameterError
from sumwise.estimators.boosting.categories import find_native
from sumwise.estimators.boosting.parameters import BoostingParameters
from sumwise.estimators.boosting.rows import FitData
from sumwise.estimators.input.by_feature import read_max_bins
from sumwise.estimators.input.parameters import check_choice, resolve_part
from sumwise.kernels.runtime.threads import Team
from sumwise.training.boost import BoostingSettings, TrainingRows, TrainingTable

if TYPE_CHECKING:
    from sumwise.cuda.runtime.device import Device
    from sumwise.estimators.boosting.base import BaseGradientBoosting

HISTOGRAM, APPROX, EXACT = "histogram", "approx", "exact"


def check_splits(params: BoostingParameters) -> str:
    """Return the checked parameter."""
    splits = str(check_choice(params, "splits", (HISTOGRAM, APPROX, EXACT)))
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


def make_table(
    model: "BaseGradientBoosting",
    data: FitData,
    settings: BoostingSettings,
    team: Team,
    devices: Sequence["Device"] = (),
) -> TrainingTable:
    """Return the table of all rows of a fit; validation rows do not affect the bins."""
    X, rows = data.train.matrix, data.rows.train
    X_val = None
    if data.sets and not devices:
        X_val = stack_rows([own.matrix for own in data.sets])
    of_columns = (data.n_categories, find_native(model))
    if model.splits == APPROX:
        of_rows = (rows, team, X_val)
        made = make_quantile_tables((X, *data.variants), *of_rows, *of_columns, int(model.max_bins))
        if made is not None:
            mapper, quantiles = made
            return TrainingTable(data.matrices, quantiles[0], mapper, quantiles[1:])
        # No feature has more values than bins: histograms have the same candidates.
    bins = None
    if model.splits != EXACT:
        max_bins = read_max_bins(model, data.encoder)
        bins = BinMapper.fit(X, max_bins, data.train.weight, rows, settings.seed, team, *of_columns)
        bins = bins.with_thresholds(data.thresholds)
    if devices and bins is not None:
        return _make_device_table(data, settings, team, devices, bins)
    needs_columns = settings.booster is not None and settings.booster.shares_splits
    if bins is None or bins.has_many_bins:
        if needs_columns:
            raise ParameterError(
                f"{type(model).__name__}: max_bins={model.max_bins!r}: trees for several targets "
                f"have at most {MAX_BINS} bins per feature; lower it, or use "
                "multi_strategy='one_output_per_tree'"
            )
        options = (rows, team, X_val, *of_columns, bins)
        (first, mapper), *more = (presort(own, *options) for own in (X, *data.variants))
        return TrainingTable(data.matrices, first, mapper, [variant for variant, _ in more])
    alone = None
    if needs_columns and isinstance(X, SparseMatrix):
        refuse_large_table(*X.shape)
        alone = np.empty(0, dtype=np.int64)  # a dense table
    screened = (rows, settings.growth.min_samples_leaf, alone)
    layout = (team, X_val, resolve_bundling(model), *screened)
    table, *variants = (bins.transform(own, *layout) for own in (X, *data.variants))
    return TrainingTable(data.matrices, table, bins, variants)


def _make_device_table(
    data: FitData,
    settings: BoostingSettings,
    team: Team,
    devices: Sequence["Device"],
    bins: BinMapper,
) -> TrainingTable:
    """Return the table of a fit on devices."""
    from sumwise.data.device_binning import make_device_tables  # needs a device
    from sumwise.training.device_memory import FitMemory

    _, *sets = data.matrices
    permuted = (data.train.matrix, *data.variants)
    memory = FitMemory.find(devices, bins, len(permuted), data.rows, settings)
    screened = (data.rows.train, settings.growth.min_samples_leaf, memory.check)
    tables, *variants = (
        make_device_tables(devices, bins, [own, *sets], team, *screened) for own in permuted
    )
    return TrainingTable(data.matrices, None, bins, variants, tables)


def move_table(
    table: TrainingTable,
    rows: TrainingRows,
    settings: BoostingSettings,
    team: Team,
    devices: Sequence["Device"],
) -> TrainingTable:
    """Return the table of a fit on devices, for one that is binned already on the host.

    Its features are usable or not for all fits that share it, whatever rows they learn from.
    """
    from sumwise.data.device_binning import make_device_tables, upload_tables  # needs a device
    from sumwise.training.device_memory import FitMemory

    data, mapper = table.binned
    check_memory = FitMemory.find(devices, mapper, 1, rows, settings).check
    if isinstance(table.matrices[0], SparseMatrix):  # features may share columns
        known = (table.matrices, team, None, 1, check_memory)
        tables = make_device_tables(devices, mapper, *known)
    else:
        tables = upload_tables(devices, mapper, data, check_memory)
    return TrainingTable(table.matrices, None, mapper, (), tables)
