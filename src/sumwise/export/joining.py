"""Several models of the same rows as one graph: their inputs joined, their nodes rewired.

Members of an ensemble read X themselves. Each may know other categories of a feature, because the
rows that it saw lacked some. The joined input has the categories of all of them, and each member's
trees and lookups are recoded: a category that a member has not seen goes where it sends missing
values, or has the default of a lookup.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from sumwise.errors import ExportError
from sumwise.export.portable import (
    Affine,
    Column,
    Curve,
    Input,
    Link,
    Lookup,
    Median,
    Node,
    Share,
    TreeSum,
    Vote,
)
from sumwise.tree import Tree

_MOST_KEYS = 1 << 62


@dataclass(frozen=True, eq=False)
class InputSource:
    """An input of a model that is an input of the joined model.

    Attributes
    ----------
    place : int
        Index of the input in the joined model.
    codes : ndarray of int64 or None
        The code in the joined model of each category of the model; None if they are the same.
    n_codes : int
        Number of categories in the joined model.
    """

    place: int
    codes: np.ndarray | None = None
    n_codes: int = 0


@dataclass(frozen=True, eq=False)
class OutputSource:
    """An input of a model that is an output of a node: a column that a meta-learner gets."""

    node: Node
    output: int


Source: TypeAlias = InputSource | OutputSource


# --- inputs ---


def join_inputs(
    names: Sequence[str],
    members: Sequence[tuple[Sequence[Input], Node]],
    places: Sequence[Sequence[int | None]],
) -> tuple[tuple[Input, ...], list[list[InputSource | None]]]:
    """Return inputs that serve all members, and the source of each input of each member.

    Parameters
    ----------
    names : sequence of str
        Names of the joined inputs.
    members : sequence of (inputs, node) pairs
    places : sequence of sequences of int or None
        For each member, the place of each of its inputs among the joined ones; None for an input
        that is not an input of the joined model. Such an input gets no source.
    """
    owners: list[list[Input]] = [[] for _ in names]
    users: list[list[Input]] = [[] for _ in names]
    for (inputs, node), own in zip(members, places, strict=True):
        used = find_used_inputs(node)
        for k, (known, place) in enumerate(zip(inputs, own, strict=True)):
            if place is not None:
                owners[place].append(known)
                users[place] += [known] if k in used else []
    joined = tuple(
        _join_input(name, users[place], owners[place]) for place, name in enumerate(names)
    )
    sources = [
        [
            None if place is None else _find_source(known, place, joined[place])
            for known, place in zip(inputs, own, strict=True)
        ]
        for (inputs, _), own in zip(members, places, strict=True)
    ]
    return joined, sources


def _join_input(name: str, users: Sequence[Input], owners: Sequence[Input]) -> Input:
    """Return an input for all; those who do not use it may know it as another kind."""
    kinds = sorted({each.kind for each in users or owners}) or ["number"]
    if len(kinds) > 1:
        raise ExportError(
            f"feature {name!r} is a {kinds[0]} to one member and a {kinds[1]} to another; train "
            "them with the same categorical_features"
        )
    known = [each for each in owners if each.kind == kinds[0]]
    values = {value for each in known for value in each.categories}
    types = {isinstance(value, str) for value in values}
    if len(types) > 1:
        raise ExportError(
            f"the categories of feature {name!r} are strings to one member and numbers to another"
        )
    if any(isinstance(value, float) for value in values):
        values = {float(value) for value in values}
    return Input(name, kinds[0], tuple(sorted(values)))


def _find_source(known: Input, place: int, joined: Input) -> InputSource:
    if known.kind != joined.kind or known.categories == joined.categories:
        return InputSource(place)
    code = {value: k for k, value in enumerate(joined.categories)}
    codes = [code[value] for value in known.categories]
    return InputSource(place, np.array(codes, dtype=np.int64), len(joined.categories))


def find_used_inputs(node: Node) -> set[int]:
    """Return the inputs that the outputs of a graph depend on."""
    if isinstance(node, TreeSum):
        used = [node.columns[k] for k in _find_used_columns(node.trees)]
        direct = {place for column in used for place in column.inputs}
        return direct.union(*(find_used_inputs(c.node) for c in used if c.node is not None))
    if isinstance(node, (Affine, Vote)):
        columns = node.columns if isinstance(node, Affine) else ()
        direct = {place for column in columns for place in column.inputs}
        return direct.union(*(find_used_inputs(child) for child in node.of))
    return find_used_inputs(node.of)


def _find_used_columns(trees: Tree) -> set[int]:
    used = set(trees.feature[trees.feature >= 0].tolist())
    return used if trees.models is None else used | set(trees.models.feature.tolist())


# --- nodes ---


def rewire(node: Node, sources: Sequence[Source]) -> Node:
    """Return a graph whose inputs come from these sources. Nodes that are shared stay shared."""
    return _Rewirer(sources).rewire(node)


class _Rewirer:
    """Replaces the inputs of nodes by their sources, each node once."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._done: dict[int, Node] = {}

    def rewire(self, node: Node) -> Node:
        if id(node) not in self._done:
            self._done[id(node)] = self._replace(node)
        return self._done[id(node)]

    def _replace(self, node: Node) -> Node:
        if isinstance(node, TreeSum):
            return self._replace_trees(node)
        if isinstance(node, Affine):
            return self._replace_affine(node)
        if isinstance(node, Vote):
            return replace(node, of=tuple(self.rewire(child) for child in node.of))
        assert isinstance(node, (Median, Link, Share, Curve))
        return replace(node, of=self.rewire(node.of))  # type: ignore[arg-type]

    def _replace_trees(self, node: TreeSum) -> TreeSum:
        used = _find_used_columns(node.trees)
        columns = tuple(
            # A table that is not used may be of categories that the joined input does not have.
            self._replace_column(column if k in used else replace(column, lookup=None))
            for k, column in enumerate(node.columns)
        )
        recoded = {}
        for k, column in enumerate(node.columns):
            if column.lookup is None and column.node is None:
                source = self._sources[column.inputs[0]]
                if isinstance(source, InputSource) and source.codes is not None:
                    recoded[k] = source
        trees = _recode_sets(node.trees, recoded) if recoded else node.trees
        return replace(node, columns=columns, trees=trees)

    def _replace_column(self, column: Column) -> Column:
        if column.node is not None:
            return replace(column, node=self.rewire(column.node))
        own = []
        for place in column.inputs:
            source = self._sources[place]
            if isinstance(source, OutputSource):
                return Column((), None, source.node, source.output)
            own.append(source)
        if column.lookup is None:
            return Column((own[0].place,))
        inputs = tuple(source.place for source in own)
        if all(source.codes is None for source in own):
            return Column(inputs, column.lookup)
        return Column(inputs, _recode_lookup(column.lookup, own))

    def _replace_affine(self, node: Affine) -> Affine:
        of = [self.rewire(child) for child in node.of]
        columns, direct = [], []
        slopes: dict[int, np.ndarray] = {}  # of the outputs of each node that is a source
        nodes: dict[int, Node] = {}
        for k, column in enumerate(node.columns):
            assert node.column_coefficient is not None
            own, source = node.column_coefficient[:, k], self._sources[column.inputs[0]]
            if isinstance(source, OutputSource):
                key = id(source.node)
                nodes[key] = source.node
                empty = np.zeros((node.n_outputs, source.node.n_outputs))
                slopes.setdefault(key, empty)[:, source.output] += own
                continue
            if column.lookup is None and source.codes is not None:
                raise ExportError("a linear function of category codes")
            columns.append(self._replace_column(column))
            direct.append(own)
        return Affine(
            (*of, *nodes.values()),
            np.column_stack([node.coefficient, *slopes.values()]),
            node.intercept,
            tuple(columns),
            np.column_stack(direct) if direct else None,
        )


