"""Trees of forests in plain Python: walks, pruning and importances, one row at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.naive.random import extend, uniform

# Number of classes of each output, if a row has several labels.
OUTPUTS = (3, 2)


class Case(NamedTuple):
    """A tree with what walks need; ``value`` includes inner nodes."""

    feature: NDArray[np.int32]
    split_bin: NDArray[np.uint8]
    missing_left: NDArray[np.uint8]
    left: NDArray[np.int32]
    value: NDArray[np.float64]
    sets: dict[int, int]  # bits of the bins that go left


def read_case(tree: Any, categorical: Sequence[int] = (), value: Any = None) -> Case:
    """Read a ForestTree, or a Forest of one tree and its values."""
    nodes = [i for i, f in enumerate(tree.feature) if f in categorical]
    sets = {
        node: sum(int(word) << (64 * i) for i, word in enumerate(words))
        for node, words in zip(nodes, tree.sets, strict=True)
    }
    value = tree.value if value is None else value
    return Case(tree.feature, tree.split_bin, tree.missing_left, tree.left, value, sets)


def walk(case: Case, row: Sequence[int]) -> Iterator[int]:
    """Yield the nodes on a row's path."""
    node = 0
    while True:
        yield node
        if case.feature[node] < 0:
            return
        b = int(row[case.feature[node]])
        if node in case.sets:
            is_left = case.sets[node] >> b & 1
        elif b == 0:
            is_left = case.missing_left[node]
        else:
            is_left = b <= case.split_bin[node]
        node = int(case.left[node]) + (0 if is_left else 1)


def find_leaf(case: Case, row: Sequence[int]) -> int:
    """Return the last node of the path."""
    return list(walk(case, row))[-1]


def error(value: NDArray[np.float64], y: Any, is_class: bool) -> float:
    """Return the 0-1 error or the squared error; the mean over outputs."""
    if not is_class:
        return float(np.mean((np.atleast_1d(y) - value) ** 2))
    if np.ndim(y) == 1:
        shares = np.split(value, np.cumsum(OUTPUTS)[:-1])
        return float(np.mean([np.argmax(own) != k for own, k in zip(shares, y, strict=True)]))
    guess = int(value[0] > 0.5) if value.size == 1 else int(np.argmax(value))
    return float(guess != y)


def as_vector(y: Any, is_class: bool, n_columns: int) -> NDArray[np.float64]:
    """Return a target as a vector; a class becomes ones and zeros."""
    if is_class and np.ndim(y) == 1:
        return np.concatenate([np.eye(n)[k] for n, k in zip(OUTPUTS, y, strict=True)])
    if is_class and n_columns > 1:
        return np.eye(n_columns)[int(y)]
    return np.atleast_1d(np.asarray(y, dtype=np.float64))


def prune_weakest_links(
    left: Sequence[int], gain: Sequence[float]
) -> list[tuple[float, frozenset[int]]]:
    """Cut the branch with the smallest gain per leaf until only the root remains.

    Returns (gain per leaf, remaining inner nodes) after each cut.
    """
    inner = {i for i, child in enumerate(left) if child >= 0}

    def below(node: int) -> list[int]:
        if node not in inner:
            return []
        return [node, *below(left[node]), *below(left[node] + 1)]

    steps = []
    while inner:
        mean = {n: sum(gain[i] for i in below(n)) / len(below(n)) for n in inner}
        weakest = min(sorted(inner), key=lambda n: mean[n])
        inner -= set(below(weakest))
        steps.append((mean[weakest], frozenset(inner)))
    return steps


def prune_by_rows(
    case: Case, rows: Any, y: Any, weight: Sequence[float], is_class: bool
) -> set[int]:
    """Return the inner nodes that remain."""
    paths = [list(walk(case, row)) for row in rows]

    def measure(node: int, value: NDArray[np.float64]) -> float:
        return sum(
            w * error(value, own, is_class)
            for w, path, own in zip(weight, paths, y, strict=True)
            if node in path
        )

    def prune(node: int) -> tuple[float, set[int]]:
        own = measure(node, case.value[node])
        if case.left[node] < 0:
            return own, set()
        child = int(case.left[node])
        (a, kept_a), (b, kept_b) = prune(child), prune(child + 1)
        if own <= (a + b) * (1 + 1e-12):
            return own, set()
        return a + b, {node} | kept_a | kept_b

    return prune(0)[1]


def estimate(
    case: Case, rows: Any, y: Any, weight: Sequence[float], is_class: bool, smoothing: float
) -> NDArray[np.float64]:
    """Estimate the values of nodes from rows, shrunk towards the parent's value."""
    out = np.empty_like(case.value)
    paths = [list(walk(case, row)) for row in rows]
    vectors = [as_vector(own, is_class, out.shape[1]) for own in y]

    def fill(node: int, parent: NDArray[np.float64]) -> None:
        inside = [i for i, path in enumerate(paths) if node in path]
        total = sum(weight[i] for i in inside)
        sums = sum((weight[i] * vectors[i] for i in inside), np.zeros(out.shape[1]))
        out[node] = (sums + smoothing * parent) / (total + smoothing)
        if case.left[node] >= 0:
            fill(int(case.left[node]), out[node])
            fill(int(case.left[node]) + 1, out[node])

    fill(0, case.value[0])
    return out


def unbiased(
    case: Case, rows: Any, y: Any, weight: Sequence[float], is_class: bool, n_features: int
) -> NDArray[np.float64]:
    """Sum the steps of value on each row's path times its target less the mean of the node."""
    out = np.zeros(n_features)
    n_columns = case.value.shape[1]
    unit = 1.0 / n_columns if not is_class else 2.0 if n_columns == 1 else 1.0
    if is_class and np.ndim(y) == 2:
        unit = 1.0 / len(OUTPUTS)
    paths = [list(walk(case, row)) for row in rows]
    vectors = [as_vector(own, is_class, n_columns) for own in y]
    for i, path in enumerate(paths):
        for node, child in pairwise(path):
            others = [j for j, other in enumerate(paths) if node in other and weight[j] > 0]
            total = sum(weight[j] for j in others)
            if weight[i] == 0 or len(others) < 2:
                continue
            mean = sum(weight[j] * vectors[j] for j in others) / total
            correction = 1 - sum(weight[j] ** 2 for j in others) / total**2
            step = (case.value[child] - case.value[node]) @ (vectors[i] - mean)
            out[case.feature[node]] += unit * weight[i] * step / correction
    return out / sum(weight)


def permutation(
    case: Case,
    rows: NDArray[np.uint8],
    y: Any,
    weight: Sequence[float],
    is_class: bool,
    tree_key: int,
) -> NDArray[np.float64]:
    """Return the rise of the error when the bins of a feature are shuffled among the rows."""
    used = {int(f) for f in case.feature if f >= 0}
    out = np.zeros(rows.shape[1])
    leaves = [find_leaf(case, row) for row in rows]
    for f in used:
        swapped = rows.copy()
        key, n = extend(tree_key, f), len(rows)
        for i in range(n - 1):
            j = i + int(uniform(key, i) * (n - i))
            swapped[[i, j], f] = swapped[[j, i], f]
        for i, row in enumerate(swapped):
            after = error(case.value[find_leaf(case, row)], y[i], is_class)
            out[f] += weight[i] * (after - error(case.value[leaves[i]], y[i], is_class))
    return out / sum(weight)
