"""BinnedForest: trees of forests, which are averaged, in as little memory as they need."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sumwise.data.binning import BinMapper
from sumwise.data.matrix import Matrix
from sumwise.kernels.explain.binned_rows import code_binned_rows
from sumwise.kernels.forest.layout import SET_WORDS
from sumwise.kernels.forest.nodes import fill_node_values
from sumwise.kernels.forest.walk import (
    BY_SET,
    PackedForest,
    add_forest_values,
    allocate_scratch,
    find_forest_leaves,
    pack_nodes,
)
from sumwise.kernels.runtime.threads import Team
from sumwise.lazy import lazy
from sumwise.tree.split_tests import RowCoder, SplitTests
from sumwise.tree.tree import GrownTree, make_writable, no_sets
from sumwise.tree.trees import Trees

_NO_BAGS = np.empty((0, 0), dtype=np.uint8)


@dataclass(frozen=True, repr=False)
class ForestTree(GrownTree):
    """A tree of a forest, in bins.

    Attributes
    ----------
    sets : ndarray of uint64, shape (n_sets, SET_WORDS)
        Bins that go left, for the nodes that split on a category, in their order.
    """

    sets: np.ndarray = field(default_factory=lambda: np.empty((0, SET_WORDS), dtype=np.uint64))


class BinnedRows(NamedTuple):
    """Binned rows, and the columns of codes that are made of them."""

    bins: np.ndarray
    features: np.ndarray
    set_feature: np.ndarray
    sets: np.ndarray

    @property
    def n_rows(self) -> int:
        return int(self.bins.shape[0])

    def code(self, first: int, last: int, codes: np.ndarray, team: Team) -> None:
        """Write the codes of some rows: the bins of the features, then columns of sets."""
        team.run(code_binned_rows, *self, first, last, codes)


@dataclass(frozen=True)
class BinnedForest(Trees):
    """Trees whose values are averaged, each for all outputs. A node takes 22 bytes.

    Attributes
    ----------
    start, feature, missing_left, left, gain, weight, n_rows : ndarray
        As in :class:`Trees`; gain and weight are float32, the number of rows is uint32.
    split_bin : ndarray of uint8, shape (n_nodes,)
        Bins from 1 up to this go left.
    value : ndarray of float64, shape (n_leaves, n_outputs)
        Values of the leaves, in the order of the nodes.
    sets : ndarray of uint64, shape (n_sets, SET_WORDS)
        Bins that go left, for the nodes that split on a categorical feature, in their order.
    mapper : BinMapper
        Thresholds and categories of the bins.
    """

    split_bin: np.ndarray
    value: np.ndarray
    sets: np.ndarray
    mapper: BinMapper

    averages: ClassVar[bool] = True
    by_node: ClassVar[tuple[str, ...]] = (*Trees.by_node, "split_bin")
    link: ClassVar[str] = "identity"

    @classmethod
    def from_trees(cls, trees: Sequence[ForestTree], mapper: BinMapper) -> "BinnedForest":
        """Lay trees end to end."""

        def join(name: str, dtype: Any) -> np.ndarray:
            return np.concatenate([getattr(tree, name) for tree in trees]).astype(dtype)

        return cls(
            start=np.cumsum([0, *(tree.n_nodes for tree in trees)], dtype=np.int64),
            feature=join("feature", np.int32),
            split_bin=join("split_bin", np.uint8),
            missing_left=join("missing_left", np.uint8),
            left=join("left", np.int32),
            gain=join("gain", np.float32),
            weight=join("weight", np.float32),
            n_rows=join("n_rows", np.uint32),
            value=np.concatenate([tree.value[tree.feature < 0] for tree in trees]),
            sets=join("sets", np.uint64),
            mapper=mapper,
        )

    def __repr__(self) -> str:
        outputs = f", {self.n_outputs} outputs" if self.n_outputs > 1 else ""
        return (
            f"<{type(self).__name__}: {self.n_trees:,} trees, {self.n_leaves:,} leaves, "
            f"{self.n_features:,} features{outputs}>"
        )

    @property
    def n_features(self) -> int:
        return len(self.mapper.thresholds)

    @property
    def n_outputs(self) -> int:
        return int(self.value.shape[1])

    def _decode_splits(self) -> dict[str, np.ndarray]:
        """Return thresholds and categories in place of bins.

        A category whose bin is shared goes where the bin goes. Every category that is not in a set
        goes right; unknown categories go where missing values go.
        """
        thresholds, before = self.mapper.flatten()
        split_bin = np.where(self.feature >= 0, self.split_bin, np.uint8(0))
        split_bin[self.set_nodes] = 0
        threshold = thresholds[before[self.feature] + split_bin]
        threshold[self.set_nodes] = 0.0
        codes = [
            np.flatnonzero(_unpack_set(bin_set)[self.mapper.categories[int(f)].bin_of_code])
            for f, bin_set in zip(self.feature[self.set_nodes], self.sets, strict=True)
        ]
        return {
            "threshold": threshold,
            "set_node": self.set_nodes.astype(np.int32),
            "set_size": np.array([own.size for own in codes], dtype=np.int32),
            "set_categories": np.concatenate([*codes, no_sets()]).astype(np.int32),
        }

    def node_values(self, team: Team | None = None) -> np.ndarray:
        """Return the values of all nodes, (n_nodes, n_outputs).

        The value of an inner node is the mean of its leaves by weight. It equals the value when the
        tree was grown, except for rounding, unless values were bounded or estimated anew.
        """
        out = np.empty((self.n_nodes, self.n_outputs))
        arrays = self.packed, make_writable(self.weight), make_writable(self.value), out
        (team or Team(1)).run(fill_node_values, *arrays)
        return out

    def combine(self, sums: np.ndarray) -> np.ndarray:
        return sums / self.n_trees

    def fits_categories(self, counts: Mapping[int, int]) -> bool:
        """Whether exactly these features are categorical, with so many categories."""
        own = {f: bins.bin_of_code.size for f, bins in self.mapper.categories.items()}
        return own == {f: count for f, count in counts.items() if count}

    def _select_rest(self, first: int, last: int, nodes: slice) -> dict[str, Any]:
        leaves = slice((nodes.start + first) // 2, (nodes.stop + last) // 2)
        sets = slice(*np.searchsorted(self.set_nodes, [nodes.start, nodes.stop]))
        return {"value": self.value[leaves], "sets": self.sets[sets]}

    @classmethod
    def _join_rest(cls, parts: "Sequence[BinnedForest]") -> dict[str, Any]:
        return {k: np.concatenate([getattr(p, k) for p in parts]) for k in ("value", "sets")}

    # --- other bins ---

    def drop_unused_bins(self) -> "BinnedForest":
        """Return the same trees with a mapper that has only the thresholds of the splits."""
        split_bin = self.split_bin.copy()
        by_bin = np.flatnonzero(self.feature >= 0)
        by_bin = np.setdiff1d(by_bin, self.set_nodes, assume_unique=True)
        thresholds = []
        for feature, ends in enumerate(self.mapper.thresholds):
            own = by_bin[self.feature[by_bin] == feature]
            used, places = np.unique(split_bin[own], return_inverse=True)
            split_bin[own] = places + 1
            # A split after the last bin, which separates missing values, has no threshold.
            thresholds.append(ends[used[used <= ends.size].astype(np.int64) - 1])
        mapper = BinMapper(thresholds, self.mapper.categories, self.mapper.native)
        return replace(self, split_bin=split_bin, mapper=mapper)

    def narrow_features(self, features: np.ndarray) -> "BinnedForest":
        """Return the same trees for tables of some features: ascending, with all they split on."""
        categories = {
            place: self.mapper.categories[feature]
            for place, feature in enumerate(features.tolist())
            if feature in self.mapper.categories
        }
        thresholds = [self.mapper.thresholds[feature] for feature in features]
        places = np.searchsorted(features, self.feature).astype(np.int32)
        feature = np.where(self.feature < 0, self.feature, places)
        own = BinMapper(thresholds, categories, self.mapper.native)
        return replace(self, feature=feature, mapper=own)

    # --- prediction ---

    def predict_raw(self, X: Matrix, team: Team, is_last: bool = False) -> np.ndarray:
        parts = [self.sum_values(rows, team)[0] for _, rows in self.mapper.map_parts(X, team)]
        return np.concatenate(parts) / self.n_trees

    def apply(self, X: Matrix, team: Team) -> np.ndarray:
        leaves = np.empty((X.shape[0], self.n_trees), dtype=np.int64)
        packed, scratch = self._pack(team), allocate_scratch(team.n_threads)
        for first, rows in self.mapper.map_parts(X, team):
            bins, is_plain = rows.reshape(-1), self._is_plain(rows)
            own = leaves[first : first + rows.shape[0]]
            team.run(find_forest_leaves, bins, is_plain, packed, scratch, own)
        return leaves

    def find_tests(self) -> SplitTests:
        column = np.searchsorted(self.used_features, np.maximum(self.feature, 0))
        skip, last = np.where(self.missing_left, 0, 1), self.split_bin.astype(np.int64)
        # Sets have further columns: 1 if the bin of a row is in the set, else 2.
        column[self.set_nodes] = self.used_features.size + np.arange(self.set_nodes.size)
        skip[self.set_nodes], last[self.set_nodes] = 0, 1
        n_columns = self.used_features.size + self.set_nodes.size
        return SplitTests(column, skip.astype(np.uint8), (last - skip).astype(np.uint8), n_columns)

    def code_rows(self, X: Matrix, team: Team) -> Iterator[tuple[int, RowCoder]]:
        set_feature = self.feature[self.set_nodes].astype(np.int64)
        own = self.used_features, set_feature, make_writable(self.sets)
        for first, rows in self.mapper.map_parts(X, team):
            yield first, BinnedRows(rows, *own)

    def sum_values(
        self, rows: np.ndarray, team: Team, in_bag: np.ndarray = _NO_BAGS
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the sum of the trees' values for each binned row, and the number of its trees.

        With ``in_bag``, bits by row of shape (n_trees, bytes), the sum is over the trees that have
        not seen the row. Otherwise it is over all trees, and nothing is counted.
        """
        n_rows = rows.shape[0]
        out = np.zeros((n_rows, self.n_outputs))
        counts = np.zeros(n_rows if in_bag.size else 0, dtype=np.int64)
        team.run(
            add_forest_values,
            rows.reshape(-1),
            self._is_plain(rows),
            self._pack(team),
            make_writable(self.value),
            in_bag,
            allocate_scratch(team.n_threads),
            out,
            counts,
        )
        return out, counts

    def _is_plain(self, rows: np.ndarray) -> bool:
        """Whether every step of these rows only compares bins, which is the faster case."""
        return self.set_nodes.size == 0 and bool(rows.all())

    # --- derived from the arrays ---

    @lazy
    def leaf_nodes(self) -> np.ndarray:
        """Nodes that are leaves."""
        return np.flatnonzero(self.feature < 0)

    @lazy
    def used_features(self) -> np.ndarray:
        """Features that trees split on, ascending (int64)."""
        return np.unique(self.feature[self.feature >= 0]).astype(np.int64)

    @lazy
    def set_nodes(self) -> np.ndarray:
        """Nodes that split by a set of bins."""
        if not self.mapper.categories:
            return np.empty(0, dtype=np.intp)
        is_category = np.zeros(self.n_features + 1, dtype=np.bool_)  # the last is for leaves
        is_category[list(self.mapper.categories)] = True
        return np.flatnonzero(is_category[self.feature])

    @property
    def packed(self) -> PackedForest:
        """The trees as kernels walk them."""
        return self._pack(Team(1))

    def _pack(self, team: Team) -> PackedForest:
        """Return the same; the first time, the team makes it."""
        if "_packed" not in self.__dict__:
            self.__dict__["_packed"] = self._make_packed(team)
        packed: PackedForest = self.__dict__["_packed"]
        return packed

    def _make_packed(self, team: Team) -> PackedForest:
        n_nodes = self.feature.size
        words = np.empty(n_nodes, dtype=np.uint64)
        flags, leaf = np.empty(n_nodes, dtype=np.uint8), np.empty(n_nodes, dtype=np.int32)
        by_node = (self.feature, self.split_bin, self.missing_left, self.left)
        arrays = [make_writable(array) for array in (self.start, *by_node)]
        team.run(pack_nodes, *arrays, words, flags, leaf)
        set_of_node = np.empty(0, dtype=np.int32)
        if self.set_nodes.size:
            flags[self.set_nodes] |= BY_SET
            set_of_node = np.zeros(n_nodes, dtype=np.int32)
            set_of_node[self.set_nodes] = np.arange(self.set_nodes.size)
        start, sets = make_writable(self.start), make_writable(self.sets)
        return PackedForest(start, words, flags, leaf, set_of_node, sets)


def _unpack_set(words: np.ndarray) -> np.ndarray:
    """Return which bins are in a set."""
    bits = words[:, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)
    return bits.reshape(-1) > 0
