"""AdaBoost of decision trees: X is read and binned once, for all rounds.

The bins come from the sample weights of ``fit``, not from the weights of each round.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier

from sumwise.data.matrix import Matrix
from sumwise.estimators.explaining import Question, attribute_model
from sumwise.estimators.forests.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from sumwise.estimators.forests.parameters import draw_seed
from sumwise.estimators.forests.training_set import TrainingSet
from sumwise.estimators.resampled.boosted_members import (
    predict_with_team,
    raise_weights,
    split_rows,
)
from sumwise.estimators.resampled.table_trees import DecisionTree, TableTrees
from sumwise.kernels.runtime.threads import Team
from sumwise.lazy import lazy
from sumwise.tree.encoded_table import EncodedTable, TableEncoder, make_tree_key
from sumwise.tree.forest import BinnedForest

if TYPE_CHECKING:
    from sumwise.inspection.attribution import Attribution


def can_share_table(base: Any, draws_rows: bool) -> bool:
    """Whether the trees of all rounds can grow on one table.

    There, a row drawn twice has a weight of two but counts once for the minimum number of rows of a
    node. If that matters, trees are fitted on the drawn rows.
    """
    if type(base) not in (DecisionTreeClassifier, DecisionTreeRegressor):
        return False
    counts_rows = base.min_samples_split != 2 or base.min_samples_leaf != 1
    return not (draws_rows and counts_rows)


class BoostedTree(NamedTuple):
    """The tree of a round, and the seed of its member."""

    forest: BinnedForest
    random_state: int


class TreeLearner:
    """Trains decision trees on one table.

    Parameters
    ----------
    base : DecisionTreeClassifier or DecisionTreeRegressor
        Members are clones of it.
    reader : DecisionTreeClassifier or DecisionTreeRegressor
        A clone that has read the training set.
    train : TrainingSet
    draws_rows : bool
        Whether rows are drawn by weight; otherwise trees get the weights.
    random : RandomState
    teams : pair of Team
        The first works on all rows; the second, of one thread, grows trees.
    """

    def __init__(
        self,
        base: DecisionTree,
        reader: DecisionTree,
        train: TrainingSet,
        draws_rows: bool,
        random: np.random.RandomState,
        teams: tuple[Team, Team],
    ) -> None:
        self._base, self._reader, self._train = base, reader, train
        self._draws_rows, self._random = draws_rows, random
        self._team, self._grow_team = teams
        self._table = train.bin_rows(self._team)
        self._encoder = None
        if isinstance(self._table, EncodedTable):
            # Errors are measured on all rows: none is encoded by its own target.
            self._table = replace(self._table, by_bag=False)
            self._encoder = TableEncoder(self._table)
        self._plan = train.make_plan(self._table)

    def __call__(self, weight: np.ndarray) -> tuple[BoostedTree, np.ndarray]:
        """Return a tree, and what it predicts for the rows."""
        random_state = draw_seed(self._random)
        train = self._train.reweight(self._weigh_rows(weight))
        plan = replace(self._plan, seed=draw_seed(random_state))
        forest, bins = train.grow(plan, self._table, self._grow_team).forest, self._table.bins
        if self._encoder is not None:  # as the tree has seen them
            bins = self._encoder.encode(weight > 0, make_tree_key(plan.seed, 0))
        values, _ = forest.sum_values(bins, self._team)
        is_class = is_classifier(self._reader)
        predicted = choose_classes(values) if is_class else np.ascontiguousarray(values[:, 0])
        return BoostedTree(forest, random_state), predicted

    def _weigh_rows(self, weight: np.ndarray) -> np.ndarray:
        """Return the weights that a tree gets: those of the rows, or counts of draws."""
        if not self._draws_rows:
            return raise_weights(weight)
        rows = self._random.choice(weight.size, weight.size, p=weight)
        return np.bincount(rows, minlength=weight.size).astype(np.float64)

    def join(
        self, trained: Sequence[BoostedTree], weights: np.ndarray, votes: np.ndarray | None
    ) -> "BoostedTrees":
        """Return the trees of all rounds."""
        self._reader.forest_ = BinnedForest.join([tree.forest for tree in trained])
        recipe = BoostedRecipe(self._base, [tree.random_state for tree in trained])
        return BoostedTrees(self._reader, recipe, weights, votes)


def choose_classes(values: np.ndarray) -> np.ndarray:
    """Return the class of each row of a tree's values, the first of equals."""
    if values.shape[1] == 1:  # probability of the second of two classes
        return (values[:, 0] > 1.0 - values[:, 0]).astype(np.intp)
    return values.argmax(axis=1)


@dataclass(frozen=True)
class BoostedRecipe:
    """How members of AdaBoost are made from its base learner."""

    estimator: Any
    random_states: list[int]

    def make_member(self, number: int) -> Any:
        """Return an unfitted member."""
        return clone(self.estimator).set_params(random_state=self.random_states[number])

    def draw_features(self, number: int) -> None:
        """Return None: members have all features."""
        return


@dataclass(frozen=True, eq=False)
class BoostedTrees(TableTrees):
    """The trees of all rounds.

    Attributes
    ----------
    weights : ndarray of shape (n_trees,)
    votes : ndarray of shape (n_classes, n_columns) or None
        What a vote for each class adds to the sum; None for numbers.
    """

    weights: np.ndarray
    votes: np.ndarray | None

    def read_rows(self, X: Any) -> Matrix:
        """Check X against the features of ``fit``; return it as kernels read it."""
        return self.model._check_input(X)

    @lazy
    def voter(self) -> BinnedForest:
        """The trees with weighted votes in their leaves."""
        assert self.votes is not None
        forest = self.model.forest_
        tree = np.searchsorted(forest.start, forest.leaf_nodes, side="right") - 1
        votes = self.votes[choose_classes(forest.value)]
        return replace(forest, value=self.weights[tree, np.newaxis] * votes)

    def add_up(self, X: Matrix, n_jobs: int | None) -> np.ndarray:
        """Return the sum of the weighted votes."""
        with predict_with_team(X, self.n_members, n_jobs) as team:
            parts = self.voter.mapper.map_parts(X, team)
            return np.concatenate([self.voter.sum_values(rows, team)[0] for _, rows in parts])

    def staged_add_up(self, X: Matrix, n_jobs: int | None) -> Iterator[np.ndarray]:
        """Yield the sum of the weighted votes after each round."""
        with predict_with_team(X, self.n_members, n_jobs) as team:
            leaves = _find_leaves(self.voter, X, team)
        return accumulate(self.voter.value[own] for own in leaves.T)

    def attribute(
        self, question: Question, read: Callable[[Any], Matrix], n_jobs: int | None
    ) -> "Attribution":
        """Return the contributions to the sum of the weighted votes."""
        found = attribute_model(self.voter, question, read, n_jobs)
        if self.model._encoder is not None:
            found = found.fold_features(self.model._encoder.fold)
        return found.scale(self.n_members)  # a forest has the mean

    def list_numbers(self, X: Matrix, n_jobs: int | None) -> Iterator[np.ndarray]:
        """Yield what the trees predict, shape (n_trees, n_rows), for successive rows."""
        forest = self.model.forest_
        with predict_with_team(X, self.n_members, n_jobs) as team:
            for part in split_rows(X):
                yield forest.value[_find_leaves(forest, part, team).T, 0]


def _find_leaves(forest: BinnedForest, X: Matrix, team: Team) -> np.ndarray:
    """Return the leaf of each row in each tree, numbered over all leaves."""
    return forest.packed.leaf[forest.apply(X, team) + forest.start[:-1]]
