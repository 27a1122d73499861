"""Fits on rows that are read in batches: what they cannot do, their columns, and their table.

The model has the same bytes as if all rows were in memory. Numbers per row, such as targets and
scores, stay in memory. The features are read three times: for their types, for their bins, and to
write binned pages.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from sklearn.base import is_classifier

from sumwise.data.batches.agreement import do_alike
from sumwise.data.batches.binning import open_pages
from sumwise.data.batches.learning import BatchedTable, LearnedTable, Names, Roles, learn_table
from sumwise.data.batches.matrix import BatchedMatrix
from sumwise.data.batches.memory import (
    MemoryPlan,
    plan_memory,
    read_memory_limit,
    show_size,
)
from sumwise.data.batches.sources import is_source, open_source
from sumwise.data.paged import PagedData
from sumwise.data.schema import FeatureSchema
from sumwise.data.sparse import SparseMatrix
from sumwise.data.thresholds import MAX_BINS
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.boosting.automatic import is_auto, leaves_all
from sumwise.estimators.boosting.boosters import resolve_booster
from sumwise.estimators.boosting.categories import find_native
from sumwise.estimators.boosting.continuing import Start
from sumwise.estimators.boosting.devices import list_max_bins
from sumwise.estimators.boosting.encoding import find_encoding
from sumwise.estimators.boosting.multi_target import MULTI_OUTPUT_TREE
from sumwise.estimators.boosting.parameters import BoostingParameters
from sumwise.estimators.boosting.rows import FitData, GivenRows, UnreadRows
from sumwise.estimators.calibrated.unseen import needs_unseen
from sumwise.estimators.input.batches import learn_training_data, warn_of_rounding
from sumwise.estimators.input.by_feature import read_max_bins
from sumwise.estimators.input.targets import read_target
from sumwise.kernels.runtime.threads import Team
from sumwise.parts import is_number
from sumwise.peers import Peers, add_up
from sumwise.training.boost import BoostingSettings, TrainingTable
from sumwise.training.boosters import Linear, Ordered

if TYPE_CHECKING:
    from sumwise.estimators.boosting.base import BaseGradientBoosting

# Bytes per row that boosting needs besides: the labels as given, exact gradients and hessians, and
# a second place for records.
_ROW_BYTES = 36
# Bytes of a feature in a histogram, and the most nodes that have one at a time.
_HISTOGRAM_BYTES, _MOST_HISTOGRAMS = 2048, 1024
_SOLUTION = "read the data into memory and pass a frame or an array"


@dataclass(frozen=True)
class Budget:
    """What a fit on batches may use: bytes of memory, and a folder for pages."""

    limit: int
    folder: str | PathLike[str] | None

    @classmethod
    def read(cls, memory_limit: Any, cache_dir: Any) -> "Budget":
        """Return the checked arguments of ``fit``."""
        if cache_dir is not None and not isinstance(cache_dir, (str, PathLike)):
            raise ParameterError(f"cache_dir={cache_dir!r} must be the path of a folder, or None")
        return cls(read_memory_limit(memory_limit), cache_dir)

    @contextmanager
    def open_table(
        self,
        model: "BaseGradientBoosting",
        data: FitData,
        settings: BoostingSettings,
        team: Team,
        continues: bool,
    ) -> Iterator[TrainingTable]:
        """Read the table of a fit, which may continue a model; its pages end with the context."""
        peers = data.rows.peers
        plan = plan_pages(self, data, settings, team, continues)
        train: Any = data.train.matrix
        with open_pages(
            train.learned,
            plan,
            team,
            cache_dir=self.folder,
            max_bins=read_max_bins(model, None),
            sample_weight=data.train.weight,
            rows=data.rows.train,
            seed=settings.seed,
            native=find_native(model),
            min_rows=settings.growth.min_samples_leaf,
            more=[_refuse_sparse(rows.matrix) for rows in data.sets],
            shards=data.train.shards,
        ) as (pages, mapper, rounded):
            warn_of_rounding(rounded, peers)
            if model.verbose and settings.parallel.peers.rank == 0:
                _show_pages(pages, plan, peers)
            # On a single page, trees grow as if all rows had been in memory.
            is_one = len(pages.pages) == 1 and peers.size == 1
            table: Any = pages.pages[0].data if is_one else pages
            yield TrainingTable(data.matrices, table, mapper)


# --- parameters ---


def check_source_fit(
    params: "BaseGradientBoosting", X: Any, memory_limit: Any, cache_dir: Any
) -> Budget:
    """Return what a fit may use; refuse parameters that need all rows in memory."""
    if not is_source(X):
        _refuse_budget(memory_limit, cache_dir)
    params._check_parameters()
    for name in list_unsupported(params):
        raise ParameterError(
            f"{type(params).__name__}: {name}={getattr(params, name)!r} is not available if X is "
            f"read in batches; choose another {name}, or {_SOLUTION}"
        )
    return Budget.read(memory_limit, cache_dir)


def list_unsupported(params: BoostingParameters) -> Iterator[str]:
    """Yield the names of parameters whose values need all rows in one table in memory."""
    if params.splits != "histogram":
        yield "splits"
    if params.leaves != "constant":
        yield "leaves"
    if isinstance(resolve_booster(params), (Linear, Ordered)):
        yield "booster"
    if getattr(params, "multi_strategy", None) == MULTI_OUTPUT_TREE:
        yield "multi_strategy"
    if params.device != "cpu":
        yield "device"
    if needs_unseen(params):
        yield "conformal" if params.conformal else "calibrate"
    if any(is_number(own) and own > MAX_BINS for own in list_max_bins(params.max_bins)):
        yield "max_bins"


def refuse_statistics(
    params: BoostingParameters,
    schema: FeatureSchema,
    start: Start,
    when: str = "if X is read in batches",
    solution: str = _SOLUTION,
) -> None:
    """Refuse to encode categories by statistics of the target.

    If ``fit`` chooses the encoding by its rule, it splits by sets of categories instead.
    """
    by_rule = is_auto(params.categorical_encoding) and leaves_all(params)
    if by_rule and start.encoder is None:
        return
    if find_encoding(params, schema.n_categories, start) is not None:
        raise ParameterError(
            f"{type(params).__name__}: categorical_encoding={params.categorical_encoding!r} "
            f"encodes categories by statistics of the target, which is not available {when}; use "
            f"categorical_encoding='native', or {solution}"
        )


def _refuse_budget(memory_limit: Any, cache_dir: Any) -> None:
    """Refuse arguments of ``fit`` that are only for rows read in batches."""
    for name, value in (("memory_limit", memory_limit), ("cache_dir", cache_dir)):
        if value is not None:
            raise ParameterError(
                f"{name}={value!r}: X is in memory; {name} is for a Parquet file or folder, a "
                "dataset of Arrow, or a function that returns batches"
            )


# --- rows ---


def read_source(
    model: "BaseGradientBoosting", given: GivenRows, start: Start, budget: Budget
) -> tuple[BatchedMatrix, GivenRows]:
    """Read all columns but the features, and learn the schema.

    Sets ``schema_``, ``n_features_in_`` and ``feature_names_in_``.
    """
    learned = learn_training_data(
        model, given.X, _name_roles(given), budget.limit, known=start.schema
    )
    model.schema_ = learned.schema
    is_number = not is_classifier(model)
    target = read_target(learned.target, is_number, f"column {given.y!r}", many=is_number)
    matrix = BatchedMatrix(learned, model.unknown_category)
    rows = _fill_in(given, learned)._replace(X=UnreadRows(*matrix.shape), y=target)
    refuse_statistics(model, learned.schema, start)
    return matrix, rows


def read_source_set(
    model: Any, given: GivenRows, unknown_code: float, in_batches: bool
) -> tuple[Any, GivenRows]:
    """Read a validation set with the features of the training data.

    Without ``in_batches`` its features are read into memory, as those of X are.
    """
    names = getattr(model, "feature_names_in_", None)
    roles, columns = _name_roles(given, "_val"), None if names is None else list(names)
    table = BatchedTable.open(open_source(given.X), roles, columns)
    if len(table.names) != model.n_features_in_:
        raise DataError(
            f"{table.source.name} has {len(table.names)} features, but X has {model.n_features_in_}"
        )
    learned = learn_table(table, known=model.schema_)
    matrix = BatchedMatrix(learned, model.unknown_category, unknown_code)
    rows = _fill_in(given, learned)._replace(X=UnreadRows(*matrix.shape), y=learned.target)
    return matrix if in_batches else matrix.read_all(), rows


def _name_roles(given: GivenRows, suffix: str = "") -> Roles:
    """Return the columns that are not features; weights and so on may also be arrays."""
    if not _is_name(given.y):
        raise DataError(
            f"y{suffix} is a {type(given.y).__name__}, and must be the name of a column (a list of "
            "names for several targets), because X is read in batches"
        )
    others = (own if _is_name(own) else None for own in given[2:])
    return Roles(_as_names(given.y), *map(_as_names, others))


def _is_name(value: Any) -> bool:
    """Whether a value is the name of a column, or a list of names."""
    if isinstance(value, str):
        return True
    return (
        isinstance(value, (list, tuple))
        and bool(value)
        and all(isinstance(item, str) for item in value)
    )


def _as_names(value: Any) -> Names:
    """Return a name; one in a list is a name alone."""
    return value[0] if isinstance(value, (list, tuple)) and len(value) == 1 else value


def _fill_in(given: GivenRows, learned: LearnedTable) -> GivenRows:
    """Replace names by their columns; arrays stay as they are."""
    own = {name: value for name, value in given._asdict().items() if _is_name(value)}
    return given._replace(**{name: getattr(learned, name, None) for name in own})


# --- table ---


def plan_pages(
    budget: Budget, data: FitData, settings: BoostingSettings, team: Team, continues: bool
) -> MemoryPlan:
    """Cut the table of a fit into pages, or leave it in one if that fits into memory."""
    n_rows, n_features = data.rows.n_rows, data.train.matrix.shape[1]
    n_leaves = settings.growth.limits(data.rows.n_train)[0]
    reserved = min(n_leaves, _MOST_HISTOGRAMS) * n_features * _HISTOGRAM_BYTES
    reserved += n_rows * _ROW_BYTES
    if continues:
        reserved += n_rows * n_features  # codes of the rows, for the old trees
    sizes = (n_rows, n_features, settings.loss.n_outputs, reserved, team.n_threads)
    plan = do_alike(data.rows.peers, lambda: plan_memory(budget.limit, *sizes))
    # A page takes twice its room while it is made.
    if not plan.keeps_pages or 4 * plan.binned_bytes > budget.limit:
        return plan
    # Without peers, trees grow on one page as on any table; otherwise a thread works on a page.
    n_pages = 1 if data.rows.peers.size == 1 else team.n_threads
    return replace(plan, page_rows=max(1, -(-n_rows // n_pages)))


def _refuse_sparse(X: Any) -> Any:
    """Return the matrix of a validation set."""
    if isinstance(X, SparseMatrix):
        raise DataError(
            "X_val and the sets of eval_set cannot be sparse if X is read in batches; pass "
            "X_val.toarray()"
        )
    return X


def _show_pages(pages: PagedData, plan: MemoryPlan, peers: Peers) -> None:
    """Report on standard error what was read, by all processes."""
    own = (pages.n_rows, plan.binned_bytes, len(pages.pages), int(not plan.keeps_pages))
    n_rows, n_bytes, n_pages, n_on_disk = add_up(peers, *own)
    if peers.rank > 0:
        return
    sys.stderr.write(
        f"read {n_rows:,} rows of {pages.n_features:,} features: {show_size(n_bytes)} of bins "
        f"{'on disk' if n_on_disk else 'in memory'}, {n_pages:,} page(s)\n"
    )
    sys.stderr.flush()
