"""Trees as Python: conditional expressions, or tables where these would be too large."""

import zlib
from base64 import b64encode
from collections.abc import Iterator, Sequence

import numpy as np

from sumwise.export.portable import Affine, TreeSum
from sumwise.export.program import Program, count_leaves, follow_large

# Compiling an expression takes about 10 us per node and several kilobytes of memory.
_MOST_CODED_NODES = 50_000
# Python's parser and compiler are recursive.
_MOST_CODED_DEPTH = 80
_NODES_PER_FUNCTION = 4_000


def write_number(value: float) -> str:
    """Return a number as Python reads it, exactly; 1e999 is infinity."""
    if value != value:
        return "NAN"
    if value in (np.inf, -np.inf):
        return "1e999" if value > 0 else "-1e999"
    return repr(float(value))


def can_be_coded(program: Program) -> bool:
    """Whether the trees of a model are small enough for expressions."""
    n_nodes = sum(own.trees.n_nodes for own in program.tree_sums)
    if n_nodes > _MOST_CODED_NODES:
        return False
    return all(_find_depth(own) <= _MOST_CODED_DEPTH for own in program.tree_sums)


def _find_depth(trees: TreeSum) -> int:
    depth = [0] * trees.trees.n_nodes
    for node, left in enumerate(trees.trees.left.tolist()):
        if left >= 0:
            depth[left] = depth[left + 1] = depth[node] + 1
    return max(depth)


def list_variables(program: Program) -> list[str]:
    """Return what a row is turned into: numbers x0, x1, ..., then codes c0, c1, ... for sets.

    The number is that of the column. A code is -1 if the category is missing or unknown.
    """
    numbers: set[int] = set()
    codes: set[int] = set()
    for own in program.tree_sums:
        places, nodes = program.find_places(own), own.trees
        is_number = nodes.feature >= 0
        is_number[nodes.set_node] = False
        codes.update(places[nodes.feature[nodes.set_node]].tolist())
        numbers.update(places[nodes.feature[is_number]].tolist())
        if nodes.models is not None:
            numbers.update(places[nodes.models.feature].tolist())
    for node in program.nodes:
        if isinstance(node, Affine):
            numbers.update(program.find_places(node).tolist())
    return [f"x{k}" for k in sorted(numbers - {-1})] + [f"c{k}" for k in sorted(codes)]


class TreeExpressions:
    """Writes trees as conditional expressions of the variables of a row."""

    def __init__(self, program: Program, trees: TreeSum) -> None:
        self._trees, self._nodes = trees, trees.trees
        self._places = program.find_places(trees)
        self._n_leaves = count_leaves(trees.trees)
        self._sets = trees.trees.left_categories

    def split(self) -> Iterator[range]:
        """Yield groups of trees, each for one function."""
        first = 0
        start = self._trees.start
        for tree in range(1, self._trees.n_trees + 1):
            is_last = tree == self._trees.n_trees
            if is_last or start[tree + 1] - start[first] > _NODES_PER_FUNCTION:
                yield range(first, tree)
                first = tree

    def write(self, tree: int) -> str:
        """Return the expression of the value that a row has in a tree."""
        return self._write_node(int(self._trees.start[tree]))

    def _write_node(self, node: int) -> str:
        *turns, (leaf, _, _) = follow_large(self._nodes, self._n_leaves, node)
        text = ""
        for at, child, is_left in turns:
            own = self._write_node(child)
            own = f"({own})" if " if " in own else own
            text += f"{own} if {self._write_test(at, is_left)} else "
        return text + self._write_leaf(leaf)

    def _write_test(self, node: int, is_left: bool) -> str:
        """Return the condition under which a row goes to a child."""
        nodes, place = self._nodes, int(self._places[self._nodes.feature[node]])
        missing_left = bool(nodes.missing_left[node])
        if node in self._sets:
            codes = sorted({*self._sets[node].tolist(), *([-1] if missing_left else [])})
            kept = f"{{{', '.join(map(str, codes))}}}" if codes else "()"
            return f"c{place} {'in' if is_left else 'not in'} {kept}"
        # Comparisons with NaN are false, so this one is true for the side without missing values.
        test = f"x{place} {'>' if missing_left else '<='} {write_number(nodes.threshold[node])}"
        return f"not {test}" if is_left == missing_left else test

    def _write_leaf(self, leaf: int) -> str:
        values, models = self._nodes.value[leaf].tolist(), self._nodes.models
        if models is None or models.size[leaf] == 0:
            numbers = ", ".join(map(write_number, values))
            return f"({numbers})" if len(values) > 1 else numbers
        terms = slice(*models.first[[leaf, leaf + 1]])
        total = write_number(models.constant[leaf])
        for slope, feature in zip(models.coefficient[terms], models.feature[terms], strict=True):
            total += f" + {write_number(slope)} * x{self._places[feature]}"
        numbers = ", ".join(map(write_number, (values[0], models.low[leaf], models.high[leaf])))
        return f"_leaf({numbers}, {total})"


