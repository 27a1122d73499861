"""Splits that treat zero as missing, said by splits that do not.

With LightGBM's ``zero_as_missing``, values within 1e-35 of zero are missing, and so is NaN. All of
them go to the default side of a split, also if their neighbors on both sides go to the other. Then
one split becomes three, which part negative numbers, zeros and positive numbers, and the trees
below it are copied. Below such a split the sign is known, so further splits of the feature need no
more copies.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sumwise.errors import ModelFileError
from sumwise.estimators.imported.nodes import SourceNodes

ZERO = float(np.float32(1e-35))
_BELOW_ZERO = float(np.nextafter(-ZERO, -np.inf))
_NEGATIVE, _MISSING, _POSITIVE = range(3)
# A tree may grow to this many times its size, and this many nodes more.
_MOST_TIMES, _MOST_MORE = 64, 4096


class _Task(NamedTuple):
    """A node of the old tree to be written as a node of the new one."""

    place: int
    node: int
    signs: dict[int, int]  # what is known of features that have zero as missing
    share: float  # of the rows of the old node


class _Split(NamedTuple):
    threshold: float
    missing_left: bool
    left: tuple[int, dict[int, int]]
    right: "tuple[int, dict[int, int]] | _Split"


@dataclass(slots=True)
class _Node:
    """A node of the new tree."""

    left: int = -1
    right: int = -1
    threshold: float = 0.0
    missing_left: bool = False
    origin: int = 0
    share: float = 0.0


class _Writer:
    """The nodes of the new tree, of which there may be only so many."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.nodes: list[_Node] = []

    def add(self) -> int:
        """Add a node and return its number."""
        if len(self.nodes) >= self._most:
            raise ModelFileError(
                "the model has zero_as_missing, and its trees would become too large without it; "
                "train with zeros replaced by NaN"
            )
        self.nodes.append(_Node())
        return len(self.nodes) - 1

    def collect(self, name: str) -> np.ndarray:
        """Return a field of all nodes."""
        return np.array([getattr(node, name) for node in self.nodes])


def move_thresholds(threshold: np.ndarray) -> np.ndarray:
    """Return thresholds that decide as those of LightGBM, which reads tiny numbers as 0."""
    threshold = np.where((threshold >= 0) & (threshold < ZERO), ZERO, threshold)
    return np.where((threshold < 0) & (threshold >= -ZERO), _BELOW_ZERO, threshold)


def expand_zeros(nodes: SourceNodes, by_zero: np.ndarray) -> SourceNodes:
    """Return the same tree without splits that treat zero as missing.

    ``by_zero`` marks these. Their ``missing_left`` is the default side. Copies of a node share its
    rows equally, because nobody knows how they were distributed.
    """
    if not by_zero.any():
        return nodes
    writer = _Writer(_MOST_TIMES * nodes.n_nodes + _MOST_MORE)
    tasks = [_Task(writer.add(), 0, {}, 1.0)]
    n_steps, most_steps = 0, 4 * (_MOST_TIMES * nodes.n_nodes + _MOST_MORE)
    while tasks:
        task = tasks.pop()
        n_steps += 1
        if n_steps > most_steps or not 0 <= task.node < nodes.n_nodes:
            raise ModelFileError("a node points outside its tree, or to one above it")
        tasks += _write(nodes, by_zero, task, writer)
    origin, share = writer.collect("origin"), writer.collect("share")
    return replace(
        nodes,
        left=writer.collect("left"),
        right=writer.collect("right"),
        feature=nodes.feature[origin],
        threshold=writer.collect("threshold"),
        missing_left=writer.collect("missing_left"),
        value=nodes.value[origin],
        gain=nodes.gain[origin] * share,
        weight=nodes.weight[origin] * share,
        n_rows=nodes.n_rows[origin] * share,
        sets={k: nodes.sets[n] for k, n in enumerate(origin.tolist()) if n in nodes.sets},
        models=None if nodes.models is None else nodes.models.take_nodes(origin),
    )


def _write(nodes: SourceNodes, by_zero: np.ndarray, task: _Task, writer: _Writer) -> list[_Task]:
    """Write a node, and return the tasks of its children."""
    node, place = task.node, task.place
    written = writer.nodes[place]
    written.origin, written.share = node, task.share
    left, right = int(nodes.left[node]), int(nodes.right[node])
    if left < 0:
        return []
    feature, threshold = int(nodes.feature[node]), float(nodes.threshold[node])
    default_left = bool(nodes.missing_left[node])
    if not by_zero[node]:
        split = _Split(threshold, default_left, (left, task.signs), (right, task.signs))
        return _write_split(split, task, writer)
    found = _decide(threshold, default_left, task.signs.get(feature))
    if isinstance(found, bool):
        return [task._replace(node=left if found else right)]
    if isinstance(found, float):
        split = _Split(found, default_left, (left, task.signs), (right, task.signs))
        return _write_split(split, task, writer)
    signs = [task.signs | {feature: sign} for sign in (_NEGATIVE, _MISSING, _POSITIVE)]
    if default_left:  # left: up to the threshold, which is negative, and zeros
        zeros = _Split(ZERO, True, (left, signs[_MISSING]), (right, signs[_POSITIVE]))
        above = _Split(_BELOW_ZERO, False, (right, signs[_NEGATIVE]), zeros)
        split = _Split(threshold, False, (left, signs[_NEGATIVE]), above)
    else:  # left: negative, and positive up to the threshold
        above = _Split(threshold, False, (left, signs[_POSITIVE]), (right, signs[_POSITIVE]))
        zeros = _Split(ZERO, True, (right, signs[_MISSING]), above)
        split = _Split(_BELOW_ZERO, False, (left, signs[_NEGATIVE]), zeros)
    return _write_split(split, task._replace(share=task.share / 2), writer)


def _decide(threshold: float, default_left: bool, sign: int | None) -> float | bool | None:
    """Return the threshold of one split that does the same, or whether all rows go left.

    None if one split is not enough.
    """
    if sign == _MISSING:
        return default_left
    if sign == _NEGATIVE:
        return True if threshold >= _BELOW_ZERO else threshold
    if sign == _POSITIVE:
        return False if threshold <= ZERO else threshold
    if default_left:
        return max(threshold, ZERO) if threshold >= -ZERO else None
    return min(threshold, _BELOW_ZERO) if threshold <= ZERO else None


def _write_split(split: _Split, task: _Task, writer: _Writer) -> list[_Task]:
    """Write a split, or several, and return the tasks of their children."""
    written, tasks = writer.nodes[task.place], []
    while True:
        written.origin, written.share = task.node, written.share or task.share
        written.threshold, written.missing_left = split.threshold, split.missing_left
        written.left, written.right = writer.add(), writer.add()
        tasks.append(_Task(written.left, *split.left, task.share))
        if not isinstance(split.right, _Split):
            tasks.append(_Task(written.right, *split.right, task.share))
            return tasks
        written, split = writer.nodes[written.right], split.right
