"""Binned tables whose categories are encoded by statistics of the target, anew for each tree.

A tree gets statistics of the rows that it sees, and of no others. Rows out of its bag are encoded
as rows of prediction are, and no statistic of the tree contains their targets: scores on them are
honest. Columns without statistics, the prior, and thresholds are the same for all trees.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sumwise.data.categories.encoder import STATISTIC, CategoryEncoder
from sumwise.kernels.forest.category_statistics import (
    CategoryRows,
    StatisticColumns,
    StatisticsWork,
    find_statistics,
    write_statistic_bins,
)
from sumwise.kernels.runtime import random
from sumwise.tree.forest_table import RowTable


@dataclass(frozen=True)
class EncodedTable(RowTable):
    """A table by row with columns of statistics.

    Attributes
    ----------
    rows : CategoryRows
    columns : StatisticColumns
    by_bag : bool
        Whether the statistics of a tree come from the rows that it sees; otherwise from all rows,
        divided into other halves for each tree.
    """

    rows: CategoryRows
    columns: StatisticColumns
    by_bag: bool = True

    @classmethod
    def from_table(
        cls, table: RowTable, rows: CategoryRows, encoder: CategoryEncoder
    ) -> "EncodedTable":
        """Add statistics to a table whose columns are those of an encoder."""
        n_values = encoder.sums.prior.size
        column = np.empty((len(encoder.groups), n_values), dtype=np.int64)
        for k, own in enumerate(encoder.columns):
            if own.kind == STATISTIC:
                column[own.group, own.statistic] = k
        ends = [table.mapper.thresholds[k] for k in column.ravel()]
        stops = np.cumsum([own.size for own in ends], dtype=np.int64).reshape(column.shape)
        first = np.column_stack([np.append(0, stops[:-1, -1]), stops])
        columns = StatisticColumns(column, first, np.concatenate(ends))
        # A statistic that is constant at first may vary in a tree.
        usable = np.union1d(table.usable, column.ravel()).astype(np.int32)
        shared = {name: getattr(table, name) for name in RowTable.__dataclass_fields__}
        return cls(**(shared | {"usable": usable}), rows=rows, columns=columns)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: what is derived from them is not pickled."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


class TableEncoder:
    """Writes the statistics of one tree after another into a table of its own.

    Parameters
    ----------
    table : EncodedTable

    Attributes
    ----------
    table : RowTable
        The table of the last tree: the next one overwrites its bins.
    """

    def __init__(self, table: EncodedTable) -> None:
        self._rows, self._columns = table.rows, table.columns
        self._by_bag = table.by_bag
        self._work = allocate_statistics(table.rows)
        self._bins = table.bins.copy()
        self.table = replace(table, bins=self._bins)
        for name in ("has_missing", "centers"):  # the same for all trees
            if name in table.__dict__:
                self.table.__dict__[name] = table.__dict__[name]

    def encode(self, is_seen: np.ndarray, key: np.uint64) -> np.ndarray:
        """Return the bins of all rows for the tree of a key, which sees some of the rows."""
        is_seen = is_seen if self._by_bag else self._rows.weight > 0
        find_statistics(key, is_seen.astype(np.uint8), self._rows, self._work)
        flat, n_columns = self._bins.reshape(-1), self._bins.shape[1]
        write_statistic_bins(self._rows, self._columns, self._work, flat, n_columns)
        return self._bins


def allocate_statistics(rows: CategoryRows) -> StatisticsWork:
    """Allocate the buffers of a thread."""
    n_entries, n_values = int(rows.start[-1]), rows.values.shape[0]
    return StatisticsWork(
        half=np.empty(rows.places.shape[1], dtype=np.uint8),
        counts=np.empty((2, n_entries)),
        sums=np.empty((n_values, 3, n_entries)),
        bins=np.empty((3, n_entries), dtype=np.uint8),
    )


def encode_rows(rows: CategoryRows, is_seen: np.ndarray, key: np.uint64) -> np.ndarray:
    """Return the statistics of all rows for one tree, (n_groups, n_values, n_rows)."""
    work = allocate_statistics(rows)
    find_statistics(key, is_seen.astype(np.uint8), rows, work)
    entry = rows.places + rows.start[:-1, np.newaxis]
    found = np.empty((rows.places.shape[0], *rows.values.shape))
    for value, prior in enumerate(rows.prior):
        own = work.sums[value][work.half, entry]
        found[:, value] = np.where(rows.places >= 0, own, prior)
    return found


def make_tree_key(seed: int, number: int) -> np.uint64:
    """Return the key that a tree is grown with."""
    return random.make_key(seed, random.TREES, number)
