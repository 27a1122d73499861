"""Trees of few levels, the default base learner of AdaBoost.

All rounds of a fit share one binned table. Afterwards the tree of a round is a fitted
:class:`ShallowTreeClassifier` or :class:`ShallowTreeRegressor`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from sumwise.data.binning import BinMapper
from sumwise.data.matrix import Matrix
from sumwise.data.thresholds import MAX_BINS
from sumwise.docstrings import document_rows, fill_docstring
from sumwise.errors import DataError
from sumwise.estimators.describing.models import describe_columns, describe_inputs
from sumwise.estimators.explaining import (
    PREDICTION,
    PROBABILITY,
    ExplainMixin,
    Question,
    attribute_model,
)
from sumwise.estimators.input.features import FeatureSchema, read_rows, read_training_data
from sumwise.estimators.input.jobs import start_team
from sumwise.estimators.input.parameters import check_integer
from sumwise.estimators.input.targets import check_sample_weight, find_classes
from sumwise.estimators.resampled.boosted_members import (
    normalize_weights,
    predict_with_team,
    split_rows,
)
from sumwise.export.portable import PortableModel, TreeSum
from sumwise.inspection.importance import importance
from sumwise.kernels.adaboost.reweight import draw_by_weight
from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.threads import Team
from sumwise.tree import Tree, TreeEnsemble
from sumwise.tree.shallow import MAX_SHALLOW_DEPTH, ShallowGrower

if TYPE_CHECKING:
    from sumwise.inspection.attribution import Attribution

# Number of values that are added to histograms in the time of one step of count_threads.
VALUES_PER_STEP = 4
# Quantiles of many rows come from a sample, which must not depend on other draws.
_BINNING_SEED = 0

_PARAMETERS = """
max_depth : int, default=1
    Number of levels of splits, at most 8; 1 for a decision stump.
max_bins : int, default=255
    Maximum number of bins of a feature. Splits are exact for features with no more distinct values.
