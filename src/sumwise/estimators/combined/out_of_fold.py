"""Out-of-fold outputs: each row is predicted by a model that did not see it."""

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from sumwise.combine.stack import average_models, gather_folds
from sumwise.data.frames.selection import take_rows
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.boosting.base import BaseGradientBoosting
from sumwise.estimators.combined.member_progress import describe_member, report_fit
from sumwise.estimators.combined.shared_table import (
    SharedTable,
    can_share,
    describe_reading,
    fits_alone,
)
from sumwise.estimators.input.jobs import STEPS_PER_THREAD, count_threads, uses_cluster
from sumwise.estimators.members import fit_member, name_failure
from sumwise.training.callbacks import Callback


def find_splitter(cv: Any, y: np.ndarray, classifier: bool, keep_groups: bool = False) -> Any:
    """Return the splitter for ``cv``: a number of folds, a splitter, or pairs of rows.

    With ``keep_groups``, a number of folds keeps each group in one fold.
    """
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, check_cv

    if keep_groups and isinstance(cv, Integral):
        return (StratifiedGroupKFold if classifier else GroupKFold)(n_splits=int(cv))
    return check_cv(cv, y, classifier=classifier)


@dataclass(frozen=True)
class Folds:
    """Row numbers: the models of fold i learn from ``train[i]`` and predict ``test[i]``."""

    train: Sequence[np.ndarray]
    test: Sequence[np.ndarray]
    n_rows: int

    @classmethod
    def split(cls, splitter: Any, X: Any, y: np.ndarray, params: Mapping[str, Any]) -> "Folds":
        """Ask a splitter once, so that all members get the same folds."""
        pairs = [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(X, y, **params)]
        if not pairs:
            raise DataError("cv gives no folds; at least one is needed")
        train, test = (
            [_number(rows, y.size) for rows in side] for side in zip(*pairs, strict=True)
        )
        for fold_idx, (a, b) in enumerate(zip(train, test, strict=True)):
            if a.size == 0 or b.size == 0:
                side = "train on" if a.size == 0 else "predict"
                raise DataError(f"fold {fold_idx} of cv has no rows to {side}")
        return cls(train, test, int(y.size))

    @property
    def predicted(self) -> np.ndarray:
        """Rows that some fold predicts, ascending."""
        return np.unique(np.concatenate(self.test))

    @property
    def draw_twice(self) -> bool:
        """Whether some fold trains on a row more than once."""
        return any(np.unique(rows).size < rows.size for rows in self.train)

    @property
    def repeats(self) -> bool:
        """Whether some row is predicted more than once."""
        return sum(rows.size for rows in self.test) > self.predicted.size


def _number(rows: np.ndarray, n_rows: int) -> np.ndarray:
    """Return a splitter's mask or indices as row numbers."""
    if rows.dtype == np.bool_:
        rows = np.flatnonzero(rows)
    if rows.size and not -n_rows <= rows.min() <= rows.max() < n_rows:
        raise DataError(f"cv names row {rows.max()}, but X has {n_rows} rows")
    return (rows % n_rows).astype(np.uint32)


@dataclass(frozen=True)
class Member:
    """An estimator of a stack, the method whose outputs are used, and parameters of ``fit``."""

    name: str
    estimator: Any
    method: str
    params: Mapping[str, Any]
    labels: np.ndarray | None = None  # the classes of a frozen classifier, if it has its own

    @property
    def label(self) -> str:
        """Its name in error messages."""
        return f"member {self.name!r}"


class Reader(Protocol):
    """How the outputs of members become columns, (n_rows, n_columns)."""

    def arrange(self, member: Member, model: Any, output: Any) -> np.ndarray:
        """Return the output of a fitted member's method as columns."""

    def predict(self, member: Member, model: Any, X: Any) -> np.ndarray:
        """Return the columns of a fitted member, for new rows."""


