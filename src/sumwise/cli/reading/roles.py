"""The roles of columns: target, task, id, weight, group and time; given, or guessed and said."""

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise.cli.reading.table import Table, is_missing
from sumwise.cli.usage import UsageError, list_names

CLASSIFICATION, REGRESSION = "classification", "regression"
TASKS = (CLASSIFICATION, REGRESSION)

# Names that a target usually has, the most telling first.
_TARGET_NAMES = ("target", "label", "y", "class", "outcome", "response")
_ID_NAME = re.compile(r"(.*[_ .-])?(id|uuid|guid|key)|index|row|rownames|unnamed.*|column_1", re.I)
_WEIGHT_NAME = "sample_weight"
# A number with more distinct values than this is a quantity.
_MOST_CLASSES = 20
_FEWEST_ROWS_PER_CLASS = 5

Say = Callable[[str], None]


@dataclass(frozen=True)
class Roles:
    """What each column of a table is for.

    Attributes
    ----------
    target, task : str
    features : list of str
    ids : list of str
        Columns that identify a row; no features.
    weight, group, time : str or None
    """

    target: str
    task: str
    features: list[str]
    ids: list[str]
    weight: str | None = None
    group: str | None = None
    time: str | None = None


@dataclass(frozen=True)
class LabeledRows:
    """Rows with known targets, as estimators take them.

    Attributes
    ----------
    roles : Roles
    table : Table
    y : ndarray
    weight, group : ndarray or None
    """

    roles: Roles
    table: Table
    y: np.ndarray
    weight: np.ndarray | None
    group: np.ndarray | None

    @property
    def X(self) -> Any:
        """The features, as :meth:`Table.select` returns them."""
        return self.table.select(self.roles.features)


def assign_roles(table: Table, args: argparse.Namespace, say: Say) -> Roles:
    """Return the roles that the options name; guess the others, and say so."""
    target = args.target
    if target is None:
        target = guess_target(table.names)
        say(f"target: {target!r} (guessed; --target names another column)")
    else:
        table.require([target], "--target")
    ids = list(args.id or [])
    table.require(ids, "--id")
    weight = args.weight
    if weight is None and _WEIGHT_NAME in table.names and target != _WEIGHT_NAME:
        weight = _WEIGHT_NAME
        say(f"weight: {weight!r} (guessed from its name; --weight names another column)")
    named = {"--weight": weight, "--group": args.group, "--time": args.time}
    taken = {target, *ids}
    for option, name in named.items():
        if name is not None:
            table.require([name], option)
            if name in taken:
                raise UsageError(f"{option} {name}: this column has another role already")
            taken.add(name)
    dropped = list(args.drop or [])
    table.require(dropped, "--drop")
    rest = [name for name in table.names if name not in taken and name not in dropped]
    if not args.id:
        for name in guess_ids(table, rest):
            ids.append(name)
            say(f"id: {name!r} (guessed: a different value in every row); it is no feature")
    features = [name for name in rest if name not in ids]
    if not features:
        raise UsageError(f"{table.name} has no column left for features, beside {target!r}")
    task = args.task
    if task is None:
        task, reason = guess_task(table.get(target))
        say(f"task: {task} ({reason}; --task says otherwise)")
    if args.time is None:
        for name in features:
            if table.get(name).dtype.kind == "M":
                say(f"{name!r} holds dates; --time {name} tests on later rows than it trains on")
    return Roles(target, task, features, ids, weight, args.group, args.time)


def guess_target(names: Sequence[str]) -> str:
    """Return the column that is called like a target, else the last one."""
    by_name = {name.lower(): name for name in reversed(names)}
    return next((by_name[each] for each in _TARGET_NAMES if each in by_name), names[-1])


def guess_ids(table: Table, names: Sequence[str]) -> list[str]:
    """Return columns that are called like an id and have a different value in every row."""
    found = []
    for name in names:
        if _ID_NAME.fullmatch(name):
            values = table.get(name)
            is_number = values.dtype.kind == "f"
            if not is_number and len(set(values.tolist())) == table.n_rows > 1:
                found.append(name)
    return found