class TreeTables:
    """Writes trees as compressed arrays that a loop walks; ``z`` has the variables of a row."""

    def __init__(
        self, program: Program, trees: TreeSum, number: int, variables: Sequence[str]
    ) -> None:
        self._trees, self._nodes, self._number = trees, trees.trees, number
        places = program.find_places(trees).tolist()
        known = {name: k for k, name in enumerate(variables)}
        # Where in z each feature of the trees is, as a number and as a code; -1 if it is not there.
        self._numbers = np.array([known.get(f"x{place}", -1) for place in places])
        self._codes = np.array([known.get(f"c{place}", -1) for place in places])

    def write_tables(self) -> Iterator[str]:
        """Yield the definitions of the arrays."""
        nodes, k = self._nodes, self._number
        sets = nodes.left_categories
        is_split = nodes.feature >= 0
        threshold = np.where(is_split, nodes.threshold, 0.0)
        which = np.where(is_split, self._numbers[nodes.feature], 0)
        threshold[nodes.set_node] = np.arange(nodes.set_node.size)
        which[nodes.set_node] = ~self._codes[nodes.feature[nodes.set_node]]
        arrays = ("d", threshold), ("i", nodes.left), ("i", which), ("b", nodes.missing_left)
        yield f"_NODES{k} = ("
        yield from (f"    {_pack(kind, numbers)}," for kind, numbers in arrays)
        yield ")"
        yield f"_ROOTS{k} = {_pack('i', self._trees.start[:-1])}"
        yield f"_VALUES{k} = {_pack('d', nodes.value)}"
        missing = nodes.missing_left
        yield f"_SETS{k} = ("
        for node, codes in sets.items():
            kept = sorted({*codes.tolist(), *([-1] if missing[node] else [])})
            yield f"    frozenset([{', '.join(map(str, kept))}]),"
        yield ")"
        if nodes.models is not None:
            yield from self._write_models()

    def _write_models(self) -> Iterator[str]:
        """Yield a table by leaf: value, low, high, constant, and terms of slope and column."""
        nodes, models = self._nodes, self._nodes.models
        assert models is not None
        yield f"_MODELS{self._number} = {{"
        for leaf in np.flatnonzero(models.size):
            terms = slice(*models.first[[leaf, leaf + 1]])
            pairs = zip(models.coefficient[terms], models.feature[terms], strict=True)
            text = "".join(f"({write_number(b)}, {self._numbers[f]}), " for b, f in pairs)
            numbers = nodes.value[leaf, 0], models.low[leaf], models.high[leaf]
            row = ", ".join(map(write_number, (*numbers, models.constant[leaf])))
            yield f"    {leaf}: ({row}, ({text.rstrip()})),"
        yield "}"

    def write_loop(self) -> Iterator[str]:
        """Yield the body of a generator of (number of the tree, value)."""
        k, n_columns = self._number, self._nodes.value.shape[1]
        yield f"for tree, root in enumerate(_ROOTS{k}):"
        yield f"    leaf = _walk(root, z, _NODES{k}, _SETS{k})"
        if self._nodes.models is not None:
            yield f"    if leaf in _MODELS{k}:"
            yield f"        value, low, high, total, terms = _MODELS{k}[leaf]"
            yield "        for slope, column in terms:"
            yield "            total += slope * z[column]"
            yield "        value = _leaf(value, low, high, total)"
            yield "    else:"
            yield f"        value = _VALUES{k}[leaf]"
            yield "    yield tree, value"
        elif n_columns == 1:
            yield f"    yield tree, _VALUES{k}[leaf]"
        else:
            first = f"leaf * {n_columns}"
            yield f"    yield tree, _VALUES{k}[{first}:{first} + {n_columns}]"


def _pack(kind: str, numbers: np.ndarray) -> str:
    types = {"d": "<f8", "i": "<i4", "b": "<i1"}
    data = zlib.compress(np.ascontiguousarray(numbers).astype(types[kind]).tobytes())
    return f'_unpack("{kind}", "{b64encode(data).decode()}")'
