"""Out-of-fold outputs of members: the features that a meta-learner is trained on."""

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.parallel import Parallel, delayed

from sumwise.combine.classes import one_hot, place_classes
from sumwise.combine.stack import average_models
from sumwise.data.table import take_rows
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.jobs import STEPS_PER_THREAD, count_threads
from sumwise.estimators.shared_table import (
    SharedTable,
    can_share,
    describe_reading,
    is_watched,
)
from sumwise.estimators.validation import encode_labels

METHODS = ("predict_proba", "decision_function", "predict")


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
    """Return what a splitter says as row numbers."""
    if rows.dtype == np.bool_:
        rows = np.flatnonzero(rows)
    if rows.size and not -n_rows <= rows.min() <= rows.max() < n_rows:
        raise DataError(f"cv names row {rows.max()}, and X has {n_rows} rows")
    return (rows % n_rows).astype(np.uint32)


@dataclass(frozen=True, eq=False)
class FoldRecord:
    """Which rows the models of each fold learned from and predicted, a bit a row.

    Attributes
    ----------
    saw, predicted : ndarray of uint8, shape (n_folds, n_bytes)
        Packed bits.
    n_rows : int
    in_seen_group : ndarray
        Rows predicted by a model that saw another row of their group, if there were groups.
    """

    saw: np.ndarray
    predicted: np.ndarray
    n_rows: int
    in_seen_group: np.ndarray

    @classmethod
    def of(cls, folds: Folds, groups: np.ndarray | None) -> "FoldRecord":
        sides = []
        for side in (folds.train, folds.test):
            bits = np.zeros((len(side), -(-folds.n_rows // 8)), dtype=np.uint8)
            for own, rows in zip(bits, side, strict=True):
                mask = np.zeros(folds.n_rows, dtype=np.bool_)
                mask[rows] = True
                own[:] = np.packbits(mask)
            sides.append(bits)
        near: list[np.ndarray] = [np.empty(0, dtype=np.uint32)]
        if groups is not None:
            for train, test in zip(folds.train, folds.test, strict=True):
                near.append(test[np.isin(groups[test], groups[train])])
        return cls(sides[0], sides[1], folds.n_rows, np.unique(np.concatenate(near)))

    def report(self) -> "LeakReport":
        """Find rows whose meta-features come from a model that saw them."""
        leaked = np.bitwise_or.reduce(self.saw & self.predicted, axis=0)
        used = np.bitwise_or.reduce(self.predicted, axis=0)
        rows = np.flatnonzero(np.unpackbits(leaked, count=self.n_rows))
        n_left_out = self.n_rows - int(np.unpackbits(used, count=self.n_rows).sum())
        leaks = bool(rows.size or self.in_seen_group.size)
        return LeakReport(leaks, rows, self.in_seen_group, n_left_out)


@dataclass(frozen=True, eq=False)
class LeakReport:
    """Whether meta-features come from models that saw their rows. True if they do or may.

    Attributes
    ----------
    leaks : bool or None
        None where nobody knows: members were fitted before.
    rows : ndarray
        Rows that were predicted by a model that was trained on them.
    rows_of_seen_groups : ndarray
        Rows that were predicted by a model that was trained on others of their group.
    n_left_out : int
        Rows that no fold predicted; the meta-learner did not see them.
    """

    leaks: bool | None
    rows: np.ndarray
    rows_of_seen_groups: np.ndarray
    n_left_out: int

    def __bool__(self) -> bool:
        return self.leaks is not False

    def __str__(self) -> str:
        if self.leaks is None:
            return "unknown: the members were fitted before, on rows that are not recorded"
        if not self.leaks:
            return f"no leak; {self.n_left_out} rows are left out"
        return (
            f"leak: {self.rows.size} rows were predicted by models that saw them, "
            f"{self.rows_of_seen_groups.size} by models that saw their group"
        )


@dataclass(frozen=True)
class Member:
    """An estimator of a stack, the method whose outputs are used, and parameters of ``fit``."""

    name: str
    estimator: Any
    method: str
    params: Mapping[str, Any]


@dataclass(frozen=True)
class Columns:
    """How the outputs of a member become columns.

    Attributes
    ----------
    labels : ndarray or None
        The classes as members know them; None for regression.
    of_all_classes : bool
        Whether there is a column for each class, also of two classes, and of labels.
    """

    labels: np.ndarray | None
    of_all_classes: bool

    def arrange(self, member: Member, model: Any, output: Any) -> np.ndarray:
        """Return outputs with the shape (n_rows, n_columns)."""
        values = np.asarray(output)
        if self.labels is None or not is_classifier(model):
            return self._check_numbers(member, values)
        n_classes = self.labels.size
        if member.method == "predict":
            class_idx = encode_labels(f"the predictions of {member.name!r}", values, self.labels)
            return (
                one_hot(class_idx, n_classes)
                if self.of_all_classes
                else class_idx[:, None].astype(np.float64)
            )
        known = np.asarray(getattr(model, "classes_", self.labels))
        places = encode_labels(f"member {member.name!r}", known, self.labels)
        if member.method == "predict_proba":
            values = place_classes(values, places, n_classes)
            return values if n_classes > 2 or self.of_all_classes else values[:, 1:]
        if places.size < n_classes:
            raise DataError(
                f"member {member.name!r} was trained on rows without class number "
                f"{next(k for k in range(n_classes) if k not in places)}, and gives no decision "
                "value for it; use a cv that keeps all classes, or stack_method='predict_proba'"
            )
        return self._check_numbers(member, values)

    def _check_numbers(self, member: Member, values: np.ndarray) -> np.ndarray:
        if values.ndim > 2 or values.dtype.kind not in "buif":
            raise DataError(
                f"{member.method} of member {member.name!r} gives an array of shape "
                f"{values.shape} and type {values.dtype}; numbers in one or two dimensions are "
                "needed"
            )
        return values.reshape(values.shape[0], -1)

    def predict(self, member: Member, model: Any, X: Any) -> np.ndarray:
        """Return the columns of a fitted member, for new rows."""
        if isinstance(model, FoldModels):
            outputs = [self.predict(member, each, X) for each in model.models]
            is_class = self.labels is not None and is_classifier(model.models[0])
            is_label = is_class and member.method == "predict" and not self.of_all_classes
            return average_models(outputs, is_label)
        return self.arrange(member, model, getattr(model, member.method)(X))


class FoldModels:
    """The models of one member, one a fold; a stack averages their outputs.

    Attributes
    ----------
    models : list of fitted estimators
    """

    def __init__(self, models: Sequence[Any]) -> None:
        self.models = list(models)

    def __len__(self) -> int:
        return len(self.models)

    def __getitem__(self, fold_idx: int) -> Any:
        return self.models[fold_idx]

    def __repr__(self) -> str:
        return f"FoldModels({self.models!r})"


@dataclass(frozen=True)
class FittedMember:
    """A model for new rows, and the columns of each fold's rows."""

    model: Any
    columns: Sequence[np.ndarray]


def choose_method(name: str, estimator: Any, wanted: str) -> str:
    """Return the method whose outputs are used; "auto": the first of ``METHODS`` there is."""
    choices = METHODS if wanted == "auto" else (wanted,)
    for method in choices:
        if hasattr(estimator, method):
            return method
    raise ParameterError(
        f"member {name!r}, a {type(estimator).__name__}, has no method {' or '.join(choices)}"
    )


def fit_members(
    members: Sequence[Member],
    X: Any,
    y: np.ndarray,
    folds: Folds,
    columns: Columns,
    *,
    refit: bool,
    share_bins: str | bool,
    n_jobs: int | None,
) -> list[FittedMember]:
    """Fit each member on the training rows of every fold and, to ``refit`` it, on all rows."""
    whole: list[int | None] = [None] if refit else []
    fold_indices = [*whole, *range(len(folds.test))]
    sharing = _find_sharing(members, folds, share_bins)
    alone = [k for k in range(len(members)) if k not in {k for group in sharing for k in group}]
    results: dict[tuple[int, int | None], tuple[Any, Any]] = {}
    for group in sharing:
        tasks = [(k, fold_idx) for fold_idx in fold_indices for k in group]
        table = SharedTable.read(members[group[0]].estimator, X, y, _get_weight(members[group[0]]))
        if table is None:
            alone += group
            continue
        done = _run_shared(table, members, tasks, folds, columns, not refit)
        results |= dict(zip(tasks, done, strict=True))
    if alone:
        tasks = [(k, fold_idx) for k in alone for fold_idx in fold_indices]
        done = Parallel(n_jobs=n_jobs)(
            delayed(_fit_alone)(members[k], X, y, folds, fold_idx, columns, not refit)
            for k, fold_idx in tasks
        )
        results |= dict(zip(tasks, done, strict=True))
    fitted = []
    for k in range(len(members)):
        models, outputs = zip(*(results[k, i] for i in range(len(folds.test))), strict=True)
        model = results[k, None][0] if refit else FoldModels(models)
        fitted.append(FittedMember(model, outputs))
    return fitted


def _get_weight(member: Member) -> Any:
    return member.params.get("sample_weight")


def _find_sharing(
    members: Sequence[Member], folds: Folds, share_bins: str | bool
) -> list[list[int]]:
    """Return groups of members that can be fitted on one table."""
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
    columns: Columns,
    keep: bool,
) -> tuple[Any, Any]:
    """Fit a clone on all rows, or on a fold; return it (if to be kept) and the fold's columns."""
    if fold_idx is None:
        return fit_clone(member.estimator, X, y, member.params), None
    train, test = folds.train[fold_idx], folds.test[fold_idx]
    params = {name: take_if_by_row(value, train, y.size) for name, value in member.params.items()}
    model = fit_clone(member.estimator, take_rows(X, train), y[train], params)
    output = columns.predict(member, model, take_rows(X, test))
    return (model if keep else None), output


def fit_clone(estimator: Any, X: Any, y: np.ndarray, params: Mapping[str, Any]) -> Any:
    """Return a fitted clone."""
    try:
        return clone(estimator).fit(X, y, **params)
    except TypeError as error:
        if "unexpected keyword argument 'sample_weight'" in str(error):
            raise TypeError(
                f"{type(estimator).__name__} does not support sample weights"
            ) from error
        raise


def _run_shared(
    table: SharedTable,
    members: Sequence[Member],
    tasks: Sequence[tuple[int, int | None]],
    folds: Folds,
    columns: Columns,
    keep: bool,
) -> list[tuple[Any, Any]]:
    """Do fits on one table side by side: threads wait less for one another than within a fit."""
    own = [members[k].estimator for k in sorted({k for k, _ in tasks})]
    n_threads = max(count_threads(each.n_jobs, _PLENTY) for each in own)
    n_beside = 1 if any(map(is_watched, own)) else min(n_threads, len(tasks))
    n_jobs = max(1, n_threads // n_beside)
    stop = threading.Event()
    all_rows = np.arange(folds.n_rows, dtype=np.uint32)
    _ = table.numbers  # before threads ask for it at once

    def run(task: tuple[int, int | None]) -> tuple[Any, Any]:
        k, fold_idx = task
        member = members[k]
        rows = all_rows if fold_idx is None else np.sort(folds.train[fold_idx])
        groups = member.params.get("groups")
        model = clone(member.estimator)
        model._fit_rows(table, rows, groups, n_jobs, [lambda _: stop.is_set()])
        if fold_idx is None:
            return model, None
        output = table.predict(model, member.method, folds.test[fold_idx], n_jobs)
        return (model if keep else None), columns.arrange(member, model, output)

    if n_beside == 1:
        return list(map(run, tasks))
    with ThreadPoolExecutor(n_beside) as pool:
        try:
            futures = [pool.submit(run, task) for task in tasks]
            for future in as_completed(futures):
                future.result()  # the first error comes at once
            return [future.result() for future in futures]
        except BaseException:  # also an interrupt: end what runs at its next round
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


# Enough work for any number of threads.
_PLENTY = STEPS_PER_THREAD << 20


def count_rows(X: Any) -> int:
    """Rows of an array, frame, sparse matrix or list."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def take_if_by_row(value: Any, rows: np.ndarray, n_rows: int) -> Any:
    """Return some rows of what has as many as X; anything else as it is."""
    is_by_row = not isinstance(value, (str, bytes, Mapping)) and (
        hasattr(value, "shape") or hasattr(value, "__len__")
    )
    is_scalar = getattr(value, "shape", None) == ()
    if is_by_row and not is_scalar and count_rows(value) == n_rows:
        return take_rows(value, rows)
    return value