def _recode_lookup(lookup: Lookup, sources: Sequence[InputSource]) -> Lookup:
    bases = tuple(
        base if source.codes is None else source.n_codes + 1
        for base, source in zip(lookup.bases, sources, strict=True)
    )
    if math.prod(bases) >= _MOST_KEYS:
        raise ExportError("members know too many categories for one table of their combinations")
    digits, rest = [], lookup.keys
    for base in lookup.bases[:0:-1]:
        rest, digit = np.divmod(rest, base)
        digits.append(digit)
    digits.append(rest)
    keys = np.zeros_like(lookup.keys)
    for digit, base, source in zip(digits[::-1], bases, sources, strict=True):
        code = digit if source.codes is None else np.append(source.codes, source.n_codes)[digit]
        keys = keys * base + code
    return replace(lookup, bases=bases, keys=keys)


def _recode_sets(trees: Tree, sources: dict[int, InputSource]) -> Tree:
    """Return trees whose splits on some columns are sets of the new codes."""
    sets = dict(trees.left_categories)
    threshold = trees.threshold.copy()
    for node in np.flatnonzero(np.isin(trees.feature, list(sources))).tolist():
        source = sources[int(trees.feature[node])]
        assert source.codes is not None
        old = sets.get(node)
        if old is None:  # a threshold on codes
            old = np.flatnonzero(np.arange(source.codes.size) <= trees.threshold[node])
        codes = source.codes[old]
        if trees.missing_left[node]:
            codes = np.append(codes, np.setdiff1d(np.arange(source.n_codes), source.codes))
        sets[node], threshold[node] = np.sort(codes).astype(np.int32), 0.0
    order = sorted(sets)
    return replace(
        trees,
        threshold=threshold,
        set_node=np.array(order, dtype=np.int32),
        set_size=np.array([sets[node].size for node in order], dtype=np.int32),
        set_categories=np.concatenate([*(sets[node] for node in order), np.empty(0, np.int32)]),
    )


def average_nodes(nodes: Sequence[Node], weights: Iterable[float]) -> Node:
    """Return the weighted sum of nodes with the same number of outputs."""
    every = np.eye(nodes[0].n_outputs)
    slopes = np.hstack([weight * every for weight in weights])
    return Affine(tuple(nodes), slopes, np.zeros(len(every)))
