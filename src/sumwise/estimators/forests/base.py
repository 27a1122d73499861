"""What decision trees and forests share: parameters, fit, and the mean of the trees' values."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sumwise.data.binning import MAX_BINS, BinMapper
from sumwise.data.matrix import Matrix
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.boosting.constraints import read_directions
from sumwise.estimators.fitted_state import forget_fit, starting_anew
from sumwise.estimators.forests.parameters import count_features, count_rows, draw_seed
from sumwise.estimators.forests.targets import ForestTarget, scale_weight
from sumwise.estimators.input.features import (
    check_feature_parameters,
    needs_no_check,
    read_rows,
    read_training_data,
)
from sumwise.estimators.input.jobs import start_team
from sumwise.estimators.input.parameters import check_choice, check_integer, check_number
from sumwise.estimators.input.targets import check_sample_weight
from sumwise.estimators.persistence import SavedModelMixin
from sumwise.inspection.forest_importance import impurity_importance
from sumwise.kernels.runtime.threads import Team
from sumwise.training.forest import ForestPlan, GrownForest, Reweigher, draw_bags, grow_forest
from sumwise.training.progress import show_progress
from sumwise.tree.forest import Forest, ForestTree
from sumwise.tree.forest_grower import ForestSettings, RowTable
from sumwise.tree.forest_view import find_paths
from sumwise.tree.prune import prune_cost_complexity

# Cost of binning a value and of passing a row through a tree, in the steps of count_threads.
_STEPS_PER_VALUE = 8
_STEPS_PER_WALK = 4

# What a fit learns about features and classes.
_LEARNED = ("schema_", "n_features_in_", "feature_names_in_", "classes_")


@dataclass(frozen=True)
class TrainingSet:
    """The arguments of ``fit`` as training takes them.

    Attributes
    ----------
    matrix : ndarray, ColumnMatrix or SparseMatrix
    y : ndarray
        The target as users know it.
    target : ForestTarget
    weight : ndarray or None
        Sample weights, scaled by a power of two if they are huge or tiny.
    total_weight : float
        Sum of the given weights; without weights, the number of rows.
    row_weight : ndarray or None
        Factors on the weights of drawn rows: the class weights.
    reweigh : callable or None
        Changes the weights of a tree's rows.
    start : Forest or None
        The trees to continue from.
    seed : int
    """

    matrix: Matrix
    y: np.ndarray
    target: ForestTarget
    weight: np.ndarray | None
    total_weight: float
    row_weight: np.ndarray | None
    reweigh: Reweigher | None
    start: Forest | None
    seed: int

    def grow(
        self, plan: ForestPlan, table: RowTable, team: Team, is_shown: bool = False
    ) -> GrownForest:
        """Return the trees of ``start`` and those of the plan, and the rows they have seen."""
        forest, bags = self.start, []
        if plan.first and plan.keep_bags:
            old = replace(plan, first=0, last=plan.first)
            bags.append(draw_bags(old, table.n_rows, self.weight, self.row_weight))
        if plan.first < plan.last:
            target, n_columns = self.target.target, self.target.n_columns
            with show_progress(is_shown) as shown:
                grown = grow_forest(
                    table, target, n_columns, plan, self.weight, self.row_weight, team, shown
                )
            forest = grown.forest if forest is None else forest.append(grown.forest)
            bags.append(grown.in_bag)
        assert forest is not None
        in_bag = np.concatenate(bags) if bags else np.empty((0, 0), dtype=np.uint8)
        return GrownForest(forest, in_bag)


class BaseTrees(SavedModelMixin, BaseEstimator):
    """What decision trees and forests share."""

    _model_attribute = "forest_"
    _model_type = Forest
    _takes_sparse = True
    _fitted_privately: ClassVar[tuple[str, ...]] = ("_seed",)
    _criteria: ClassVar[tuple[str, ...]]

    forest_: Forest
    criterion: str
    max_features: Any
    _seed: int

    def __init__(
        self,
        *,
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        max_bins: int = 255,
        categorical_features: Any = "auto",
        unknown_category: str = "missing",
        extra_columns: str = "error",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.unknown_category = unknown_category
        self.extra_columns = extra_columns
        self.n_jobs = n_jobs
        self.random_state = random_state

    @abstractmethod
    def _encode_target(self, y: np.ndarray, start: "BaseTrees | None") -> np.ndarray:
        """Return y as class indices or numbers; ``start`` is the model to continue from."""

    @abstractmethod
    def _make_target(self, encoded: np.ndarray, weight: np.ndarray | None) -> ForestTarget:
        """Return the target of the trees."""

    @abstractmethod
    def _cuts_at_random(self) -> bool:
        """Whether one random cut per feature is considered, in place of all cuts."""

    @abstractmethod
    def _grow(self, train: TrainingSet, table: RowTable, team: Team) -> None:
        """Grow the trees and set the fitted attributes."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
            Numbers of any type, strings, categories or dates. NaN and null are missing values,
            infinities are values. Frames of pandas, polars or Arrow also provide feature names.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            Target: one or several classes or numbers per row.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows; rows of weight 0 are ignored.

        Returns
        -------
        self
        """
        start = self._find_start()
        try:
            with starting_anew(partial(forget_fit, self)):
                train = self._read_training(X, y, sample_weight, start)
                with start_team(self.n_jobs, self._count_steps(train.matrix)) as team:
                    self._grow(train, self._bin_rows(train, team), team)
                self._seed = train.seed
        except BaseException:
            if start is not None:  # keep the trees of the earlier fit
                self.__dict__.update(vars(start))
            raise
        return self

    def _read_training(
        self, X: Any, y: Any, sample_weight: Any, start: "BaseTrees | None" = None
    ) -> TrainingSet:
        """Check parameters and data; ``start`` is the model to continue from."""
        self._check_parameters()
        matrix, y, self.schema_ = read_training_data(self, X, y, getattr(start, "schema_", None))
        if start is not None and start.n_features_in_ != self.n_features_in_:
            raise DataError(
                f"X has {self.n_features_in_} features, and the trees to continue from have "
                f"{start.n_features_in_}"
            )
        n_rows = matrix.shape[0]
        weight, total_weight = scale_weight(check_sample_weight(sample_weight, n_rows), n_rows)
        encoded = self._encode_target(y, start)
        row_weight, reweigh = self._weigh_classes(encoded, weight)
        target = self._make_target(encoded, weight)
        seed, trees = getattr(start, "_seed", None), getattr(start, "forest_", None)
        if seed is None:
            seed = draw_seed(self.random_state)
        return TrainingSet(
            matrix, y, target, weight, total_weight, row_weight, reweigh, trees, seed
        )

    def _bin_rows(self, train: TrainingSet, team: Team) -> RowTable:
        """Return the binned table, with the bins of the trees to continue from if there are any."""
        if train.start is not None:
            mapper = train.start.mapper
        else:
            mapper = BinMapper.fit(
                train.matrix,
                self.max_bins,
                train.weight,
                None,
                train.seed,
                team,
                self.schema_.n_categories,
                only_bytes=True,
            )
        return RowTable.from_matrix(train.matrix, mapper, team, train.weight)

    def _make_settings(
        self, train: TrainingSet, n_rows: int, n_features: int | None = None
    ) -> ForestSettings:
        """Return the settings of trees that may split on ``n_features`` features, None for all."""
        directions = read_directions(self, self.schema_.n_categories > 0)
        if directions.any() and train.target.n_columns > 1:
            raise ParameterError(
                f"{type(self).__name__}: monotonic_cst: Monotonicity constraints are not "
                "supported with multiple outputs"
            )
        min_leaf = count_rows(self, "min_samples_leaf", 1, n_rows)
        return ForestSettings(
            criterion=train.target.criterion,
            is_class=train.target.is_class,
            n_drawn=count_features(self, "max_features", n_features or self.n_features_in_),
            random_cuts=self._cuts_at_random(),
            max_leaves=self.max_leaf_nodes,
            max_depth=self.max_depth,
            min_samples_split=max(count_rows(self, "min_samples_split", 2, n_rows), 2 * min_leaf),
            min_samples_leaf=min_leaf,
            min_weight_leaf=float(self.min_weight_fraction_leaf),
            min_decrease=train.target.find_decrease(float(self.min_impurity_decrease)),
            by_share=True,
            directions=directions if directions.any() else None,
        )

    def _finish_tree(
        self, train: TrainingSet, table: RowTable, tree: ForestTree, weight: np.ndarray
    ) -> ForestTree:
        """Return a grown tree in its final form: pruned, in the units of the target."""
        target = train.target
        price = target.scale_down(float(self.ccp_alpha))
        tree = prune_cost_complexity(tree, price, target.unit, table.mapper)
        return target.restore(self._judge_tree(train, table, tree, weight))

    def _judge_tree(
        self, train: TrainingSet, table: RowTable, tree: ForestTree, weight: np.ndarray
    ) -> ForestTree:
        """Return a tree as changed by its out-of-bag rows."""
        return tree

    def _make_plan(
        self, train: TrainingSet, table: RowTable, n_features: int | None, last: int
    ) -> ForestPlan:
        """Return the plan of the trees, each of which may split on ``n_features``, None for all."""
        settings = self._make_settings(train, table.n_rows, n_features)
        return ForestPlan(
            settings,
            train.seed,
            first=0 if train.start is None else train.start.n_trees,
            last=last,
            reweigh=train.reweigh,
            finish=lambda tree, weight: self._finish_tree(train, table, tree, weight),
        )

    def _weigh_classes(
        self, encoded: np.ndarray, weight: np.ndarray | None
    ) -> tuple[np.ndarray | None, Reweigher | None]:
        """Return the class weights as factors on drawn rows: fixed, or computed for each tree."""
        return None, None

    def _find_start(self) -> "BaseTrees | None":
        """Return the model to continue from, if there is one."""
        return None

    def _count_steps(self, matrix: Matrix) -> int:
        return _STEPS_PER_VALUE * matrix.shape[0] * matrix.shape[1]

    def _check_parameters(self) -> None:
        check_choice(self, "criterion", self._criteria)
        check_integer(self, "max_depth", 1, optional=True)
        count_rows(self, "min_samples_split", 2)
        count_rows(self, "min_samples_leaf", 1)
        check_number(self, "min_weight_fraction_leaf", 0.0, 0.5)
        count_features(self, "max_features")
        check_integer(self, "max_leaf_nodes", 2, optional=True)
        check_number(self, "min_impurity_decrease", 0.0)
        check_number(self, "ccp_alpha", 0.0)
        check_integer(self, "max_bins", 2, MAX_BINS)
        check_feature_parameters(self)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "forest_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True  # read as categories, or refused with the name of the column
        tags.input_tags.categorical = self.categorical_features is not None
        return tags

    # --- prediction ---

    def _check_input(self, X: Any) -> Any:
        if needs_no_check(self, X):
            return X
        check_is_fitted(self)
        return read_rows(self, X)

    def _with_team(self, X: Any, work: Callable[[Team], np.ndarray]) -> np.ndarray:
        n_steps = X.shape[0] * (self.forest_.n_trees * _STEPS_PER_WALK + X.shape[1])
        with start_team(self.n_jobs, n_steps) as team:
            return work(team)

    def _predict_values(self, X: Any) -> np.ndarray:
        """Return the mean of the trees' values, shape (n_rows, n_columns)."""
        X = self._check_input(X)
        return self._with_team(X, lambda team: self.forest_.predict(X, team))

    def _find_leaves(self, X: Any) -> np.ndarray:
        """Return the leaf of each row in each tree."""
        X = self._check_input(X)
        return self._with_team(X, lambda team: self.forest_.apply(X, team))

    def _trace_paths(self, X: Any) -> Any:
        """Return the nodes that each row passes, as a CSR matrix with a column per node."""
        from scipy.sparse import csr_matrix  # type: ignore[import-untyped]

        leaves = self._find_leaves(X)
        nodes, starts = find_paths(self.forest_, leaves)
        ones = np.ones(nodes.size, dtype=np.int64)
        return csr_matrix((ones, nodes, starts), shape=(leaves.shape[0], self.forest_.feature.size))

    @property
    def max_features_(self) -> int:
        """Number of features drawn in a node."""
        check_is_fitted(self)
        return count_features(self, "max_features", self.n_features_in_) or self.n_features_in_

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each feature in the decrease of the criterion, averaged over the trees."""
        check_is_fitted(self)
        return impurity_importance(self.forest_).mean


def copy_features(source: object, target: object) -> None:
    """Copy to an estimator what another has learned about features and classes."""
    for name in _LEARNED:
        if hasattr(source, name):
            setattr(target, name, getattr(source, name))