def guess_task(target: np.ndarray) -> tuple[str, str]:
    """Return the task for a target, and why."""
    known = target[~is_missing(target)]
    if known.size == 0:
        return REGRESSION, "without a value"
    n_distinct = len(set(known.tolist()))
    if known.dtype.kind not in "iuf":
        return CLASSIFICATION, f"labels, {n_distinct:,} of them distinct"
    is_whole = bool(np.all(known == np.round(known)))
    few = n_distinct <= _MOST_CLASSES and n_distinct * _FEWEST_ROWS_PER_CLASS <= known.size
    if is_whole and (few or n_distinct <= 2):
        return CLASSIFICATION, f"{n_distinct} distinct whole numbers"
    return REGRESSION, f"numbers, {n_distinct:,} of them distinct"


def label_rows(table: Table, roles: Roles, drop_missing: bool, say: Say) -> LabeledRows:
    """Return the rows with their targets, in the order of time if there is one."""
    order = np.arange(table.n_rows)
    y = table.get(roles.target)
    gaps = is_missing(y)
    if gaps.all():
        raise UsageError(f"target {roles.target!r} is missing in all rows of {table.name}")
    if gaps.any():
        if not drop_missing:
            raise UsageError(
                f"target {roles.target!r} is missing in {gaps.sum():,} of {table.n_rows:,} rows of "
                f"{table.name}, first in row {int(gaps.argmax()) + 1}; --drop-missing leaves them "
                "out"
            )
        say(f"rows without a target, left out: {gaps.sum():,}")
        order = order[~gaps]
    if roles.time is not None:
        order = order[np.argsort(_read_time(table, roles.time)[order], kind="stable")]
    if order.size < table.n_rows or roles.time is not None:
        table = table.take(order)
    return LabeledRows(
        roles,
        table,
        read_target(table, roles.target, roles.task),
        None if roles.weight is None else _read_weight(table, roles.weight),
        None if roles.group is None else _read_group(table, roles.group),
    )


def read_target(table: Table, name: str, task: str) -> np.ndarray:
    """Return the targets as numbers or labels; none is missing."""
    values = table.get(name)
    if task == REGRESSION:
        if values.dtype.kind not in "biuf":
            shown = list_names(dict.fromkeys(map(repr, values.tolist())), 3)
            raise UsageError(
                f"target {name!r} holds no numbers ({shown}), which --task regression needs"
            )
        return values.astype(np.float64)
    if values.dtype.kind == "f" and np.all(values == np.round(values)):
        return values.astype(np.int64)
    if values.dtype.kind == "M":
        return values.astype(str).astype(object)
    kinds = {type(value) for value in values.tolist()}
    if len(kinds) > 1:
        listed = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise UsageError(f"target {name!r} mixes values of types {listed}")
    # Booleans with gaps come as objects.
    return values.astype(np.bool_) if kinds == {bool} else values


def _read_weight(table: Table, name: str) -> np.ndarray:
    values = table.get(name)
    if values.dtype.kind not in "biuf":
        raise UsageError(f"--weight {name}: the column holds no numbers")
    return values.astype(np.float64)


def _read_group(table: Table, name: str) -> np.ndarray:
    values = table.get(name)
    gaps = is_missing(values)
    if gaps.any():
        raise UsageError(
            f"--group {name}: the group is missing in {gaps.sum():,} rows, first in row "
            f"{int(gaps.argmax()) + 1}"
        )
    return np.unique(values.astype(str), return_inverse=True)[1]


def _read_time(table: Table, name: str) -> np.ndarray:
    values = table.get(name)
    gaps = is_missing(values)
    if values.dtype.kind not in "iufM":
        raise UsageError(
            f"--time {name}: the column holds neither dates nor numbers; dates are written as "
            "2026-01-31 or 2026-01-31 12:30:00"
        )
    if gaps.any():
        raise UsageError(f"--time {name}: missing in row {int(gaps.argmax()) + 1}")
    return values
