"""AdaBoost of any base learner: how its rounds learn, and how the learners of all rounds predict.

:class:`Learner` and :class:`BoostedLearners` are what AdaBoost needs of its base learner. Decision
trees (``boosted_trees``) and shallow trees (``shallow_trees``) provide the same, on one table.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sklearn.base import clone

from sumwise.data.frames.selection import take_rows
from sumwise.data.matrix import ColumnMatrix, Matrix
from sumwise.data.sparse import SparseMatrix
from sumwise.errors import DataError
from sumwise.estimators.explaining import Question, attribute_classes, weigh_members
from sumwise.estimators.input.jobs import start_team
from sumwise.estimators.members import fit_member
from sumwise.estimators.resampled.recipe import seed_member
from sumwise.kernels.runtime.threads import Team
from sumwise.training.reweight import SMALLEST_ERROR

if TYPE_CHECKING:
    from sumwise.inspection.attribution import Attribution

# Number of trees that a row passes in the time of one step of count_threads.
_TREES_PER_STEP = 4
# Number of rows whose predictions by all members are in memory at the same time.
_CHUNK = 1 << 14


class BoostedLearners(Protocol):
    """The learners of all rounds, with their weights."""

    def add_up(self, X: Any, n_jobs: int | None) -> np.ndarray:
        """Return the weighted votes: (n_rows, 1) for the second class, or (n_rows, n_classes)."""

    def staged_add_up(self, X: Any, n_jobs: int | None) -> Iterator[np.ndarray]:
        """Yield the weighted votes after each round."""

    def list_numbers(self, X: Any, n_jobs: int | None) -> Iterator[np.ndarray]:
        """Yield what the learners predict, shape (n_learners, n_rows), for successive rows."""

    def attribute(
        self, question: Question, read: Callable[[Any], Any], n_jobs: int | None
    ) -> "Attribution":
        """Return the contributions to the weighted votes."""


class Learner(Protocol):
    """Trains the learner of a round, as :func:`boost_learners` asks it to."""

    def __call__(self, weight: np.ndarray) -> tuple[Any, np.ndarray] | None:
        """Return a fitted learner, and what it predicts for the rows."""

    def join(
        self, trained: Sequence[Any], weights: np.ndarray, votes: np.ndarray | None
    ) -> BoostedLearners:
        """Return the learners of all rounds.

        ``votes`` has what a vote for each class adds to the sum; None for numbers.
        """


class MemberLearner:
    """Trains clones of any base learner.

    Parameters
    ----------
    base : estimator
    X : Any
        As the user passed it.
    y : ndarray
        Labels or numbers.
    draws_rows : bool
        Whether rows are drawn by weight; otherwise learners get the weights.
    random : RandomState
    read : callable
        From a member's predictions to class indices or numbers.
    needs_classes : bool
        Whether a sample must have two classes: learners may refuse one class.
    """

    def __init__(
        self,
        base: Any,
        X: Any,
        y: np.ndarray,
        draws_rows: bool,
        random: np.random.RandomState,
        read: Callable[[Any], np.ndarray],
        needs_classes: bool,
    ) -> None:
        self._base, self._X, self._y = base, X, y
        self._draws_rows, self._random, self._read = draws_rows, random, read
        self._needs_classes, self._n_tries = needs_classes, 0

    def __call__(self, weight: np.ndarray) -> tuple[Any, np.ndarray] | None:
        """Return a fitted member, and what it predicts for the rows."""
        member = seed_member(clone(self._base), self._random)
        label = f"learner {self._n_tries}"
        self._n_tries += 1
        if self._draws_rows:
            rows = self._random.choice(weight.size, weight.size, p=weight)
            y = self._y[rows]
            if self._needs_classes and (y == y[0]).all():
                return None
            fit_member(label, member, take_rows(self._X, rows), y, {})
        else:
            params = {"sample_weight": raise_weights(weight)}
            fit_member(label, member, self._X, self._y, params)
        return member, self._read(member.predict(self._X))

    def join(
        self, trained: Sequence[Any], weights: np.ndarray, votes: np.ndarray | None
    ) -> "BoostedMembers":
        """Return the members of all rounds."""
        return BoostedMembers(trained, weights, votes, self._read)


@dataclass(frozen=True, eq=False)
class BoostedMembers:
    """The members of all rounds, of any type.

    Attributes
    ----------
    members : sequence of estimators
    weights : ndarray of shape (n_members,)
    votes : ndarray of shape (n_classes, n_columns) or None
        What a vote for each class adds to the sum; None for numbers.
    read : callable
        From a member's predictions to class indices or numbers.
    """

    members: Sequence[Any]
    weights: np.ndarray
    votes: np.ndarray | None
    read: Callable[[Any], np.ndarray]

    def add_up(self, X: Any, n_jobs: int | None) -> np.ndarray:
        """Return the sum of the weighted votes."""
        *_, total = self.staged_add_up(X, n_jobs)
        return total

    def staged_add_up(self, X: Any, n_jobs: int | None) -> Iterator[np.ndarray]:
        """Yield the sum of the weighted votes after each round."""
        assert self.votes is not None
        pairs = zip(self.members, self.weights, strict=True)
        return accumulate(w * self.votes[self.read(member.predict(X))] for member, w in pairs)

    def attribute(
        self, question: Question, read: Callable[[Any], Any], n_jobs: int | None
    ) -> "Attribution":
        """Return the contributions to the sum of the weighted votes, if members are trees."""
        assert self.votes is not None
        labels = [f"learner {k}" for k in range(len(self.members))]
        members = [
            item._replace(places=self.read(getattr(item.model, "classes_", [])))
            for item in weigh_members(labels, self.members, self.weights)
        ]
        n_classes = len(self.votes)
        found = attribute_classes(members, question.read(read), 0, n_classes, by_label=True)
        if n_classes > 2:
            return found
        # From the votes for the second class alone to those minus the votes for the first.
        return found.mix_outputs(np.full((1, 1), 2.0), np.full(1, -self.weights.sum()))

    def list_numbers(self, X: Any, n_jobs: int | None) -> Iterator[np.ndarray]:
        """Yield what the members predict."""
        yield np.stack([self.read(member.predict(X)) for member in self.members])


def find_class_indices(predicted: Any, classes: np.ndarray, learner: str) -> np.ndarray:
    """Return the class indices of predicted labels; ``learner`` is a name for messages."""
    predicted = np.asarray(predicted)
    places = np.searchsorted(classes, predicted).clip(max=classes.size - 1)
    unknown = classes[places] != predicted
    if np.any(unknown):
        raise DataError(
            f"{learner} predicts {predicted[unknown].tolist()[0]!r}, which is not a class of y"
        )
    return places


def check_numbers(predicted: Any, learner: str) -> np.ndarray:
    """Return predicted numbers as float64; ``learner`` is a name for messages."""
    predicted = np.asarray(predicted, dtype=np.float64)
    if predicted.ndim != 1 or not np.isfinite(predicted).all():
        raise DataError(
            f"{learner} predicts an array of shape {predicted.shape} or with numbers that are not "
            "finite; expected one number per row"
        )
    return predicted


def raise_weights(weight: np.ndarray) -> np.ndarray:
    """Return weights raised to a minimum, below which many learners treat them as zero."""
    return np.where(weight > 0.0, np.maximum(weight, SMALLEST_ERROR), 0.0)


def normalize_weights(weight: np.ndarray | None, n_rows: int) -> np.ndarray:
    """Return weights of rows that sum to one."""
    if weight is None:
        return np.full(n_rows, 1.0 / n_rows)
    # Divided by the largest first: the sum of large weights would overflow.
    weight = weight / weight.max()
    return weight / weight.sum()


def predict_with_team(X: Matrix, n_trees: int, n_jobs: int | None) -> AbstractContextManager[Team]:
    """Return threads that pass rows through this many trees."""
    return start_team(n_jobs, X.shape[0] * n_trees // _TREES_PER_STEP)


def split_rows(X: Matrix) -> Iterator[Matrix]:
    """Yield the rows in chunks."""
    if isinstance(X, SparseMatrix):
        X = X.sort_by_row()
    for first in range(0, X.shape[0], _CHUNK):
        last = min(first + _CHUNK, X.shape[0])
        yield X.convert(first, last) if isinstance(X, ColumnMatrix) else X[first:last]
