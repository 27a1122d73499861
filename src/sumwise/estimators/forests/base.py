"""What decision trees and forests share: parameters, fit, prediction of the trees' values."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sumwise.combine.classes import log_probabilities
from sumwise.data.binning import BinMapper
from sumwise.data.matrix import Matrix
from sumwise.data.thresholds import MAX_BINS
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.boosting.constraints import read_directions
from sumwise.estimators.boosting.validation import encode_labels
from sumwise.estimators.forests.parameters import count_features, count_rows
from sumwise.estimators.forests.targets import (
    CLASS_CRITERIA,
    NUMBER_CRITERIA,
    ForestTarget,
    find_scale,
    make_class_target,
    make_number_target,
    scale_weight,
)
from sumwise.estimators.input.class_weights import check_class_weight, weigh_classes
from sumwise.estimators.input.features import (
    check_feature_parameters,
    needs_no_check,
    read_rows,
    read_training_data,
)
from sumwise.estimators.input.jobs import start_team
from sumwise.estimators.input.parameters import check_choice, check_integer, check_number
from sumwise.estimators.input.targets import check_sample_weight, find_classes
from sumwise.estimators.persistence import SavedModelMixin
from sumwise.inspection.forest_importance import impurity_importance
from sumwise.kernels.runtime.threads import Team
from sumwise.training.forest import ForestPlan, Reweigher
from sumwise.tree.forest import Forest, ForestTree
from sumwise.tree.forest_grower import ForestSettings, RowTable
from sumwise.tree.forest_view import find_paths
from sumwise.tree.prune import prune_cost_complexity

# What binning takes, a value, and what a row costs in a tree, in steps of count_threads.
_STEPS_PER_VALUE = 8
_STEPS_PER_WALK = 4

# What a fit learns of features and classes.
_LEARNED = ("schema_", "n_features_in_", "feature_names_in_", "classes_")

_Class = TypeVar("_Class", bound=type)

_TREE_PARAMETERS = """max_depth : int or None, default=None
        Most splits from the root to a leaf; None for no limit.
    min_samples_split : int or float, default=2
        Fewest rows of a node that is split; a float is a share of the rows.
    min_samples_leaf : int or float, default=1
        Fewest rows of a leaf; a float is a share of the rows.
    min_weight_fraction_leaf : float, default=0.0
        Smallest weight of a leaf, as a share of the weight of the tree's rows.
    max_leaf_nodes : int or None, default=None
        Most leaves; with a limit, the node whose split gains most is split first.
    min_impurity_decrease : float, default=0.0
        A split must lower the impurity by this, weighted with the share of its rows.
    ccp_alpha : float, default=0.0
        Minimal cost-complexity pruning: the largest cost of a leaf that is given up.
    monotonic_cst : array-like of int, dict or None, default=None
        For each feature 1, if predictions must not fall as it rises; -1, if they must not rise;
        otherwise 0. A dict gives it by feature name. For a classifier it is the probability of the
        second of two classes.
    max_bins : int, default=255
        Most bins of a feature, 2 to 255. Up to as many distinct values splits are exact.
    categorical_features : "auto", list or None, default="auto"
        Features whose values are categories: "auto" for strings and categorical types, a list of
        names, indices or booleans, or None for none. Splits part them by sets.
    unknown_category : {"missing", "error"}, default="missing"
        What a category that was not in the training data is at prediction.
    extra_columns : {"error", "ignore"}, default="error"
        What a column of a frame is that was not there in ``fit``.
    n_jobs : int or None, default=None
        Threads; None or -1 for all CPUs. The model is the same, bit for bit, for any number.
    random_state : int, RandomState or None, default=None
        Seed of all that is drawn."""

_CLASS_ATTRIBUTES = """classes_ : ndarray or list of ndarray
        Class labels, sorted; with several outputs a list, one array for each.
    n_classes_ : int or list of int
        Their number."""

_ATTRIBUTES = """feature_importances_ : ndarray of shape (n_features,)
        Shares of features in the decrease of the criterion, averaged over the trees.
    forest_ : Forest
        The trees.
    n_features_in_ : int
        Features seen in ``fit``.
    feature_names_in_ : ndarray
        Their names, if X had any.
    n_outputs_ : int
        Targets that are predicted for a row.
    max_features_ : int
        Features that a node draws.
    schema_ : FeatureSchema
        Kinds of features, and the values of those that are categories."""


def document_trees(**pieces: str) -> Callable[[_Class], _Class]:
    """Put what estimators share into the docstring of each."""
    known = {  # a piece may have others
        **pieces,
        "tree_parameters": _TREE_PARAMETERS,
        "class_attributes": _CLASS_ATTRIBUTES,
        "attributes": _ATTRIBUTES,
    }

    def document(kind: _Class) -> _Class:
        assert kind.__doc__ is not None
        for name, text in known.items():
            kind.__doc__ = kind.__doc__.replace("{" + name + "}", text)
        return kind

    return document


@dataclass(frozen=True)
class TrainingSet:
    """What ``fit`` was given, as training takes it.

    Attributes
    ----------
    matrix : ndarray or ColumnMatrix
    y : ndarray
        The target as users know it.
    target : ForestTarget
    weight : ndarray or None
        Sample weights, scaled by a power of two where they are huge or tiny.
    total_weight : float
        Sum of the weights as they were given; without any, the number of rows.
    row_weight : ndarray or None
        Multiplies the weights of rows that were drawn: the weights of classes.
    reweigh : callable or None
        Changes the weights of a tree.
    start : estimator or None
        The model whose trees come first.
    seed : int
    """

    matrix: Matrix
    y: np.ndarray
    target: ForestTarget
    weight: np.ndarray | None
    total_weight: float
    row_weight: np.ndarray | None
    reweigh: Reweigher | None
    start: Any
    seed: int


class BaseTrees(SavedModelMixin, BaseEstimator):
    """What decision trees and forests share."""

    _model_attribute = "forest_"
    _model_type = Forest
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
    def _encode_target(self, y: np.ndarray, start: Any) -> np.ndarray:
        """Return y as numbers; ``start`` is the model to continue from, or None."""

    @abstractmethod
    def _make_target(self, encoded: np.ndarray, weight: np.ndarray | None) -> ForestTarget:
        """Return what trees learn."""

    @abstractmethod
    def _cuts_at_random(self) -> bool:
        """Whether splits are drawn, and the best of them taken."""

    @abstractmethod
    def _grow(self, train: TrainingSet, table: RowTable, team: Team) -> dict[str, Any]:
        """Grow the trees; return the fitted attributes."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
            Numbers of any type, strings, categories or dates; NaN and null are missing values,
            infinities are values. A frame of pandas, polars or Arrow gives names, too.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            Target: classes or numbers, one per row or several.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of rows; rows of weight 0 take no part.

        Returns
        -------
        self
        """
        start = self._find_start()
        try:
            train = self._read_training(X, y, sample_weight, start)
            with start_team(self.n_jobs, self._count_steps(train.matrix)) as team:
                fitted = self._grow(train, self._bin_rows(train, team), team)
        except BaseException:
            self._forget_fit()
            if start is not None:  # the trees there were are still those of the data before
                self.__dict__.update(vars(start))
            raise
        self.__dict__.update(fitted, _seed=train.seed)
        return self

    def _read_training(self, X: Any, y: Any, sample_weight: Any, start: Any = None) -> TrainingSet:
        """Check parameters and data; ``start`` is the model to continue from, if there is one."""
        self._forget_fit()
        self._check_parameters()
        matrix, y, self.schema_ = read_training_data(
            self, X, y, getattr(start, "schema_", None), many_targets=True
        )
        self._check_start(start)
        n_rows = matrix.shape[0]
        weight, total_weight = scale_weight(check_sample_weight(sample_weight, n_rows), n_rows)
        encoded = self._encode_target(y, start)
        row_weight, reweigh = self._weigh_classes(encoded, weight)
        target = self._make_target(encoded, weight)
        seed = getattr(start, "_seed", None)
        if seed is None:
            seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        return TrainingSet(
            matrix, y, target, weight, total_weight, row_weight, reweigh, start, seed
        )

    def _bin_rows(self, train: TrainingSet, team: Team) -> RowTable:
        """Return the table: on the bins of the model to continue from, if there is one."""
        if train.start is not None:
            mapper = train.start.forest_.mapper
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
        """Return how trees grow that may split on ``n_features`` features, None for all."""
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
        """Return a grown tree as it is kept."""
        target = train.target
        price = target.scale_down(float(self.ccp_alpha))
        tree = prune_cost_complexity(tree, price, target.unit, table.mapper)
        return target.restore(self._judge_tree(train, table, tree, weight))

    def _judge_tree(
        self, train: TrainingSet, table: RowTable, tree: ForestTree, weight: np.ndarray
    ) -> ForestTree:
        """Change a tree by the rows it has not seen."""
        return tree

    def _make_plan(
        self, train: TrainingSet, table: RowTable, n_features: int | None, last: int
    ) -> ForestPlan:
        """Return which trees to grow; ``n_features`` each may split on, None for all."""
        settings = self._make_settings(train, table.n_rows, n_features)
        return ForestPlan(
            settings,
            train.seed,
            first=0 if train.start is None else train.start.forest_.n_trees,
            last=last,
            reweigh=train.reweigh,
            finish=lambda tree, weight: self._finish_tree(train, table, tree, weight),
        )

    def _weigh_classes(
        self, encoded: np.ndarray, weight: np.ndarray | None
    ) -> tuple[np.ndarray | None, Reweigher | None]:
        """Return what weights of classes multiply drawn rows by: fixed, or tree by tree."""
        return None, None

    def _find_start(self) -> Any:
        """Return the model to continue from, if there is one."""
        return None

    def _check_start(self, start: Any) -> None:
        if start is not None and start.n_features_in_ != self.n_features_in_:
            raise DataError(
                f"X has {self.n_features_in_} features, and the trees to go on from "
                f"{start.n_features_in_}"
            )

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

    def _forget_fit(self) -> None:
        """Drop the old model, so that a fit that fails leaves none that could be mistaken."""
        for name in ("forest_", "_seed", *_LEARNED):
            self.__dict__.pop(name, None)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "forest_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True  # read by column: as categories, or refused by name
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
        """Return which nodes rows pass, as a CSR matrix of all nodes."""
        from scipy.sparse import csr_matrix  # type: ignore[import-untyped]

        leaves = self._find_leaves(X)
        nodes, starts = find_paths(self.forest_, leaves)
        ones = np.ones(nodes.size, dtype=np.int64)
        return csr_matrix((ones, nodes, starts), shape=(leaves.shape[0], self.forest_.feature.size))

    @property
    def max_features_(self) -> int:
        """Features that a node draws."""
        check_is_fitted(self)
        return count_features(self, "max_features", self.n_features_in_) or self.n_features_in_

    @property
    def feature_importances_(self) -> np.ndarray:
        """Shares of features in the decrease of the criterion, averaged over the trees."""
        check_is_fitted(self)
        return impurity_importance(self.forest_).mean


class TreeClassifierMixin(ClassifierMixin):
    """What tree and forest classifiers share."""

    _criteria: ClassVar[tuple[str, ...]] = CLASS_CRITERIA
    _saved_attributes: ClassVar[tuple[str, ...]] = (
        "classes_",
        "n_features_in_",
        "feature_names_in_",
        "schema_",
    )

    classes_: Any
    class_weight: Any
    criterion: str
    _predict_values: Callable[[Any], np.ndarray]

    @property
    def n_classes_(self) -> Any:
        """Number of classes; with several outputs a list."""
        check_is_fitted(self)
        return _count_classes(self.classes_)

    @property
    def n_outputs_(self) -> int:
        """Number of labels that are predicted for a row."""
        check_is_fitted(self)
        return len(self.classes_) if isinstance(self.classes_, list) else 1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    def _encode_target(self, y: np.ndarray, start: Any) -> np.ndarray:
        """Return the number of each row's class; set the classes."""
        if start is not None:
            self.classes_ = start.classes_
            return _encode_outputs(y, start.classes_)
        if y.ndim == 1:
            self.classes_, indices = find_classes(y, at_least=1)
            return indices
        found = [find_classes(column, at_least=1) for column in _list_columns(y)]
        self.classes_ = [classes for classes, _ in found]
        return np.column_stack([indices for _, indices in found])

    def _make_target(self, encoded: np.ndarray, weight: np.ndarray | None) -> ForestTarget:
        return make_class_target(encoded, _count_classes(self.classes_), self.criterion)

    def _weigh_classes(
        self, encoded: np.ndarray, weight: np.ndarray | None
    ) -> tuple[np.ndarray | None, Reweigher | None]:
        if self.class_weight is None:
            return None, None
        of_row = np.ones(encoded.shape[0])
        for classes, balance, indices in self._list_outputs(encoded):
            of_class = weigh_classes(classes, balance, indices, weight)
            if of_class is not None:
                of_row *= of_class[indices]
        check_sample_weight(of_row if weight is None else of_row * weight, of_row.size)
        return of_row / find_scale(of_row), None

    def _list_outputs(self, encoded: np.ndarray) -> Iterator[tuple[np.ndarray, Any, np.ndarray]]:
        """Yield the classes, the class weights and the class numbers of each output."""
        balance, is_many = self.class_weight, isinstance(self.classes_, list)
        classes = self.classes_ if is_many else [self.classes_]
        own = balance if isinstance(balance, list) else [balance] * len(classes)
        if len(own) != len(classes) or isinstance(balance, Mapping if is_many else list):
            which = "a list of one dict per output" if is_many else "a dict"
            raise ParameterError(
                f"{type(self).__name__}: class_weight={balance!r}; y has {len(classes)} outputs: "
                f"must be 'balanced', {which}, or None"
            )
        yield from zip(classes, own, encoded.T if is_many else [encoded], strict=True)

    def _check_class_weight(self) -> None:
        balance = self.class_weight
        if not isinstance(balance, list):
            check_class_weight(self)
        elif not all(own is None or isinstance(own, Mapping) for own in balance):
            raise ParameterError(
                f"{type(self).__name__}: class_weight={balance!r}; a list must have one dict from "
                "classes to weights, or None, per output"
            )

    def predict_proba(self, X: Any) -> Any:
        """Return class probabilities: the mean over the trees of the shares in their leaves.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``. With several outputs a list of such arrays.
        """
        return self._find_shares(self._predict_values(X))

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithm of :meth:`predict_proba`, -inf for a probability of 0."""
        shares = self.predict_proba(X)
        if isinstance(shares, list):
            return [log_probabilities(own) for own in shares]
        return log_probabilities(shares)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row, the first of equals.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
        """
        shares = self.predict_proba(X)
        if not isinstance(shares, list):
            return self.classes_[shares.argmax(axis=1)]
        pairs = zip(self.classes_, shares, strict=True)
        return np.column_stack([classes[own.argmax(axis=1)] for classes, own in pairs])

    def _find_shares(self, values: np.ndarray) -> Any:
        """Probabilities of all classes, from the values of trees."""
        if isinstance(self.classes_, list):
            ends = np.cumsum(_count_classes(self.classes_))
            return np.split(values, ends[:-1], axis=1)
        if self.classes_.size > 2:
            return values
        return np.column_stack([1.0 - values, values])[:, : self.classes_.size]


