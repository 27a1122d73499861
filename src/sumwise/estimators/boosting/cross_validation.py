"""Cross-validation of boosting, round by round: all folds train in step."""

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from sumwise.data.frames.reading import read_array
from sumwise.data.frames.selection import take_rows
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.boosting.automatic import (
    resolve_automatic,
    with_plain_values,
    with_values,
)
from sumwise.estimators.boosting.base import BaseGradientBoosting
from sumwise.estimators.boosting.boosters import resolve_booster, stops_by_oob
from sumwise.estimators.boosting.evaluation import name_watched, resolve_metrics
from sumwise.estimators.boosting.losses import make_class_loss, make_regression_loss
from sumwise.estimators.boosting.pipeline import check_stopping
from sumwise.estimators.boosting.tasks import count_targets
from sumwise.estimators.calibrated.unseen import clone_uncalibrated
from sumwise.estimators.combined.out_of_fold import Folds, find_splitter
from sumwise.estimators.input.jobs import count_cpus
from sumwise.training.boosters import Dart
from sumwise.training.callbacks import Callback, RoundState, call_all
from sumwise.training.progress import show_best_round, show_progress
from sumwise.training.stopping import EarlyStopping

_TRAIN, _TEST = "train", "test"


@dataclass(frozen=True)
class CVResult:
    """The result of :func:`cv`.

    Attributes
    ----------
    scores : dict of ndarray of shape (n_folds, n_rounds)
        By name: "test_loss"; "test_score" or "test_" and the names of metrics; with
        ``return_train_score`` also "train_loss" and so on. With early stopping, the last round is
        the best one.
    best_iteration : int
        Number of rounds with the best mean of the watched score.
    best_score : float
        That mean.
    estimators : list of fitted estimators or None
        One per fold, with ``best_iteration`` rounds if early stopping is on.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import CVResult
    >>> result = CVResult({"test_loss": np.array([[3.0, 2.0], [5.0, 3.0]])}, 2, 2.5)
    >>> result.to_dict()["test_loss_mean"]
    array([4. , 2.5])
    """

    scores: Mapping[str, np.ndarray]
    best_iteration: int
    best_score: float
    estimators: list[Any] | None = None

    def __repr__(self) -> str:
        n_folds, n_rounds = next(iter(self.scores.values())).shape
        return (
            f"<CVResult of {n_folds} folds, {n_rounds} rounds: {', '.join(self.scores)}; best mean "
            f"{self.best_score:.6g} after {self.best_iteration} rounds>"
        )

    @property
    def mean(self) -> dict[str, np.ndarray]:
        """Means over the folds, one per round."""
        return {name: values.mean(axis=0) for name, values in self.scores.items()}

    @property
    def std(self) -> dict[str, np.ndarray]:
        """Standard deviations over the folds, one per round."""
        return {name: values.std(axis=0) for name, values in self.scores.items()}

    def to_dict(self) -> dict[str, np.ndarray]:
        """Return columns for a frame, one row per round: "test_loss_mean", "test_loss_std", ..."""
        mean, std = self.mean, self.std
        columns: dict[str, np.ndarray] = {}
        for name in self.scores:
            columns |= {f"{name}_mean": mean[name], f"{name}_std": std[name]}
        return columns


