"""PagedData: a binned table cut into pages of rows, each of which may lie in mapped files."""

import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise.data.binned import BinnedData, place_bins
from sumwise.kernels.table.layout import (
    CATEGORICAL,
    DENSE,
    NO_BUNDLES,
    NO_CATEGORIES,
    NOT_SORTED,
    Categories,
    Lanes,
    Table,
)
from sumwise.lazy import lazy


@dataclass(frozen=True)
class Page:
    """Neighboring rows of a table.

    Attributes
    ----------
    first : int
        The number of its first row in the table.
    data : BinnedData
        The rows. Its arrays may be memory-mapped.
    """

    first: int
    data: BinnedData

    @property
    def n_rows(self) -> int:
        return self.data.n_rows

    @property
    def end(self) -> int:
        """The number of the row behind its last one."""
        return self.first + self.n_rows


class PagedData:
    """A binned table in pages, which share bins and usable features.

    Lanes and tiles may differ from page to page, since sums are recovered per feature.

    Parameters
    ----------
    pages : sequence of Page
        All rows in order. A page may be empty; a worker of a cluster may have no page at all.
    n_value_bins : ndarray of int64
        Bins of each feature, without that of missing values.
    usable : ndarray of uint8
        Features that can split the rows of all pages. ``BinnedData.from_columns`` takes it for
        every page.
    categories : Categories, optional
        The categorical features, all of them narrow: at most 255 bins each.
    """

    def __init__(
        self,
        pages: Sequence[Page],
        n_value_bins: np.ndarray,
        usable: np.ndarray,
        categories: Categories | None = None,
    ) -> None:
        self.pages = tuple(pages)
        self.n_value_bins = n_value_bins.astype(np.int64, copy=False)
        self.usable = usable.astype(np.uint8, copy=False)
        self.categories = NO_CATEGORIES if categories is None else categories
        self.storage = np.full(self.n_features, DENSE, dtype=np.uint8)
        if categories is not None:
            self.storage[categories.place >= 0] = CATEGORICAL
        if (self.categories.wide_place >= 0).any():
            raise ValueError("pages hold bytes: no categorical feature with more than 255 bins")
        end = 0
        for page in self.pages:
            if page.first != end:
                raise ValueError(f"a page begins at row {page.first}, but row {end} comes next")
            self._check_table(page.data.table)
            end = page.end
        self.n_rows = end

    @property
    def n_features(self) -> int:
        return int(self.n_value_bins.size)

    @property
    def is_mapped(self) -> bool:
        """Whether a page lies in mapped files: it may have to be read from disk."""
        return any(_is_mapped(page.data.table.tiles) for page in self.pages)

    def _check_table(self, table: Table) -> None:
        """Raise if a page cannot be part of this table."""
        if table.bundles.coding.size or table.presorted.is_ranked.size:
            raise ValueError("pages hold bytes: neither bundles of sparse features nor ranks")
        same = (
            np.array_equal(table.n_value_bins, self.n_value_bins)
            and np.array_equal(table.bin_start, place_bins(self.n_value_bins + 1, self.usable))
            and np.array_equal(table.storage, self.storage)
        )
        if not same:
            raise ValueError("all pages need the same bins, usable features and categories")

    @lazy
    def head(self) -> BinnedData:
        """The table without its rows: what all pages share."""
        members = np.flatnonzero(self.usable)
        n, none = members.size, np.zeros(0, dtype=np.int64)
        lanes = Lanes(
            np.arange(n + 1),
            members,
            self.n_value_bins[members] + 1,
            np.zeros(n, dtype=np.uint8),
            np.zeros(n + 1, dtype=np.int64),
            *np.zeros((2, 0), dtype=np.uint8),
        )
        table = Table(
            columns=np.zeros((self.n_features, 0), dtype=np.uint8),
            tiles=np.zeros(0, dtype=np.uint64),
            tile_start=none,
            tile_words=none,
            tile_first=np.zeros(1, dtype=np.int64),
            lanes=lanes,
            crowds=np.zeros((n, 0), dtype=np.int64),
            n_value_bins=self.n_value_bins,
            bin_start=place_bins(self.n_value_bins + 1, self.usable),
            storage=self.storage,
            categories=self.categories,
            bundles=NO_BUNDLES,
            presorted=NOT_SORTED,
        )
        return BinnedData(table, self.usable)


def _is_mapped(array: np.ndarray) -> bool:
    """Whether the memory of an array, or of what it is a view of, is a mapped file."""
    owner: Any = array
    while owner is not None and not isinstance(owner, mmap.mmap):
        owner = owner.obj if isinstance(owner, memoryview) else getattr(owner, "base", None)
    return owner is not None
