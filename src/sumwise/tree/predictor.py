"""Predictor: the trees of boosting, prepared for few rows or many.

A few rows walk through the trees as they are. Many rows are coded first, so that the splits of
trees become tests of bytes; see ``kernels.predict.coding`` and ``coded_trees``. Both give the same
bits.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sumwise.data.device_matrix import DeviceMatrix
from sumwise.data.matrix import FlatMatrix, Matrix, read_chunks
from sumwise.data.sparse import SparseMatrix
from sumwise.kernels.predict.blocks import BLOCK
from sumwise.kernels.predict.category_sets import (
    NO_SETS,
    Memberships,
    code_memberships,
    make_sets,
)
from sumwise.kernels.predict.coded_trees import CodedTrees, code_trees
from sumwise.kernels.predict.coding import CodeColumns, Coder, code_rows, make_coder
from sumwise.kernels.predict.scoring import (
    SCRATCH_BLOCKS,
    add_coded_predictions,
    find_coded_leaves,
)
from sumwise.kernels.predict.sparse_coding import SparseCoder, code_sparse_rows, make_sparse_coder
from sumwise.kernels.predict.walk import FlatTrees, add_predictions, close_leaves
from sumwise.kernels.runtime.threads import Team
from sumwise.lazy import lazy
from sumwise.tree.split_tests import RowCoder, SplitTests
from sumwise.tree.tree import make_writable

# Up to this many rows walk; for more, coding a block is faster.
FEW_ROWS = 12
# The same, if the trees are not coded yet and will not be used again.
_FEW_LAST_ROWS = 256
# Bytes of codes that a thread makes at a time: they should stay in its cache until they are read.
_BATCH_BYTES = 1 << 19

Kernel: TypeAlias = Callable[..., None]


class SparseRows(NamedTuple):
    """A sparse matrix by row."""

    start: np.ndarray
    place: np.ndarray
    values: np.ndarray
    n_rows: int
    n_features: int
    absent: float


class CodedRows(NamedTuple):
    """Rows, and what codes them."""

    part: FlatMatrix | SparseRows
    coder: Coder | SparseCoder
    memberships: Memberships | None

    @property
    def n_rows(self) -> int:
        return self.part.n_rows

    def code(self, first: int, last: int, codes: np.ndarray, team: Team) -> None:
        """Write the codes of some rows, which begin with a block."""
        arrays = self.part[:3]
        if isinstance(self.coder, SparseCoder):
            team.run(code_sparse_rows, *arrays, first, last, self.coder, codes)
            return
        shape, dtype = (team.n_threads, BLOCK), self.part.values.dtype
        scratch = np.zeros(shape, dtype=dtype), np.empty(shape, dtype=np.int32)
        team.run(code_rows, *arrays, first, last, self.coder, *scratch, codes)
        if self.memberships is not None:
            team.run(code_memberships, *arrays, first, last, self.memberships, codes)


class Predictor:
    """Adds the values of trees, or finds their leaves. Keeps what it derives from the trees.

    Parameters
    ----------
    start, output, feature, threshold, missing_left, left, value : ndarray
        As in :class:`TreeEnsemble`, but ``start`` has no end, and ``left`` counts over all trees.
    sets : tuple of ndarray or None
        ``set_node``, ``set_size`` and ``set_categories``, if there are any.
    """

    def __init__(
        self,
        start: np.ndarray,
        output: np.ndarray,
        feature: np.ndarray,
        threshold: np.ndarray,
        missing_left: np.ndarray,
        left: np.ndarray,
        value: np.ndarray,
        sets: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
    ) -> None:
        arrays = (start, output, feature, threshold, missing_left, left, value)
        writable = (make_writable(np.asarray(array)) for array in arrays)
        of_nodes = NO_SETS if sets is None else make_sets(feature.size, *sets)
        self._flat_trees = FlatTrees(*writable, of_nodes)
        self._coders: dict[np.dtype, Coder] = {}

    def add_values(self, X: Matrix, out: np.ndarray, team: Team, is_last: bool = False) -> None:
        """Add the values of the leaves that rows reach to ``out`` (n_rows, n_outputs).

        ``is_last``: no other rows will follow, so that coding the trees takes more rows to pay off.
        """
        few = _FEW_LAST_ROWS if is_last else FEW_ROWS
        if X.shape[0] > few or isinstance(X, DeviceMatrix):
            arguments = (0, self._trees.start.size, self._trees)
            self._code_and_run(X, add_coded_predictions, arguments, out, team)
            return
        for first, part in read_chunks(X):
            add_predictions(*part, self._closed_trees, out[first : first + part.n_rows])

    def add_vectors(self, X: Matrix, vector: np.ndarray, out: np.ndarray, team: Team) -> None:
        """Add vectors of the leaves, in the order of :meth:`sort_leaves`, to ``out``."""
        from sumwise.kernels.predict.vectors import add_coded_vectors  # few models need it

        sums = np.empty((team.n_threads, out.shape[1], BLOCK))
        self._code_and_run(X, add_coded_vectors, (self._trees, vector, sums), out, team)

    def sort_leaves(self, by_node: np.ndarray) -> np.ndarray:
        """Return vectors of nodes as :meth:`add_vectors` reads them: (n_outputs, n_nodes)."""
        trees = self._trees
        roots = np.repeat(trees.start, np.diff(trees.start, append=trees.leaf_node.size))
        return np.ascontiguousarray(by_node[roots + trees.leaf_node].T)

    def add_stages(self, X: Matrix, n_trees: int, out: np.ndarray, team: Team) -> Iterator[None]:
        """Do the same, but pause after every ``n_trees`` trees. Holds all codes of X."""
        shape = (-(-X.shape[0] // BLOCK), self.n_columns, BLOCK)
        codes = np.empty(shape, dtype=np.uint8)
        for first, rows in self.read_rows(X):
            rows.code(0, rows.n_rows, codes[first // BLOCK :], team)
        for first_tree in range(0, self._trees.start.size, n_trees):
            arguments = (first_tree, first_tree + n_trees, self._trees)
            _run(add_coded_predictions, codes, arguments, out, team)
            yield

    def find_leaves(self, X: Matrix, out: np.ndarray, team: Team) -> None:
        """Write the leaves that rows reach to ``out`` (n_rows, n_trees)."""
        self._code_and_run(X, find_coded_leaves, (self._trees,), out, team)

    def _code_and_run(
        self, X: Matrix, kernel: Kernel, arguments: tuple[Any, ...], out: np.ndarray, team: Team
    ) -> None:
        """Code a batch of rows, run a kernel on it, then the next."""
        blocks_of_thread = max(1, _BATCH_BYTES // (BLOCK * max(1, self.n_columns)))
        n_blocks = max(1, min(team.n_threads * blocks_of_thread, -(-X.shape[0] // BLOCK)))
        codes = np.empty((n_blocks, self.n_columns, BLOCK), dtype=np.uint8)
        for start, rows in self.read_rows(X):
            for first in range(0, rows.n_rows, n_blocks * BLOCK):
                last = min(first + n_blocks * BLOCK, rows.n_rows)
                rows.code(first, last, codes, team)
                _run(kernel, codes, arguments, out[start + first : start + last], team)

    def read_rows(self, X: Matrix | DeviceMatrix) -> Iterator[tuple[int, RowCoder]]:
        """Yield (first row, rows to be coded); a sparse matrix is a single chunk."""
        memberships = self.columns.memberships
        if isinstance(X, DeviceMatrix):
            from sumwise.tree.device_coder import CodedDeviceRows  # needs a GPU

            yield 0, CodedDeviceRows(X, self.columns)
            return
        if isinstance(X, SparseMatrix):
            part = SparseRows(*X.by_row, *X.shape, X.absent)
            kind = part.values.dtype, part.n_features, part.absent
            yield 0, CodedRows(part, make_sparse_coder(self.columns, *kind), memberships)
            return
        for first, chunk in read_chunks(X):
            dtype = chunk.values.dtype
            if dtype not in self._coders:
                self._coders[dtype] = make_coder(self.columns, dtype)
            yield first, CodedRows(chunk, self._coders[dtype], memberships)

    def find_tests(self) -> SplitTests:
        """Return the tests of all nodes on the codes of :meth:`read_rows`."""
        word = self._trees.node  # left child, skip (1 bit), column (24 bits), bound (8 bits)
        column = (word >> np.uint64(8) & np.uint64(0xFFFFFF)).astype(np.int64)
        skip = (word >> np.uint64(32) & np.uint64(1)).astype(np.uint8)
        return SplitTests(column, skip, (word & np.uint64(255)).astype(np.uint8), self.n_columns)

    @lazy
    def _closed_trees(self) -> FlatTrees:
        return close_leaves(self._flat_trees)

    @lazy
    def _trees_and_columns(self) -> tuple[CodedTrees, CodeColumns]:
        return code_trees(self._flat_trees)

    @property
    def _trees(self) -> CodedTrees:
        return self._trees_and_columns[0]

    @property
    def columns(self) -> CodeColumns:
        """What codes rows: thresholds and sets, by column of codes."""
        return self._trees_and_columns[1]

    @property
    def n_columns(self) -> int:
        """Number of columns of codes: those of thresholds, then those of sets."""
        columns = self.columns
        by_set = columns.memberships
        return int(columns.feature.size if by_set is None else by_set.first_column[-1])


def _run(
    kernel: Kernel, codes: np.ndarray, arguments: tuple[Any, ...], out: np.ndarray, team: Team
) -> None:
    shape = (team.n_threads, SCRATCH_BLOCKS, BLOCK)
    scratch = np.empty(shape, dtype=np.uint8), np.empty((shape[0], BLOCK), dtype=np.uint32)
    team.run(kernel, codes, *arguments, *scratch, out)
