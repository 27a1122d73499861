"""Rows that a tree or forest is trained on: read, checked, binned, and grown into trees."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from sumwise.data.binning import BinMapper
from sumwise.data.categories.encoder import CategoryEncoder
from sumwise.data.matrix import Matrix
from sumwise.data.sizes import count_bytes
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.boosting.constraints import read_directions
from sumwise.estimators.boosting.fitted import UNKNOWN
from sumwise.estimators.forests.encoding import learn_encoding, spread_directions
from sumwise.estimators.forests.parameters import count_features, count_rows, draw_seed
from sumwise.estimators.forests.targets import ForestTarget, scale_weight
from sumwise.estimators.input.features import read_training_data
from sumwise.estimators.input.jobs import uses_cluster
from sumwise.estimators.input.targets import check_sample_weight
from sumwise.kernels.runtime.threads import Team
from sumwise.lazy import lazy
from sumwise.training.callbacks import Callback
from sumwise.training.forest import (
    ForestPlan,
    GrownForest,
    Reweigher,
    divide,
    draw_bags,
    grow_forest,
)
from sumwise.training.progress import show_progress
from sumwise.tree.encoded_table import EncodedTable
from sumwise.tree.forest import BinnedForest, ForestTree
from sumwise.tree.forest_grower import ForestSettings, Table
from sumwise.tree.forest_table import RowTable, bin_table
from sumwise.tree.prune import prune_cost_complexity

if TYPE_CHECKING:
    from sumwise.estimators.forests.base import BaseTrees


# Ranges of trees per job of a cluster: fast workers take some of those of slow ones.
_RANGES_PER_JOB = 4


@dataclass(frozen=True)
class TrainingSet:
    """The arguments of ``fit`` as training takes them.

    Attributes
    ----------
    matrix : ndarray, ColumnMatrix or SparseMatrix
    y : ndarray
        The target as users know it.
    encoded : ndarray
        Class indices or numbers.
    target : ForestTarget
    weight : ndarray or None
        Sample weights, scaled by a power of two if they are huge or tiny.
    total_weight : float
        Sum of the given weights; without weights, the number of rows.
    row_weight : ndarray or None
        Factors on the weights of drawn rows: the class weights.
    reweigh : callable or None
        Changes the weights of a tree's rows.
    start : BinnedForest or None
        The trees to continue from.
    old_encoder : CategoryEncoder or None
        The encoder of these trees.
    seed : int
    tree : estimator
        The tree or forest that has read the rows; it has the parameters.
    """

    matrix: Matrix
    y: np.ndarray
    encoded: np.ndarray
    target: ForestTarget
    weight: np.ndarray | None
    total_weight: float
    row_weight: np.ndarray | None
    reweigh: Reweigher | None
    start: BinnedForest | None
    old_encoder: CategoryEncoder | None
    seed: int
    tree: "BaseTrees"

    @classmethod
    def read(
        cls,
        tree: "BaseTrees",
        X: Any,
        y: Any,
        sample_weight: Any,
        start: "BaseTrees | None" = None,
        seed: int | None = None,
    ) -> "TrainingSet":
        """Check parameters and data.

        ``start`` is the model to continue from; without one, the ``seed`` of the trees is drawn
        from the tree's ``random_state`` unless it is given.
        """
        tree._check_parameters()
        known = getattr(start, "schema_", None)
        old_encoder = getattr(start, "_encoder", None)
        matrix, y, tree.schema_ = read_training_data(
            tree,
            X,
            y,
            known,
            many_targets=True,
            unknown_code=np.nan if old_encoder is None else UNKNOWN,
        )
        if start is not None and start.n_features_in_ != tree.n_features_in_:
            raise DataError(
                f"X has {tree.n_features_in_} features, and the trees to continue from have "
                f"{start.n_features_in_}"
            )
        n_rows = matrix.shape[0]
        weight, total_weight = scale_weight(check_sample_weight(sample_weight, n_rows), n_rows)
        encoded = tree._encode_target(y, start)
        row_weight, reweigh = tree._weigh_classes(encoded, weight)
        target = tree._make_target(encoded, weight)
        trees = getattr(start, "forest_", None)
        seed = getattr(start, "_seed", seed)
        if seed is None:
            seed = draw_seed(tree.random_state)
        weights = weight, total_weight, row_weight, reweigh
        return cls(matrix, y, encoded, target, *weights, trees, old_encoder, seed, tree)

    @property
    def n_steps(self) -> int:
        """Cost of growing the trees, in the steps of ``count_threads``."""
        return self.tree._count_steps(*self.matrix.shape)

    @lazy
    def used_rows(self) -> np.ndarray:
        """Rows that have weight, ascending."""
        if self.weight is None:
            return np.arange(self.encoded.shape[0])
        return np.flatnonzero(self.weight)

    def __sizeof__(self) -> int:
        return count_bytes([getattr(self, field.name) for field in fields(self)])

    def forget_matrix(self) -> "TrainingSet":
        """Return the rows without the values of their features."""
        return replace(self, matrix=np.empty((self.matrix.shape[0], 0)))

    def reweight(self, weight: np.ndarray) -> "TrainingSet":
        """Return the rows with other sample weights."""
        row_weight, reweigh = self.tree._weigh_classes(self.encoded, weight)
        return replace(self, weight=weight, row_weight=row_weight, reweigh=reweigh)

    def retarget(self, encoded: np.ndarray, seed: int) -> "TrainingSet":
        """Return the rows with other class indices or numbers, and another seed."""
        row_weight, reweigh = self.tree._weigh_classes(encoded, self.weight)
        target = self.tree._make_target(encoded, self.weight)
        return replace(
            self,
            encoded=encoded,
            target=target,
            row_weight=row_weight,
            reweigh=reweigh,
            seed=seed,
        )

    def bin_rows(self, team: Team) -> Table:
        """Return the binned table, with the bins of the trees to continue from if there are any.

        Sets the encoder of the tree that has read the rows, if categories are encoded.
        """
        matrix, n_categories = self.matrix, self.tree.schema_.n_categories
        encoding = learn_encoding(self, team)
        if encoding is not None:
            self.tree._encoder, matrix = encoding.encoder, encoding.matrix
            n_categories = encoding.encoder.encoded_categories
        if self.start is not None:
            mapper = self.start.mapper
        else:
            mapper = BinMapper.fit(
                matrix,
                self.tree.max_bins,
                self.weight,
                None,
                self.seed,
                team,
                n_categories,
                only_bytes=True,
            )
        is_exact = self.target.is_class and self.row_weight is None and self.reweigh is None
        table = bin_table(matrix, mapper, team, self.weight, is_exact)
        if encoding is None:
            return table
        assert isinstance(table, RowTable)  # a sparse matrix has no categories
        return EncodedTable.from_table(table, encoding.rows, encoding.encoder)

    def make_plan(self, table: Table, n_features: int | None = None, last: int = 1) -> ForestPlan:
        """Return the plan of the trees; each may split on ``n_features``, None for all."""
        return ForestPlan(
            self._make_settings(table, n_features),
            self.seed,
            first=0 if self.start is None else self.start.n_trees,
            last=last,
            reweigh=self.reweigh,
            finish=self._finish,
        )

    def _make_settings(self, table: Table, n_features: int | None) -> ForestSettings:
        tree, target, n_rows = self.tree, self.target, table.n_rows
        directions = read_directions(tree, tree.schema_.n_categories > 0)
        if directions.any() and target.n_columns > 1:
            raise ParameterError(
                f"{type(tree).__name__}: monotonic_cst: Monotonicity constraints are not "
                "supported with multiple outputs"
            )
        directions = spread_directions(directions, tree._encoder)
        min_leaf = count_rows(tree, "min_samples_leaf", 1, n_rows)
        return ForestSettings(
            criterion=target.criterion,
            is_class=target.is_class,
            n_drawn=count_features(tree, "max_features", n_features or table.n_features),
            random_cuts=tree._cuts_at_random(),
            max_leaves=tree.max_leaf_nodes,
            max_depth=tree.max_depth,
            min_samples_split=max(count_rows(tree, "min_samples_split", 2, n_rows), 2 * min_leaf),
            min_samples_leaf=min_leaf,
            min_weight_leaf=float(tree.min_weight_fraction_leaf),
            min_decrease=target.find_decrease(float(tree.min_impurity_decrease)),
            by_share=True,
            directions=directions if directions.any() else None,
        )

    def _finish(self, grown: ForestTree, weight: np.ndarray, table: Table) -> ForestTree:
        """Return a grown tree in its final form: pruned, in the units of the target."""
        price = self.target.scale_down(float(self.tree.ccp_alpha))
        pruned = prune_cost_complexity(grown, price, self.target.unit, table.mapper)
        return self.target.restore(self.tree._judge_tree(self, table, pruned, weight))

    def grow(
        self, plan: ForestPlan, table: Table, team: Team, is_shown: bool = False
    ) -> GrownForest:
        """Return the trees of ``start`` and those of the plan, and the rows they have seen."""
        grown = []
        if plan.last - plan.first > 1 and uses_cluster(self.tree.n_jobs):
            grown = self._grow_by_jobs(plan, table)
        elif plan.first < plan.last:
            with show_progress(is_shown) as shown:
                grown.append(self.grow_range(plan, table, team, shown))
        return self.join_ranges(plan, table, grown)

    def _grow_by_jobs(self, plan: ForestPlan, table: Table) -> list[GrownForest]:
        """Return the same trees, grown in ranges by jobs of joblib, on the workers of a cluster."""
        n_parts = _RANGES_PER_JOB * effective_n_jobs(self.tree.n_jobs)
        train, bare = self.forget_matrix(), replace(plan, finish=None, reweigh=None)
        grow = delayed(_grow_part)
        ranges = divide(range(plan.first, plan.last), n_parts)
        parts: list[GrownForest] = Parallel(n_jobs=self.tree.n_jobs)(
            grow(train, table, bare, part, plan.finish is not None) for part in ranges
        )
        return parts

    def grow_range(
        self, plan: ForestPlan, table: Table, team: Team, shown: Sequence[Callback] = ()
    ) -> GrownForest:
        """Return the trees of the plan alone: its first or last number may be changed before."""
        target, n_columns = self.target.target, self.target.n_columns
        return grow_forest(
            table, target, n_columns, plan, self.weight, self.row_weight, team, shown
        )

    def join_ranges(
        self, plan: ForestPlan, table: Table, grown: Sequence[GrownForest]
    ) -> GrownForest:
        """Return the trees of ``start``, then those that grew in ranges of the plan, in order."""
        if self.start is None:
            return GrownForest.join(grown)
        bags = np.empty((0, 0), dtype=np.uint8)
        if plan.keep_bags:
            old = replace(plan, first=0, last=plan.first)
            bags = draw_bags(old, table.n_rows, self.weight, self.row_weight)
        return GrownForest.join([GrownForest(self.start, bags), *grown])


def _grow_part(
    train: TrainingSet, table: Table, plan: ForestPlan, numbers: range, is_finished: bool
) -> GrownForest:
    """Return the trees of some numbers; ``plan`` lacks what ``train`` knows."""
    plan = replace(
        plan,
        first=numbers.start,
        last=numbers.stop,
        reweigh=train.reweigh,
        finish=train._finish if is_finished else None,
    )
    with Team(1) as team:
        return train.grow_range(plan, table, team)