class FoldModels:
    """The models of one member, one per fold; a stack averages their outputs."""

    def __init__(self, models: Sequence[Any]) -> None:
        self.models = list(models)

    @property
    def classes_(self) -> np.ndarray:
        """Classes that at least one model knows; regressors have none."""
        return np.unique(np.concatenate([model.classes_ for model in self.models]))

    def predict(self, X: Any) -> np.ndarray:
        """Mean of the models' predictions, or the class that most of them predict."""
        outputs = [np.asarray(model.predict(X)) for model in self.models]
        return average_models(outputs, is_classifier(self.models[0]))

    def __len__(self) -> int:
        return len(self.models)

    def __getitem__(self, fold_idx: int) -> Any:
        return self.models[fold_idx]

    def __repr__(self) -> str:
        return f"FoldModels({self.models!r})"


@dataclass(frozen=True)
class FittedMember:
    """The result of fitting a member on folds.

    The output of a row is the mean over the folds that predicted it, NaN if none did. A frozen
    estimator is its own model and predicts all rows.
    """

    model: Any  # of all rows; FoldModels or None without a refit
    output: np.ndarray  # (n_rows, n_columns)


def is_frozen(estimator: Any) -> bool:
    """Whether an estimator is used as it is and never fitted."""
    return isinstance(estimator, FrozenEstimator)


def predict_frozen(member: Member, X: Any, reader: Reader) -> np.ndarray:
    """Return the columns of a member that was fitted before."""
    with name_failure(member.label, member.estimator, "predict"):
        check_is_fitted(member.estimator)
        return reader.predict(member, member.estimator, X)


def fit_members(
    members: Sequence[Member],
    X: Any,
    y: np.ndarray,
    folds: Folds,
    reader: Reader,
    *,
    n_jobs: int | None,
    refit: bool = False,
    keep_folds: bool = False,
    share_bins: str | bool = False,
    verbose: bool = False,
) -> list[FittedMember]:
    """Fit each member on the training rows of every fold and, to ``refit`` it, on all rows."""
    for member in members:
        _check_weights(member, folds)
    fits = _FoldFits(members, X, y, folds, reader, refit, keep_folds, n_jobs, verbose)
    sharing = _find_sharing(members, folds, share_bins)
    shared = {k for group in sharing for k in group}
    frozen = {k for k, member in enumerate(members) if is_frozen(member.estimator)}
    alone = [k for k in range(len(members)) if k not in shared | frozen]
    fits.run(fits.fit_alone, alone)
    for group in sharing:
        first = members[group[0]]
        with name_failure(first.label, first.estimator):
            table = SharedTable.read(first.estimator, X, y, _get_weight(first))
        if table is None:  # the target of each fold encodes categories
            fits.run(fits.fit_alone, group)
        else:
            fits.run(partial(fits.fit_on_table, table), group)
    return [
        FittedMember(member.estimator, predict_frozen(member, X, reader))
        if k in frozen
        else fits.collect(k)
        for k, member in enumerate(members)
    ]


# The numbers of a member and of a fold; None stands for all rows.
_Task = tuple[int, int | None]