def cv(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    init_score: Any = None,
    *,
    cv: Any = 5,
    groups: Any = None,
    return_train_score: bool = False,
    return_estimator: bool = False,
) -> CVResult:
    """Cross-validate gradient boosting, and measure all folds after each round.

    scikit-learn's ``cross_validate`` scores finished models; this function scores all rounds, and
    so finds the best number of rounds. Early stopping watches the mean over the folds: it is on
    unless ``early_stopping=False``, with ``n_iter_no_change`` and ``tol`` of the estimator. Every
    fold is a separate fit; nothing, not even the bins, is learned from the rows it is tested on.

    Parameters
    ----------
    estimator : GradientBoostingClassifier or GradientBoostingRegressor
        It is not changed. Its ``scoring`` has the metrics to measure in addition to the loss, and
        early stopping watches the last one. Its ``callbacks`` are called for the rounds of every
        fold; if one returns True, all folds stop.
    X : frame, array-like or sparse matrix of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows, in training and in testing.
    init_score : array-like of shape (n_rows,) or (n_rows, n_classes), default=None
        Raw scores to start from, as in ``fit``.
    cv : int, splitter or iterable of (train, test), default=5
        Number of folds, stratified for a classifier; a splitter of scikit-learn; or pairs of row
        numbers.
    groups : array-like of shape (n_rows,), default=None
        Groups of rows. A number of folds keeps groups together; splitters may use them.
    return_train_score : bool, default=False
        Whether to measure the training rows of each fold, too.
    return_estimator : bool, default=False
        Whether to return the models of the folds.

    Returns
    -------
    CVResult

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import sumwise
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = sumwise.GradientBoostingRegressor(n_estimators=500, random_state=0)
    >>> result = sumwise.cv(model, X, y, cv=3)
    >>> result.scores["test_loss"].shape == (3, result.best_iteration)
    True
    >>> final = model.set_params(n_estimators=result.best_iteration).fit(X, y)
    """
    _check_estimator(estimator)
    labels = np.asarray(read_array(y))
    splitter = find_splitter(cv, labels, is_classifier(estimator), groups is not None)
    n_rows = labels.shape[0]
    of_rows = {"groups": None if groups is None else np.asarray(groups)}
    folds = Folds.split(splitter, np.zeros((n_rows, 1)), labels, of_rows)
    data = _Rows(X, labels, sample_weight, init_score, of_rows["groups"])
    if is_classifier(estimator):
        loss = make_class_loss(estimator, np.unique(labels).size)
    else:
        loss = make_regression_loss(estimator, count_targets(labels))
    chosen = resolve_automatic(estimator, n_rows, loss, bool(estimator.early_stopping))
    if "n_estimators" in chosen:  # all folds have the same rounds
        estimator = with_values(estimator, chosen)
    with show_progress(bool(estimator.verbose)) as shown:
        steps = _Steps(estimator, len(folds.train), shown, return_estimator)
        models = _fit_folds(estimator, data, folds, steps, return_train_score)
    return steps.make_result(models if return_estimator else None)


def _check_estimator(estimator: object) -> None:
    if not isinstance(estimator, BaseGradientBoosting):
        raise ParameterError(
            f"cv measures rounds of gradient boosting; a {type(estimator).__name__} has none: use "
            "cross_validate of scikit-learn"
        )
    check_stopping(with_plain_values(estimator))
    if stops_by_oob(estimator):
        raise ParameterError(
            "cv stops by the mean over the folds, and early_stopping='oob' by rows left out; "
            "give True or False"
        )


@dataclass(frozen=True)
class _Rows:
    """The arguments of ``fit``, or some of their rows."""

    X: Any
    y: np.ndarray
    weight: Any
    init_score: Any
    groups: np.ndarray | None

    def take(self, rows: np.ndarray) -> "_Rows":
        n_rows = self.y.shape[0]

        def take(name: str, values: Any) -> Any:
            if values is None or np.ndim(values) == 0:
                return values
            own = np.asarray(read_array(values))
            if own.shape[0] != n_rows:
                raise DataError(f"{name} has {own.shape[0]} entries, but y has {n_rows}")
            return own[rows]

        weight, score = take("sample_weight", self.weight), take("init_score", self.init_score)
        own = take("groups", self.groups)
        return _Rows(take_rows(self.X, rows), self.y[rows], weight, score, own)


