"""Predictor: the trees of an ensemble made ready for rows, few or many.

A few rows walk through the trees as they are. Many rows are coded first (see kernels/coding.py),
then trees are tests of bytes (see kernels/coded_trees.py). Both ways give the same bits.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from sumwise.data.matrix import FlatMatrix, Matrix, read_chunks
from sumwise.data.sparse import SparseMatrix
from sumwise.kernels.predict.category_walk import (
    Memberships,
    add_category_predictions,
    code_memberships,
    make_sets,
)
from sumwise.kernels.predict.coded_trees import CodedTrees, code_trees
from sumwise.kernels.predict.coding import BLOCK, Coder, Columns, code_rows, make_coder
from sumwise.kernels.predict.scoring import add_coded_predictions, find_coded_leaves
from sumwise.kernels.predict.sparse_coding import SparseCoder, code_sparse_rows, make_sparse_coder
from sumwise.kernels.predict.walk import FlatTrees, add_predictions, flatten_trees
from sumwise.kernels.runtime.threads import ABORT, Team
from sumwise.lazy import lazy

# Up to as many rows walk; for more it pays to code a block.
_FEW_ROWS = 12
# The same, if the trees have yet to be coded and will not be used again.
_FEW_LAST_ROWS = 256
# Codes made at a time by a thread: they should still be in its cache when they are read.
_BATCH_BYTES = 1 << 20


class SparseRows(NamedTuple):
    """A sparse matrix by row."""

    start: np.ndarray
    place: np.ndarray
    values: np.ndarray
    n_rows: int
    n_features: int
    absent: float


class Predictor:
    """Adds the values of trees, or finds their leaves. What it derives from them, it keeps.

    Parameters
    ----------
    start, output, feature, threshold, missing_left, left, value : ndarray
        As in :class:`TreeEnsemble`.
    sets : tuple of ndarray or None
        Its ``set_node``, ``set_size`` and ``set_categories``, if it has any.
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
        # Kernels are compiled for arrays that may be written to, which those of a file may not.
        self._arrays = [np.require(np.asarray(a), requirements=["C", "A", "W"]) for a in arrays]
        self._sets = None if sets is None else make_sets(feature.size, *sets)
        self._coders: dict[np.dtype, Coder] = {}

    def add_values(self, X: Matrix, out: np.ndarray, team: Team, is_last: bool = False) -> None:
        """Add the values of the leaves that rows reach to ``out`` (n_rows, n_outputs).

        ``is_last`` tells that no other rows will come, so that coding the trees pays less.
        """
        if X.shape[0] > (_FEW_LAST_ROWS if is_last else _FEW_ROWS):
            arguments = (0, self._trees.start.size, self._trees)
            self._code_and_run(X, add_coded_predictions, arguments, out, team)
            return
        for first, part in read_chunks(X):
            own = out[first : first + part.n_rows]
            if self._sets is None:
                add_predictions(*part, self._flat_trees, own)
            else:
                add_category_predictions(*part, self._flat_trees, self._sets, own)

    def add_stages(self, X: Matrix, n_trees: int, out: np.ndarray, team: Team) -> Iterator[None]:
        """The same, but pause after every ``n_trees`` trees. Keeps a byte a value of X."""
        shape = (-(-X.shape[0] // BLOCK), self._n_columns, BLOCK)
        codes = np.empty(shape, dtype=np.uint8)
        for first, part in _read_parts(X):
            coders = self._coder(part), self._columns.memberships
            team.run(_code, part, *coders, codes[first // BLOCK :])
        for first_tree in range(0, self._trees.start.size, n_trees):
            arguments = (first_tree, first_tree + n_trees, self._trees)
            team.run(_run_on_codes, codes, add_coded_predictions, arguments, out)
            yield

    def find_leaves(self, X: Matrix, out: np.ndarray, team: Team) -> None:
        """Write the leaves that rows reach to ``out`` (n_rows, n_trees)."""
        self._code_and_run(X, find_coded_leaves, (self._trees,), out, team)

    def _code_and_run(
        self,
        X: Matrix,
        kernel: Callable[..., None],
        arguments: tuple[Any, ...],
        out: np.ndarray,
        team: Team,
    ) -> None:
        for first, part in _read_parts(X):
            own = out[first : first + part.n_rows]
            coders = self._coder(part), self._columns.memberships, self._n_columns
            team.run(_code_and_run, part, *coders, kernel, arguments, own)

    def _coder(self, part: FlatMatrix | SparseRows) -> Coder | SparseCoder:
        dtype = part.values.dtype
        if isinstance(part, SparseRows):
            return make_sparse_coder(self._columns, dtype, part.n_features, part.absent)
        if dtype not in self._coders:
            self._coders[dtype] = make_coder(self._columns, dtype)
        return self._coders[dtype]

    @lazy
    def _flat_trees(self) -> FlatTrees:
        return flatten_trees(*self._arrays)

    @lazy
    def _trees_and_columns(self) -> tuple[CodedTrees, Columns]:
        return code_trees(*self._arrays, self._sets)

    @property
    def _trees(self) -> CodedTrees:
        return self._trees_and_columns[0]

    @property
    def _columns(self) -> Columns:
        return self._trees_and_columns[1]

    @property
    def _n_columns(self) -> int:
        """Columns of codes: by thresholds, then by sets."""
        columns = self._columns
        by_set = columns.memberships
        return int(columns.feature.size if by_set is None else by_set.first_column[-1])


def _read_parts(X: Matrix) -> Iterator[tuple[int, FlatMatrix | SparseRows]]:
    """Yield (first row, rows as they are coded): a sparse matrix at once, and as it is."""
    if isinstance(X, SparseMatrix):
        yield 0, SparseRows(*X.by_row, *X.shape, X.absent)
    else:
        yield from read_chunks(X)


# What the threads of a team do


def _code_and_run(
    thread: int,
    n_threads: int,
    sync: np.ndarray,
    part: FlatMatrix | SparseRows,
    coder: Coder | SparseCoder,
    memberships: Memberships | None,
    n_columns: int,
    kernel: Callable[..., None],
    arguments: tuple[Any, ...],
    out: np.ndarray,
) -> None:
    """Code some of the thread's rows, run a kernel on them, and so on."""
    begin, end = _share_blocks(part.n_rows, thread, n_threads)
    n_rows = max(1, _BATCH_BYTES // (BLOCK * max(1, n_columns))) * BLOCK
    codes = np.empty((-(-min(n_rows, end - begin) // BLOCK), n_columns, BLOCK), dtype=np.uint8)
    for first in range(begin, end, n_rows):
        if sync[ABORT]:
            return
        last = min(first + n_rows, end)
        _code_rows(part, coder, memberships, first, last, codes)
        _run_kernel(kernel, codes, arguments, out[first:last])


def _code(
    thread: int,
    n_threads: int,
    sync: np.ndarray,
    part: FlatMatrix | SparseRows,
    coder: Coder | SparseCoder,
    memberships: Memberships | None,
    codes: np.ndarray,
) -> None:
    begin, end = _share_blocks(part.n_rows, thread, n_threads)
    _code_rows(part, coder, memberships, begin, end, codes[begin // BLOCK :])


def _run_on_codes(
    thread: int,
    n_threads: int,
    sync: np.ndarray,
    codes: np.ndarray,
    kernel: Callable[..., None],
    arguments: tuple[Any, ...],
    out: np.ndarray,
) -> None:
    begin, end = _share_blocks(out.shape[0], thread, n_threads)
    _run_kernel(kernel, codes[begin // BLOCK :], arguments, out[begin:end])


def _share_blocks(n_rows: int, thread: int, n_threads: int) -> tuple[int, int]:
    """The thread's rows as (first, last): whole blocks, but for the end of the last."""
    n_blocks = -(-n_rows // BLOCK)
    first, last = n_blocks * thread // n_threads, n_blocks * (thread + 1) // n_threads
    return first * BLOCK, min(last * BLOCK, n_rows)


def _code_rows(
    part: FlatMatrix | SparseRows,
    coder: Coder | SparseCoder,
    memberships: Memberships | None,
    first: int,
    last: int,
    codes: np.ndarray,
) -> None:
    if isinstance(coder, SparseCoder):
        code_sparse_rows(*part[:3], first, last, coder, codes)
        return
    scratch = np.zeros(BLOCK, dtype=part.values.dtype), np.empty(BLOCK, dtype=np.uint16)
    code_rows(*part[:3], first, last, coder, *scratch, codes)
    if memberships is not None:
        code_memberships(*part[:3], first, last, memberships, codes)


def _run_kernel(
    kernel: Callable[..., None], codes: np.ndarray, arguments: tuple[Any, ...], out: np.ndarray
) -> None:
    scratch = np.empty((4, BLOCK), dtype=np.uint8), np.empty(BLOCK, dtype=np.uint32)
    kernel(codes, *arguments, *scratch, out)