def _list_columns(y: np.ndarray) -> list[np.ndarray]:
    """Return the labels of each output; numbers beside strings are numbers again."""
    return [np.array(own.tolist()) if own.dtype == object else own for own in y.T]


def _encode_outputs(y: np.ndarray, classes: Any) -> np.ndarray:
    """Return the place of each label among the classes of its output."""
    n_outputs = 1 if y.ndim == 1 else y.shape[1]
    n_known = len(classes) if isinstance(classes, list) else 1
    if n_outputs != n_known:
        raise DataError(f"y has {n_outputs} targets, and the trees to go on from {n_known}")
    if n_outputs == 1:
        return encode_labels("y", y, classes)
    pairs = enumerate(zip(_list_columns(y), classes, strict=True))
    return np.column_stack([encode_labels(f"y[:, {k}]", own, known) for k, (own, known) in pairs])


def _count_classes(classes: Any) -> Any:
    """Return the number of classes, or a list of numbers for a list of classes."""
    return [own.size for own in classes] if isinstance(classes, list) else int(classes.size)


class TreeRegressorMixin(RegressorMixin):
    """What tree and forest regressors share."""

    _criteria: ClassVar[tuple[str, ...]] = NUMBER_CRITERIA
    _saved_attributes: ClassVar[tuple[str, ...]] = (
        "n_features_in_",
        "feature_names_in_",
        "schema_",
    )

    criterion: str
    forest_: Forest
    _predict_values: Callable[[Any], np.ndarray]

    @property
    def n_outputs_(self) -> int:
        """Numbers that are predicted for a row."""
        check_is_fitted(self)
        return self.forest_.n_columns

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.positive_only = self.criterion == "poisson"
        return tags

    def _encode_target(self, y: np.ndarray, start: Any) -> np.ndarray:
        n_columns = 1 if y.ndim == 1 else y.shape[1]
        if start is not None and start.n_outputs_ != n_columns:
            raise DataError(
                f"y has {n_columns} targets, and the trees to go on from {start.n_outputs_}"
            )
        return y

    def _make_target(self, encoded: np.ndarray, weight: np.ndarray | None) -> ForestTarget:
        return make_number_target(encoded, weight, self.criterion)

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted value of each row: the mean over the trees.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
        """
        return self._flatten(self._predict_values(X))

    def _flatten(self, values: np.ndarray) -> np.ndarray:
        return values[:, 0] if values.shape[1] == 1 else values


def copy_features(source: Any, target: Any) -> None:
    """Tell an estimator what another has learned of features and classes."""
    for name in _LEARNED:
        if hasattr(source, name):
            setattr(target, name, getattr(source, name))
