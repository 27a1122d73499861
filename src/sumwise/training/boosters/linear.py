"""The linear booster: coordinate descent on a generalized linear model."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from sumwise.data.matrix import DenseMatrix, read_chunks
from sumwise.data.sparse import SparseMatrix, Stored
from sumwise.errors import DataError, ParameterError
from sumwise.kernels.linear.dense import BLOCK, descend_coordinates
from sumwise.kernels.linear.sparse import descend_stored_coordinates
from sumwise.kernels.runtime.reduce import exact_sum
from sumwise.parts import check_number
from sumwise.training.boosters.base import Booster, BoosterRun, BoosterUser
from sumwise.training.rounds import Record
from sumwise.training.session import Session
from sumwise.tree.linear import LinearEnsemble, add_scores

# Squares of values, times gradients, must be finite.
_TOO_LARGE = 1e150
# Threads wait for each other at every feature: with fewer entries per feature, one is faster.
_ENTRIES_FOR_ALL = 10_000


@dataclass(eq=False, repr=False)
class Linear(Booster):
    """A generalized linear model instead of trees: each round is a pass of coordinate descent.

    A round takes the gradients at the scores so far, and then a step in the intercept and in each
    coefficient in turn: the step that minimizes the second-order loss, times the learning rate.
    This is XGBoost's ``gblinear`` with the updater ``coord_descent``. As there, penalties are
    relative to the total weight: the mean loss plus ``l1 |w| + l2 / 2 w^2`` is minimized.

    Features are not scaled; scale them before if there are penalties. A missing value counts as
    zero. Parameters of trees (``growth`` and so on, also ``l1`` and ``l2`` of the estimator) are
    not used; constraints, ``columns``, categories and losses without a second derivative are
    refused.

    Parameters
    ----------
    l1, l2 : float, default=0.0
        Penalties on coefficients, not on the intercept.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import GradientBoostingRegressor, Linear
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(booster=Linear(l2=0.001), learning_rate=0.5).fit(X, y)
    >>> model.coef_.shape
    (10,)
    """

    grows_trees = False

    l1: float = 0.0
    l2: float = 0.0

    def check(self) -> None:
        check_number(self, "l1", 0.0)
        check_number(self, "l2", 0.0)

    def check_use(self, estimator: BoosterUser) -> None:
        for name in ("monotonic_cst", "interaction_cst", "columns"):
            if getattr(estimator, name) is not None:
                raise ParameterError(
                    f"{type(estimator).__name__}: booster='linear' has no trees, and {name} is "
                    f"about their splits; leave {name} out"
                )

    def start(self, session: Session) -> BoosterRun:
        return _LinearRun(session, self)


class LinearRounds(Record):
    """The coefficients after each round, including past rounds."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._base_score, self._link = session.base_score, session.settings.loss.link
        n_outputs, n_features = session.n_outputs, session.table.n_features
        past: Any = session.past.ensemble if session.past else None
        self._coefficient = (
            np.empty((0, n_outputs, n_features)) if past is None else past.coefficient
        )
        self._intercept = np.empty((0, n_outputs)) if past is None else past.intercept
        self._added: list[np.ndarray] = []

    @property
    def n_rounds(self) -> int:
        return self._coefficient.shape[0] + len(self._added)

    @property
    def last(self) -> np.ndarray:
        """The model so far (n_outputs, 1 + n_features): intercepts, then coefficients."""
        if self._added:
            return self._added[-1]
        if self._coefficient.shape[0]:
            return np.column_stack([self._intercept[-1], self._coefficient[-1]])
        _, n_outputs, n_features = self._coefficient.shape
        return np.zeros((n_outputs, 1 + n_features))

    def add(self, model: np.ndarray) -> None:
        """Add the model of a round, in the layout of :attr:`last`."""
        self._added.append(model)

    def make_ensemble(self, n_rounds: int) -> Any:
        """Return the linear model after ``n_rounds`` rounds."""
        shape = (len(self._added), *self.last.shape)
        added = np.array(self._added).reshape(shape)
        return LinearEnsemble(
            coefficient=np.concatenate([self._coefficient, added[:, :, 1:]])[:n_rounds],
            intercept=np.concatenate([self._intercept, added[:, :, 0]])[:n_rounds],
            base_score=self._base_score,
            link=self._link,
        )


