"""What decision trees and forests share: parameters, fit, and the mean of the trees' values."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sumwise.data.categories.encoder import CategoryEncoder
from sumwise.data.thresholds import MAX_BINS
from sumwise.estimators.boosting.fitted import UNKNOWN
from sumwise.estimators.describing.models import describe_columns, describe_inputs, describe_trees
from sumwise.estimators.explaining import PREDICTION, ExplainMixin, Question, attribute_model
from sumwise.estimators.fitted_state import starting_anew
from sumwise.estimators.forests.encoding import AUTO, check_encoding
from sumwise.estimators.forests.parameters import count_features, count_rows
from sumwise.estimators.forests.targets import ForestTarget
from sumwise.estimators.forests.training_set import TrainingSet
from sumwise.estimators.input.features import (
    FeatureSchema,
    check_feature_parameters,
    needs_no_check,
    read_rows,
)
from sumwise.estimators.input.jobs import start_team
from sumwise.estimators.input.parameters import check_choice, check_integer, check_number
from sumwise.estimators.persistence import SavedModelMixin
from sumwise.estimators.serving.mixin import CompilesMixin
from sumwise.export.portable import Node, PortableModel, TreeSum
from sumwise.inspection.forest_importance import impurity_importance
from sumwise.kernels.runtime.threads import Team
from sumwise.training.forest import Reweigher
from sumwise.tree.forest import BinnedForest, ForestTree
from sumwise.tree.forest_grower import Table

if TYPE_CHECKING:
    from sumwise.inspection.attribution import Attribution

# Cost of binning a value and of passing a row through a tree, in the steps of count_threads.
_STEPS_PER_VALUE = 8
_STEPS_PER_WALK = 4

# What a fit learns about features and classes.
_LEARNED = ("schema_", "n_features_in_", "feature_names_in_", "classes_")


class BaseTrees(ExplainMixin, CompilesMixin, SavedModelMixin, BaseEstimator):
    """What decision trees and forests share."""

    _model_attribute = "forest_"
    _model_type = BinnedForest
    _fitted_privately: ClassVar[tuple[str, ...]] = ("_encoder", "_seed")
    _added_params: ClassVar[Mapping[str, Any]] = {"categorical_encoding": AUTO}
    _criteria: ClassVar[tuple[str, ...]]

    forest_: BinnedForest
    schema_: FeatureSchema
    n_features_in_: int
    criterion: str
    max_features: Any
    _seed: int
    # Replaces categories by statistics of the target.
    _encoder: CategoryEncoder | None = None

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
        categorical_encoding: str = AUTO,
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
        self.categorical_encoding = categorical_encoding
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
    def _grow(self, train: TrainingSet, table: Table, team: Team) -> None:
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
            with starting_anew(self):
                train = TrainingSet.read(self, X, y, sample_weight, start)
                with start_team(self.n_jobs, train.n_steps) as team:
                    self._grow(train, train.bin_rows(team), team)
                self._seed = train.seed
                self._finish_fit(X, train)
        except BaseException:
            if start is not None:  # keep the trees of the earlier fit
                self.__dict__.update(vars(start))
            raise
        return self

    def _finish_fit(self, X: Any, train: TrainingSet) -> None:
        """Learn more, after the trees have been grown."""

    def _judge_tree(
        self, train: TrainingSet, table: Table, tree: ForestTree, weight: np.ndarray
    ) -> ForestTree:
        """Return a tree as changed by its out-of-bag rows."""
        return tree

    def _weigh_classes(
        self, encoded: np.ndarray, weight: np.ndarray | None
    ) -> tuple[np.ndarray | None, Reweigher | None]:
        """Return the class weights as factors on drawn rows: fixed, or computed for each tree."""
        return None, None

    def _find_start(self) -> "BaseTrees | None":
        """Return the model to continue from, if there is one."""
        return None

    def _count_steps(self, n_rows: int, n_features: int) -> int:
        """Return the cost of a fit, in the steps of ``count_threads``."""
        return _STEPS_PER_VALUE * n_rows * n_features

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
        check_encoding(self)

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
        if self._encoder is None:
            return read_rows(self, X)
        return self._encoder.transform(read_rows(self, X, UNKNOWN))

    def _with_team(self, X: Any, work: Callable[[Team], np.ndarray]) -> np.ndarray:
        n_steps = X.shape[0] * (self.forest_.n_trees * _STEPS_PER_WALK + X.shape[1])
        with start_team(self.n_jobs, n_steps) as team:
            return work(team)

    def _predict_values(self, X: Any) -> np.ndarray:
        """Return the mean of the trees' values, shape (n_rows, n_columns)."""
        X = self._check_input(X)
        return self._with_team(X, lambda team: self.forest_.predict_raw(X, team))

    def _describe(self) -> PortableModel:
        """Return the model in plain terms, for export."""
        check_is_fitted(self)
        columns = describe_columns(self.n_features_in_, self._encoder)
        output = self._describe_output(describe_trees(self.forest_, columns))
        classes = self._list_classes()
        return PortableModel(type(self).__name__, describe_inputs(self), output, classes)

    def _describe_output(self, values: TreeSum) -> Node:
        """Return the predictions, from the mean of the trees' values."""
        return values

    def _list_classes(self) -> tuple[np.ndarray, ...]:
        """Return the classes of each target; none for numbers."""
        return ()

    @property
    def _scale(self) -> str:
        return PREDICTION

    def _attribute(self, question: Question) -> "Attribution":
        found = attribute_model(self.forest_, question, self._check_input, self.n_jobs)
        return found if self._encoder is None else found.fold_features(self._encoder.fold)

    def _find_leaves(self, X: Any) -> np.ndarray:
        """Return the leaf of each row in each tree."""
        X = self._check_input(X)
        return self._with_team(X, lambda team: self.forest_.apply(X, team))

    def _trace_paths(self, X: Any) -> Any:
        """Return the nodes that each row passes, as a CSR matrix with a column per node."""
        from scipy.sparse import csr_matrix  # type: ignore[import-untyped]

        leaves = self._find_leaves(X)
        nodes, starts = self.forest_.find_paths(leaves)
        ones = np.ones(nodes.size, dtype=np.int64)
        return csr_matrix((ones, nodes, starts), shape=(leaves.shape[0], self.forest_.feature.size))

    @property
    def max_features_(self) -> int:
        """Number of features drawn in a node; of columns, if categories are encoded."""
        check_is_fitted(self)
        n_columns = self.forest_.n_features
        return count_features(self, "max_features", n_columns) or n_columns

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each feature in the decrease of the criterion, averaged over the trees."""
        check_is_fitted(self)
        by_column = impurity_importance(self.forest_).mean
        return by_column if self._encoder is None else self._encoder.fold(by_column)


def copy_features(source: object, target: object) -> None:
    """Copy to an estimator what another has learned about features and classes."""
    for name in _LEARNED:
        if hasattr(source, name):
            setattr(target, name, getattr(source, name))