n_jobs : int or None, default=None
    Number of threads; None and -1 for all CPUs."""


class NumbersReader:
    """How estimators read X if their trees split numbers only.

    The attributes are those that :func:`read_training_data` and :func:`read_rows` need.
    """

    categorical_features = "auto"
    unknown_category = "missing"
    extra_columns = "error"

    schema_: FeatureSchema

    def _read_training_data(self, X: Any, y: Any) -> tuple[Matrix, np.ndarray]:
        X, y, self.schema_ = read_training_data(self, X, y)
        return X, y


class ShallowLearner:
    """Trains shallow trees on one table.

    Parameters
    ----------
    base : ShallowTreeClassifier or ShallowTreeRegressor
        Has the parameters.
    X : ndarray, ColumnMatrix or SparseMatrix
    target : ndarray
        Class indices, or numbers.
    weight : ndarray or None
        Sample weights that determine the bins; None for equal weights.
    n_classes : int
        0 for numbers.
    seed : int or None
        Seed of the rows that are drawn; None to use the weights themselves.
    team : Team
    """

    def __init__(
        self,
        base: "BaseShallowTree",
        X: Matrix,
        target: np.ndarray,
        weight: np.ndarray | None,
        n_classes: int,
        seed: int | None,
        team: Team,
    ) -> None:
        mapper = BinMapper.fit(X, base.max_bins, weight, None, _BINNING_SEED, team)
        table = mapper.map_to_columns(X, team)
        self._grower = ShallowGrower(*table, mapper, base.max_depth, team, target, n_classes)
        self._is_class, self._n_features = n_classes > 0, X.shape[1]
        self._predicted = np.empty(target.size, dtype=np.uint16 if n_classes else np.float64)
        self._seed, self._n_draws = seed, 0
        self._counts = np.empty(target.size, dtype=np.int64)

    def __call__(self, weight: np.ndarray) -> tuple[Tree, np.ndarray]:
        """Return a tree, and what it predicts for the rows."""
        if self._seed is not None:
            weight = self._draw(weight)
        tree = self._grower.grow(weight)
        self._grower.predict_rows(find_answers(tree, self._is_class), self._predicted)
        return tree, self._predicted

    def _draw(self, weight: np.ndarray) -> np.ndarray:
        """Return how often each row is drawn, divided by a power of two so that sums are exact."""
        draw_by_weight(
            random.make_key(self._seed, random.ROWS, self._n_draws), weight, self._counts
        )
        self._n_draws += 1
        return self._counts * 2.0 ** -int(weight.size).bit_length()

    def join(
        self, trained: Sequence[Tree], weights: np.ndarray, votes: np.ndarray | None
    ) -> "ShallowTrees":
        """Return the trees of all rounds, with weighted votes or numbers in their nodes."""
        if votes is None:
            values = [tree.value for tree in trained]
        else:
            pairs = zip(trained, weights, strict=True)
            values = [weight * votes[find_answers(tree, True)] for tree, weight in pairs]
        n_outputs = 1 if votes is None else votes.shape[1]
        return ShallowTrees(join_trees(trained, values, n_outputs, self._n_features))


@dataclass(frozen=True, eq=False)
class ShallowTrees:
    """The trees of all rounds, as one ensemble."""

    ensemble: TreeEnsemble

    def add_up(self, X: Matrix, n_jobs: int | None) -> np.ndarray:
        """Return the sum of the weighted votes."""
        with predict_with_team(X, self.ensemble.n_trees, n_jobs) as team:
            return self.ensemble.predict_raw(X, team)

    def staged_add_up(self, X: Matrix, n_jobs: int | None) -> Iterator[np.ndarray]:
        """Yield the sum of the weighted votes after each round."""
        with start_team(n_jobs, X.shape[0] * self.ensemble.n_outputs) as team:
            yield from self.ensemble.staged_predict_raw(X, team)

    def attribute(
        self, question: Question, read: Callable[[Any], Matrix], n_jobs: int | None
    ) -> "Attribution":
        """Return the contributions to the sum of the weighted votes."""
        return attribute_model(self.ensemble, question, read, n_jobs)

    def list_numbers(self, X: Matrix, n_jobs: int | None) -> Iterator[np.ndarray]:
        """Yield what the trees predict, shape (n_trees, n_rows), for successive rows."""
        ensemble = self.ensemble
        with predict_with_team(X, ensemble.n_trees, n_jobs) as team:
            for part in split_rows(X):
                yield ensemble.value[ensemble.apply(part, team) + ensemble.start[:-1]].T


def find_answers(tree: Tree, is_class: bool) -> np.ndarray:
    """Return what a tree predicts in each node: the class of largest weight, or a number."""
    if is_class:
        return tree.value.argmax(axis=1).astype(np.uint16)
    return np.ascontiguousarray(tree.value[:, 0])


def join_trees(
    trees: Sequence[Tree], values: list[np.ndarray], n_outputs: int, n_features: int
) -> TreeEnsemble:
    """Return trees as an ensemble that sums other values, one per node and output."""
    parts = [
        Tree(**{**vars(tree), "value": value[:, k : k + 1]})
        for tree, value in zip(trees, values, strict=True)
        for k in range(n_outputs)
    ]
    return TreeEnsemble.from_trees(parts, np.zeros(n_outputs), "identity", n_features)


class BaseShallowTree(ExplainMixin, NumbersReader, BaseEstimator):
    """Base of trees of few levels."""

    tree_: Tree
    n_features_in_: int

    def __init__(
        self, max_depth: int = 1, *, max_bins: int = MAX_BINS, n_jobs: int | None = None
    ) -> None:
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
            Numbers; NaN is missing.
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        self
        """
        self._check_parameters()
        X, y = self._read_training_data(X, y)
        self._refuse_categories()
        target, n_classes = self._encode_target(y)
        weight = check_sample_weight(sample_weight, X.shape[0])
        with start_team(self.n_jobs, X.shape[0] * X.shape[1] // VALUES_PER_STEP) as team:
            learn = ShallowLearner(self, X, target, weight, n_classes, None, team)
            self.tree_, _ = learn(normalize_weights(weight, X.shape[0]))
        return self

    def _refuse_categories(self) -> None:
        for feature in self.schema_.dictionaries:
            names = getattr(self, "feature_names_in_", None)
            label = f"column {feature}" if names is None else f"column {names[feature]!r}"
            raise DataError(
                f"{label} holds strings or categories, and these trees split numbers only; encode "
                "it, or use a decision tree"
            )

    def _check_parameters(self) -> None:
        check_integer(self, "max_depth", 1, MAX_SHALLOW_DEPTH)
        check_integer(self, "max_bins", 2, MAX_BINS)

    def _encode_target(self, y: np.ndarray) -> tuple[np.ndarray, int]:
        """Return y as the grower takes it, and the number of classes."""
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "tree_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True  # refused with the name of the column
        return tags

    @document_rows
    def apply(self, X: Any) -> np.ndarray:
        """Return the leaf each row reaches.

        {rows}
        ndarray of int32, shape (n_rows,)
            Node indices.
        """
        check_is_fitted(self)
        X = read_rows(self, X)
        with start_team(self.n_jobs, X.shape[0]) as team:
            return self._ensemble.apply(X, team)[:, 0]

    @property
    def _scale(self) -> str:
        return PREDICTION

    def _attribute(self, question: Question) -> "Attribution":
        return self._attribute_values(question, self.tree_.value)

    def _attribute_values(self, question: Question, values: np.ndarray) -> "Attribution":
        trees = join_trees([self.tree_], [values], values.shape[1], self.n_features_in_)
        return attribute_model(trees, question, partial(read_rows, self), self.n_jobs)

    @property
    def _ensemble(self) -> TreeEnsemble:
        return join_trees([self.tree_], [self.tree_.value], 1, self.n_features_in_)

    def _describe(self) -> PortableModel:
        """Return the model in plain terms, for export."""
        check_is_fitted(self)
        tree, columns = self.tree_, describe_columns(self.n_features_in_, None)
        start = np.array([0, tree.n_nodes], dtype=np.int64)
        output = TreeSum(columns, tree, start, np.zeros(tree.value.shape[1]))
        classes = (self.classes_,) if hasattr(self, "classes_") else ()
        return PortableModel(type(self).__name__, describe_inputs(self), output, classes)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Total gain of each feature's splits, as shares of one."""
        check_is_fitted(self)
        return importance(self._ensemble)


@fill_docstring(parameters=_PARAMETERS)
class ShallowTreeClassifier(ClassifierMixin, BaseShallowTree):
    """A tree of few levels that minimizes weighted Gini impurity.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    tree_ : Tree
        Its values are class shares.
    classes_ : ndarray
        Class labels, sorted.
    """

    classes_: np.ndarray

    @property
    def _scale(self) -> str:
        return PROBABILITY

    def _attribute(self, question: Question) -> "Attribution":
        is_pair = self.classes_.size == 2
        return self._attribute_values(question, self.tree_.value[:, 1 if is_pair else 0 :])

    def _encode_target(self, y: np.ndarray) -> tuple[np.ndarray, int]:
        self.classes_, indices = find_classes(y, at_least=1)
        return indices, self.classes_.size

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the class shares in the leaf of each row, shape (n_rows, n_classes)."""
        leaves = self.apply(X)
        return self.tree_.value[leaves]

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of largest weight in each row's leaf."""
        leaves = self.apply(X)
        return self.classes_[find_answers(self.tree_, True)[leaves]]


@fill_docstring(parameters=_PARAMETERS)
class ShallowTreeRegressor(RegressorMixin, BaseShallowTree):
    """A tree of few levels that minimizes the weighted squared error.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    tree_ : Tree
        Its values are means.
    """

    def _encode_target(self, y: np.ndarray) -> tuple[np.ndarray, int]:
        return y.astype(np.float64), 0

    def predict(self, X: Any) -> np.ndarray:
        """Return the mean of each row's leaf."""
        leaves = self.apply(X)
        return self.tree_.value[leaves, 0]