@dataclass
class _FoldFits:
    """Fits of members on folds and on all rows, and their results."""

    members: Sequence[Member]
    X: Any
    y: np.ndarray
    folds: Folds
    reader: Reader
    refit: bool
    keep_folds: bool
    n_jobs: int | None
    verbose: bool
    # Model and columns.
    results: dict[_Task, tuple[Any, Any]] = field(default_factory=dict)

    def run(self, fit: Callable[[Sequence[int]], None], numbers: Sequence[int]) -> None:
        """Fit some members together; with ``verbose`` one after another, each reported."""
        for batch in [[k] for k in numbers] if self.verbose else [numbers]:
            with report_fit(self._describe(batch[0]) if self.verbose else None):
                fit(batch)

    def _describe(self, k: int) -> str:
        where = f"{len(self.folds.test)} folds" + (" and all rows" if self.refit else "")
        return f"{describe_member(k, len(self.members), self.members[k].name)}, {where}"

    def fit_alone(self, numbers: Sequence[int]) -> None:
        """Fit members that read their own rows."""
        tasks = [(k, fold_idx) for k in numbers for fold_idx in self._list_folds()]
        done = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_alone)(
                self.members[k], self.X, self.y, self.folds, fold_idx, self.reader, self.keep_folds
            )
            for k, fold_idx in tasks
        )
        self.results.update(zip(tasks, done, strict=True))

    def fit_on_table(self, table: SharedTable, numbers: Sequence[int]) -> None:
        """Fit members on a shared table, side by side: threads wait less than within one fit."""
        tasks = [(k, fold_idx) for fold_idx in self._list_folds() for k in numbers]
        estimators = [self.members[k].estimator for k in numbers]
        if uses_cluster(self.n_jobs) and not any(map(fits_alone, estimators)):
            done = Parallel(n_jobs=self.n_jobs)(
                delayed(_fit_on_table)(table, *self._describe_fit(k, fold_idx))
                for k, fold_idx in tasks
            )
            self.results.update(zip(tasks, done, strict=True))
            return
        n_threads = max(count_threads(each.n_jobs, _PLENTY) for each in estimators)
        n_beside = 1 if any(map(fits_alone, estimators)) else min(n_threads, len(tasks))
        stop = threading.Event()
        n_own = max(1, n_threads // n_beside)

        def fit(k: int, fold_idx: int | None) -> tuple[Any, Any]:
            own = self._describe_fit(k, fold_idx)
            return _fit_on_table(table, *own, n_own, lambda _: stop.is_set())

        if n_beside == 1:
            self.results.update((task, fit(*task)) for task in tasks)
            return
        queue = _LongestFirst(tasks)
        _ = table.numbers  # computed here, not by several threads at once

        def fit_next() -> None:
            with queue.take() as task:
                self.results[task] = fit(*task)

        with ThreadPoolExecutor(n_beside) as pool:
            try:
                for future in as_completed([pool.submit(fit_next) for _ in tasks]):
                    future.result()  # raises the first error at once
            except BaseException:  # also an interrupt: running fits stop at their next round
                stop.set()
                pool.shutdown(cancel_futures=True)
                raise

    def _describe_fit(
        self, k: int, fold_idx: int | None
    ) -> tuple[Member, np.ndarray, np.ndarray | None, Reader, bool]:
        """Return what is fitted, on which rows, and which it predicts; None for none."""
        if fold_idx is None:
            rows, test = np.arange(self.folds.n_rows, dtype=np.uint32), None
        else:
            rows, test = np.sort(self.folds.train[fold_idx]), self.folds.test[fold_idx]
        return self.members[k], rows, test, self.reader, fold_idx is None or self.keep_folds

    def _list_folds(self) -> list[int | None]:
        return [*([None] if self.refit else []), *range(len(self.folds.test))]

    def collect(self, k: int) -> FittedMember:
        """Return the result of one member."""
        parts = [self.results[k, fold_idx] for fold_idx in range(len(self.folds.test))]
        models, outputs = zip(*parts, strict=True)
        output = gather_folds(outputs, self.folds.test, self.folds.n_rows)
        if self.refit:
            return FittedMember(self.results[k, None][0], output)
        return FittedMember(FoldModels(models) if self.keep_folds else None, output)


def _check_weights(member: Member, folds: Folds) -> None:
    """Refuse folds whose training rows all have weight zero."""
    weight = np.asarray(_get_weight(member))
    if weight.shape != (folds.n_rows,) or is_frozen(member.estimator):
        return  # no weights, or weights that the members will refuse
    for fold_idx, rows in enumerate(folds.train):
        if not weight[rows].any():
            raise DataError(
                f"all sample weights are zero in the training rows of fold {fold_idx} of cv: "
                "there is nothing to learn from. Leave out rows of weight zero and, if too few "
                "are left, use fewer folds"
            )


def _get_weight(member: Member) -> Any:
    return member.params.get("sample_weight")


def _find_sharing(
    members: Sequence[Member], folds: Folds, share_bins: str | bool
) -> list[list[int]]:
    """Return groups of members that can share a table."""
    groups: dict[Any, list[int]] = {}
    if share_bins and not folds.draw_twice:
        for k, member in enumerate(members):
            if can_share(member.estimator, member.params):
                key = (describe_reading(member.estimator), id(_get_weight(member)))
                groups.setdefault(key, []).append(k)
    if share_bins is True and not groups:
        raise ParameterError(
            "share_bins=True: no member can share bins; only gradient boosting estimators of "
            "sumwise with a loss of sumwise can, not inside a pipeline, and where cv names no "
            "training row twice. Use share_bins='auto'"
        )
    return list(groups.values())


def _fit_alone(
    member: Member,
    X: Any,
    y: np.ndarray,
    folds: Folds,
    fold_idx: int | None,
    reader: Reader,
    keep: bool,
) -> tuple[Any, Any]:
    """Fit a clone on all rows or on a fold; return it, if it is kept, and the fold's columns."""
    estimator = member.estimator
    if fold_idx is None:
        return fit_clone(member.label, estimator, X, y, member.params), None
    train, test = folds.train[fold_idx], folds.test[fold_idx]
    params = {name: take_if_by_row(value, train, y.size) for name, value in member.params.items()}
    model = fit_clone(member.label, estimator, _take(estimator, X, train, train), y[train], params)
    with name_failure(member.label, estimator, "predict"):
        output = reader.predict(member, model, _take(estimator, X, test, train))
    return (model if keep else None), output


def _fit_on_table(
    table: SharedTable,
    member: Member,
    rows: np.ndarray,
    test: np.ndarray | None,
    reader: Reader,
    keep: bool,
    n_jobs: int | None = None,
    stop: Callback | None = None,
) -> tuple[Any, Any]:
    """Fit a clone on rows of a table; return it, if it is kept, and the columns of other rows."""
    model: BaseGradientBoosting = clone(member.estimator)
    with name_failure(member.label, model):
        groups = member.params.get("groups")
        model._fit_rows(table, rows, groups, n_jobs, [] if stop is None else [stop])
    if test is None:
        return model, None
    output = table.predict(model, member.method, test, n_jobs or model.n_jobs, is_last=not keep)
    return (model if keep else None), reader.arrange(member, model, output)


def _take(estimator: Any, X: Any, rows: np.ndarray, train: np.ndarray) -> Any:
    """Return some rows of X; of a kernel or distance matrix, with the training rows as columns."""
    if hasattr(estimator, "__sklearn_tags__") and get_tags(estimator).input_tags.pairwise:
        return X[np.ix_(rows, train)]
    return take_rows(X, rows)


def fit_clone(label: str, estimator: Any, X: Any, y: np.ndarray, params: Mapping[str, Any]) -> Any:
    """Return a fitted clone; errors name it ``label``."""
    return fit_member(label, clone(estimator), X, y, params)


class _LongestFirst:
    """Hands out fits, slowest members first, so that all threads finish at about the same time.

    Members without a finished fit come before all others.
    """

    def __init__(self, tasks: Sequence[_Task]) -> None:
        self._waiting = list(tasks)
        self._seconds: dict[int, float] = {}
        self._lock = threading.Lock()

    @contextmanager
    def take(self) -> Iterator[_Task]:
        """Hand out a fit and measure its duration."""
        with self._lock:
            place = max(range(len(self._waiting)), key=self._estimate)
            task = self._waiting.pop(place)
        start = time.perf_counter()
        yield task
        self._seconds[task[0]] = time.perf_counter() - start

    def _estimate(self, place: int) -> tuple[float, int]:
        return self._seconds.get(self._waiting[place][0], math.inf), -place


# Enough work for any number of threads.
_PLENTY = STEPS_PER_THREAD << 20


def count_rows(X: Any) -> int:
    """Rows of an array, frame, sparse matrix or list."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def take_if_by_row(value: Any, rows: np.ndarray, n_rows: int) -> Any:
    """Return some rows of a value with as many rows as X; any other value as it is."""
    is_by_row = not isinstance(value, (str, bytes, Mapping)) and (
        hasattr(value, "shape") or hasattr(value, "__len__")
    )
    is_scalar = getattr(value, "shape", None) == ()
    if is_by_row and not is_scalar and count_rows(value) == n_rows:
        return take_rows(value, rows)
    return value