class _LinearRun(BoosterRun):
    rounds: LinearRounds
    _run: Callable[..., None]
    _descend: Callable[..., None]
    _columns: tuple[Any, ...]

    def __init__(self, session: Session, booster: Linear) -> None:
        loss, train = session.settings.loss, session.rows.train
        if loss.location is not None:
            raise ParameterError(
                "booster='linear' needs a loss with a second derivative; medians, quantiles and "
                "Huber locations are fitted by trees"
            )
        self.session, self._booster = session, booster
        self.rounds = LinearRounds(session)
        self._start = session.raw.copy()
        X = session.table.matrices[0]
        if isinstance(X, SparseMatrix):
            stored = _read_stored(X, train)
            self._descend = descend_stored_coordinates
            self._columns = (stored, np.ones(train.size))
            is_long = stored.values.size >= _ENTRIES_FOR_ALL * X.shape[1]
            self._run = session.team.run if is_long else session.team.run_alone
        else:
            self._run = session.team.run
            self._descend, self._columns = descend_coordinates, (_read_columns(X, train),)
        n_blocks = -(-train.size // BLOCK)
        self._sums = np.empty((2, n_blocks, 2))

    def add_round(self, round_idx: int) -> None:
        session, booster, train = self.session, self._booster, self.session.rows.train
        session.take_gradient(session.raw)
        sample = session.draw_rows(round_idx)
        session.begin_left_out(sample, session.raw)
        weight = session.rows.weight
        total = exact_sum(weight[sample.seen]) if weight.size else float(sample.seen.size)
        rate = session.settings.growth.learning_rate
        rule = float(rate), float(booster.l1 * total), float(booster.l2 * total)
        is_seen = np.zeros(session.rows.n_rows, dtype=np.bool_)
        is_seen[sample.seen] = True
        is_seen = is_seen[train]
        old = self.rounds.last
        new = np.empty_like(old)
        for output in range(session.n_outputs):
            gradient = np.where(is_seen, session.gradient[output][train], 0.0)
            hessian = np.where(is_seen, session.hessian[output][train], 0.0)
            buffers = (gradient, hessian, old[output].copy(), rule, self._sums, new[output])
            self._run(self._descend, *self._columns, *buffers)
        self.rounds.add(new)
        self._score_rows(new)

    def _score_rows(self, model: np.ndarray) -> None:
        """Set the scores of all rows, as the finished model predicts them."""
        session = self.session
        raw = self._start.T.copy()
        first = 0
        for X in session.table.matrices:
            part = raw[first : first + X.shape[0]]
            add_scores(X, model[:, 0], model[:, 1:], part, session.team)
            first += X.shape[0]
        session.raw[:] = raw.T


def _read_columns(X: DenseMatrix, train: np.ndarray) -> np.ndarray:
    """Return ones and the features of the training rows by column; missing values are zeros."""
    columns = np.ones((1 + X.shape[1], train.size))
    for first, part in read_chunks(X):
        own = slice(*np.searchsorted(train, [first, first + part.n_rows]))
        rows = (train[own].astype(np.int64) - first) * part.row_stride
        for feature, column in enumerate(columns[1:]):
            column[own] = part.values[rows + feature * part.column_stride]
    np.nan_to_num(columns, copy=False, nan=0.0, posinf=np.inf, neginf=-np.inf)
    is_fine = np.abs(columns).max(axis=1) < _TOO_LARGE
    if not is_fine.all():
        _refuse_values(int(is_fine.argmin()) - 1)
    return columns


def _read_stored(X: SparseMatrix, train: np.ndarray) -> Stored:
    """Return the stored entries of the training rows by feature, without zeros and missing values.

    Rows are numbered by their positions among the training rows.
    """
    start, index, values = X.sort_by_column()
    place = np.full(X.shape[0], -1, dtype=np.int64)
    place[train] = np.arange(train.size)
    place = place[index]
    kept = np.flatnonzero((place >= 0) & (values != 0) & ~np.isnan(values))
    stored = Stored(np.searchsorted(kept, start), place[kept], values[kept].astype(np.float64))
    is_fine = np.abs(stored.values) < _TOO_LARGE
    if not is_fine.all():
        _refuse_values(int(np.searchsorted(stored.start, is_fine.argmin(), side="right")) - 1)
    return stored


def _refuse_values(feature: int) -> NoReturn:
    raise DataError(
        f"feature {feature} of X has values that are infinite or beyond {_TOO_LARGE:g}, which a "
        "linear model cannot take; clip them, or mark them as missing"
    )