class _Steps:
    """Synchronizes the fits of all folds after each round, and watches their mean."""

    def __init__(
        self,
        estimator: BaseGradientBoosting,
        n_folds: int,
        shown: Sequence[Callback],
        keep_models: bool,
    ) -> None:
        self.stops = bool(estimator.early_stopping)
        self._n_asked = int(estimator.n_estimators)
        self._watched, lower = name_watched(resolve_metrics(estimator), _TEST)
        patience = estimator.n_iter_no_change if self.stops else self._n_asked + 1
        self._stopping = EarlyStopping(patience, estimator.tol, self._watched, lower)
        self._scores: dict[str, list[list[float]]] = {}
        self._states: list[RoundState] = [None] * n_folds  # type: ignore[list-item]
        self._barrier = threading.Barrier(n_folds, action=self._judge)
        self._shown, self._verbose = shown, bool(estimator.verbose)
        # _is_asked: a callback asks to stop. _is_done: all folds stop; this changes only while all
        # folds wait, otherwise a slow fold might read it when others are a round ahead.
        self._is_asked = self._is_done = False
        self._begin = time.perf_counter()
        # A model of DART cannot be truncated, so the best one is kept.
        keep_models = keep_models and self.stops
        self._keeps = keep_models and isinstance(resolve_booster(estimator), Dart)
        self._best_models: list[Any] = [None] * n_folds

    def make_callback(self, fold_idx: int, others: Sequence[Callback]) -> Callback:
        """Return the callback of a fold; ``others`` are callbacks of the user."""

        def wait_for_all(state: RoundState, /) -> bool:
            if call_all(others, state):
                self._is_asked = True
            self._states[fold_idx] = state
            self._barrier.wait()
            if self._keeps and self._stopping.best_round == state.round_number:
                self._best_models[fold_idx] = state.model()
            return self._is_done

        return wait_for_all

    def abort(self) -> None:
        """Release all folds that wait for one that has failed."""
        self._barrier.abort()

    def _judge(self) -> None:
        """Record a round of all folds; the last fold to arrive calls it."""
        n_rounds = self._states[0].round_number
        names = [n for n in self._states[0].scores if n.startswith((f"{_TRAIN}_", f"{_TEST}_"))]
        for name in names:
            own = [state.scores[name] for state in self._states]
            self._scores.setdefault(name, []).append(own)
        means = {name: float(np.mean(self._scores[name][-1])) for name in names}
        is_enough = self._stopping.should_stop(n_rounds, means[self._watched])
        self._is_done = is_enough or self._is_asked
        seconds = time.perf_counter() - self._begin
        call_all(self._shown, RoundState(n_rounds, self._n_asked, means, seconds, lambda: None))

    def finish_model(self, fold_idx: int, model: Any) -> Any:
        """Return the model of the best round."""
        if self._keeps:
            return self._best_models[fold_idx]
        return model.truncate(self._stopping.best_round) if self.stops else model

    def make_result(self, models: list[Any] | None) -> CVResult:
        """Return the scores of all rounds, or up to the best one if early stopping is on."""
        best = self._stopping.best_round
        if self._verbose and self.stops:
            means = np.mean(self._scores[self._watched], axis=1)
            show_best_round(means, best, self._n_asked, self._watched)
        n_kept = best if self.stops else None
        scores = {name: np.array(values[:n_kept]).T for name, values in self._scores.items()}
        score = float(scores[self._watched][:, best - 1].mean())
        return CVResult(scores, best, score, models)


def _fit_folds(
    estimator: BaseGradientBoosting,
    data: _Rows,
    folds: Folds,
    steps: _Steps,
    measures_train: bool,
) -> list[Any]:
    """Fit all folds in parallel, and return their models."""
    n_folds = len(folds.train)
    n_jobs = estimator.n_jobs
    if n_jobs is None or n_jobs < 0:  # all CPUs, for all folds together
        n_jobs = -(-count_cpus() // n_folds)

    def fit(fold_idx: int) -> Any:
        try:
            train, test = data.take(folds.train[fold_idx]), data.take(folds.test[fold_idx])
            sets = {_TEST: test} if not measures_train else {_TRAIN: train, _TEST: test}
            model = clone_uncalibrated(estimator).set_params(
                callbacks=[steps.make_callback(fold_idx, estimator.callbacks or ())],
                early_stopping=False,
                n_jobs=n_jobs,
                verbose=False,
            )
            has_scores = data.init_score is not None
            model.fit(
                train.X,
                train.y,
                train.weight,
                train.init_score,
                groups=train.groups,
                eval_set=[(part.X, part.y) for part in sets.values()],
                eval_names=list(sets),
                eval_sample_weight=[part.weight for part in sets.values()],
                eval_init_score=[p.init_score for p in sets.values()] if has_scores else None,
            )
            own = {k: getattr(estimator, k) for k in ("callbacks", "early_stopping", "n_jobs")}
            model = steps.finish_model(fold_idx, model)
            return model.set_params(**own, verbose=estimator.verbose)
        except BaseException:
            steps.abort()
            raise

    with ThreadPoolExecutor(n_folds) as pool:
        fits = [pool.submit(fit, fold_idx) for fold_idx in range(n_folds)]
        try:
            wait(fits)
        finally:  # also if the user interrupts
            steps.abort()
    errors = [error for own in fits if (error := own.exception()) is not None]
    for error in sorted(errors, key=lambda e: isinstance(e, threading.BrokenBarrierError)):
        raise error
    return [own.result() for own in fits]
