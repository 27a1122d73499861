"""Naive twin of exact Shapley values: sums over all subsets of the features.

A game is a function of a set of known features that returns the outputs of a model.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np

from sumwise.tree import Tree, Trees

Game = Callable[[frozenset[int]], np.ndarray]


def play_by_path(trees: Trees, row: np.ndarray) -> Game:
    """Unknown features send a row to both sides, by the shares of the training rows."""
    nodes, cover = trees.decode(), trees.cover.astype(np.float64)

    def follow(node: int, known: frozenset[int]) -> np.ndarray:
        left = int(nodes.left[node])
        if left < 0:
            return nodes.value[node]
        if int(nodes.feature[node]) in known:
            return follow(left if goes_left(nodes, node, row) else left + 1, known)
        total = cover[left] + cover[left + 1]
        share = cover[left] / total if total > 0 else 0.5
        return share * follow(left, known) + (1 - share) * follow(left + 1, known)

    return lambda known: _add_trees(trees, [follow(int(r), known) for r in trees.start[:-1]])


def play_with_background(trees: Trees, row: np.ndarray, background: np.ndarray) -> Game:
    """Unknown features have the values of a background row; the mean over these rows."""
    nodes = trees.decode()

    def predict(known: frozenset[int]) -> np.ndarray:
        outputs = []
        for other in background:
            mixed = np.array([row[f] if f in known else other[f] for f in range(row.size)])
            leaves = [_find_leaf(nodes, int(r), mixed) for r in trees.start[:-1]]
            outputs.append(_add_trees(trees, [nodes.value[leaf] for leaf in leaves]))
        return np.mean(outputs, axis=0)

    return predict


def find_values(game: Game, n_features: int) -> np.ndarray:
    """Return the Shapley values, (n_features, n_outputs)."""
    values = []
    for i in range(n_features):
        others = [f for f in range(n_features) if f != i]
        terms = [
            _weigh(len(known), n_features) * (game(known | {i}) - game(known))
            for known in _list_subsets(others)
        ]
        values.append(sum(terms))
    return np.array(values)


def find_interactions(game: Game, n_features: int) -> np.ndarray:
    """Return the Shapley interaction values, (n_features, n_features, n_outputs).

    The effect of a pair is shared equally; the diagonal has what is left of a feature's value.
    """
    values = find_values(game, n_features)
    out = np.zeros((n_features, *values.shape))
    for i, j in combinations(range(n_features), 2):
        others = [f for f in range(n_features) if f not in (i, j)]
        total = np.zeros(values.shape[1])
        for known in _list_subsets(others):
            change = game(known | {i, j}) - game(known | {i}) - game(known | {j}) + game(known)
            total += _weigh(len(known), n_features - 1) * change
        out[i, j] = out[j, i] = total / 2
    for i in range(n_features):
        out[i, i] = values[i] - out[i].sum(axis=0)
    return out


def goes_left(nodes: Tree, node: int, row: np.ndarray) -> bool:
    x = row[nodes.feature[node]]
    if np.isnan(x):
        return bool(nodes.missing_left[node])
    sets = nodes.left_categories
    return int(x) in sets[node].tolist() if node in sets else bool(x <= nodes.threshold[node])


def _find_leaf(nodes: Tree, node: int, row: np.ndarray) -> int:
    while nodes.left[node] >= 0:
        node = int(nodes.left[node]) + (0 if goes_left(nodes, node, row) else 1)
    return node


def _add_trees(trees: Trees, outputs: Sequence[np.ndarray]) -> np.ndarray:
    sums = np.zeros((trees.n_groups, outputs[0].size))
    for number, values in enumerate(outputs):
        sums[number % trees.n_groups] += values
    return trees.combine(sums.ravel())


def _list_subsets(features: Sequence[int]) -> Iterator[frozenset[int]]:
    for size in range(len(features) + 1):
        yield from map(frozenset, combinations(features, size))


def _weigh(n_known: int, n_features: int) -> float:
    """Return the share of orders in which exactly these features come first."""
    first, rest = math.factorial(n_known), math.factorial(n_features - n_known - 1)
    return first * rest / math.factorial(n_features)
