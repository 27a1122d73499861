"""Rows as one byte per column of codes, and splits as tests of these bytes.

Explanations ask every split about every row. On codes that takes one comparison of bytes, for
thresholds, sets of categories and bins alike.
"""

from typing import NamedTuple, Protocol

import numpy as np

from sumwise.kernels.runtime.threads import Team


class SplitTests(NamedTuple):
    """A row goes left in a node if ``code - skip <= bound``, with wrap-around of a byte.

    Attributes
    ----------
    column : ndarray of int64, shape (n_nodes,)
        The column of codes that a node reads; any for leaves.
    skip, bound : ndarray of uint8, shape (n_nodes,)
    n_columns : int
        Number of columns.
    """

    column: np.ndarray
    skip: np.ndarray
    bound: np.ndarray
    n_columns: int


class RowCoder(Protocol):
    """Rows that can be coded."""

    @property
    def n_rows(self) -> int: ...

    def code(self, first: int, last: int, codes: np.ndarray, team: Team) -> None:
        """Write rows [first, last) to ``codes`` (n_blocks, n_columns, BLOCK); first of a block."""
