"""The rows of a fit: sets with their targets, and all sets together as training numbers them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

import numpy as np

from sumwise.data.categories.encoder import CategoryEncoder
from sumwise.data.frames.selection import take_rows
from sumwise.data.matrix import Matrix
from sumwise.errors import DataError
from sumwise.estimators.boosting.tasks import Task
from sumwise.estimators.input.targets import check_init_score, check_sample_weight
from sumwise.peers import ALONE, Peers, Shards
from sumwise.training.boost import TrainingRows

# Row numbers are uint32.
_MOST_ROWS = (1 << 32) - 1


class GivenRows(NamedTuple):
    """Arguments of ``fit``: X and what belongs to its rows."""

    X: Any
    y: Any
    sample_weight: Any = None
    init_score: Any = None
    groups: Any = None


@dataclass(frozen=True)
class LabeledRows:
    """A set of rows: X, y and what belongs to them.

    Attributes
    ----------
    given : Any
        X as the user passed it.
    matrix : Matrix
        X as kernels read it.
    y : ndarray
        The target as users know it.
    target : ndarray
        The target as the loss takes it.
    weight : ndarray or None
        None if all weights are one.
    init_score : ndarray of shape (n_outputs, n_rows) or None
    rows : ndarray or None
        Numbers of the rows to use, None for all.
    measured : mapping of str to ndarray
        Numbers of further rows, in sets that are only validated on, by name.
    name : str
        The name of a validation set in the history.
    shards : Shards or None
        Where the rows are among those of other processes; None if there are none.
    """

    given: Any
    matrix: Matrix
    y: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None
    init_score: np.ndarray | None
    rows: np.ndarray | None = None
    name: str = ""
    shards: Shards | None = None
    measured: Mapping[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def label(
        cls,
        task: Task,
        given: Any,
        matrix: Matrix,
        y: np.ndarray,
        target: np.ndarray,
        sample_weight: Any,
        init_score: Any,
        name: str = "",
    ) -> "LabeledRows":
        """Check weights, target and scores of read rows; ``name`` is that of a validation set."""
        suffix = "_val" if name else ""
        n_rows, n_outputs = matrix.shape[0], task.loss.n_outputs
        weight = check_sample_weight(sample_weight, n_rows, f"sample_weight{suffix}")
        weight = task.weigh(target, weight)
        task.loss.check_target(target, as_array(weight))
        scores = check_init_score(init_score, n_rows, n_outputs, f"init_score{suffix}")
        return cls(given, matrix, y, target, weight, scores, name=name)

    @property
    def n_rows(self) -> int:
        return len(self.target)

    @property
    def peers(self) -> Peers:
        """The processes that have the other rows."""
        return ALONE if self.shards is None else self.shards.peers

    def find_rows(self) -> np.ndarray:
        """Return the numbers of the rows to use: those of weight zero are left out."""
        if self.rows is None:
            return _number_rows(self.n_rows, self.weight)
        return self.rows if self.weight is None else self.rows[self.weight[self.rows] > 0]

    def number(self, train: np.ndarray, valid: np.ndarray) -> TrainingRows:
        """Return them for training, with the numbers of training and validation rows."""
        own = (self.target, as_array(self.weight), train, valid, self.init_score)
        return TrainingRows(*own, shards=self.shards)

    def take(self, rows: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray | None]:
        """Return X, y and weights of some rows; X has the type that was passed."""
        weight = None if self.weight is None else self.weight[rows]
        own = self.given
        X = own.take(rows) if isinstance(own, UnreadRows) else take_rows(own, rows)
        return X, self.y[rows], weight


class UnreadRows:
    """Stands for rows that are read in batches, where a scorer gets them as X.

    A model knows its predictions of them; everything else is an error.
    """

    def __init__(self, n_rows: int, n_features: int) -> None:
        self.shape = (n_rows, n_features)

    def __len__(self) -> int:
        return self.shape[0]

    def take(self, rows: np.ndarray) -> "UnreadRows":
        """Return what stands for some of the rows."""
        return UnreadRows(rows.size, self.shape[1])

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise DataError(
            "scoring: the scorer reads the features of X, which is read in batches; use a metric "
            "of predictions, or read the data into memory"
        )

    __array__ = __getitem__ = __iter__ = _refuse


@dataclass(frozen=True)
class FitData:
    """All rows of a fit.

    Attributes
    ----------
    train : LabeledRows
        The rows passed to ``fit`` as X; some of them may be held out for validation.
    sets : sequence of LabeledRows
        The validation sets, numbered after the rows of ``train``.
    rows : TrainingRows
        The targets of all of them, and the numbers of those that train and validate.
    n_categories : ndarray of int64
        Number of categories of each column, 0 for numbers.
    variants : sequence of Matrix
        The matrix of ``train`` with categories encoded by further permutations.
    encoder : CategoryEncoder or None
        None if no categories were encoded.
    thresholds : mapping of int to ndarray
        Thresholds of columns that are not to be chosen from their values.
    """

    train: LabeledRows
    sets: Sequence[LabeledRows]
    rows: TrainingRows
    n_categories: np.ndarray
    variants: Sequence[Matrix] = ()
    encoder: CategoryEncoder | None = None
    thresholds: Mapping[int, np.ndarray] = field(default_factory=dict)

    @property
    def matrices(self) -> list[Matrix]:
        """X of the training rows, and of each set."""
        return [self.train.matrix, *(rows.matrix for rows in self.sets)]


def join_rows(train: LabeledRows, sets: Sequence[LabeledRows]) -> TrainingRows:
    """Put validation sets after the training rows, one after the other."""
    every = (train, *sets)
    if len({rows.init_score is None for rows in every}) > 1:
        raise DataError(
            "scores to start from belong to training and to validation rows: pass both init_score "
            "and init_score_val, or neither (with eval_set, eval_init_score for each of its sets)"
        )
    weight = init_score = None
    if any(rows.weight is not None for rows in every):
        weight = np.concatenate(
            [np.ones(rows.n_rows) if rows.weight is None else rows.weight for rows in every]
        )
    if train.init_score is not None:
        known = [rows.init_score for rows in every if rows.init_score is not None]
        init_score = np.concatenate(known, axis=1)
    target = np.concatenate([rows.target for rows in every])
    numbers = _number_rows(len(target), weight)
    n_train = np.searchsorted(numbers, train.n_rows)
    own = (target, as_array(weight), numbers[:n_train], numbers[n_train:], init_score)
    return TrainingRows(*own, shards=train.shards)


def as_array(weight: np.ndarray | None) -> np.ndarray:
    """Return weights as training takes them: an empty array if all are one."""
    return np.empty(0) if weight is None else weight


def _number_rows(n_rows: int, weight: np.ndarray | None) -> np.ndarray:
    if n_rows > _MOST_ROWS:
        raise DataError(f"{n_rows} rows are too many; the limit is {_MOST_ROWS}")
    rows = np.arange(n_rows, dtype=np.uint32)
    return rows if weight is None or weight.min(initial=np.inf) > 0 else rows[weight > 0]
