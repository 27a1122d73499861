"""Bins of categorical features: frequent categories have their own, all others share one."""

from dataclasses import dataclass

import numpy as np

from sumwise.data.categories.set_splits import Native
from sumwise.errors import DataError
from sumwise.kernels.grow.layout import PACKED_ROWS
from sumwise.kernels.table.layout import Categories

# The most categories of all features together.
MAX_CATEGORIES = 1 << 24
# The most bins, without bin 0, of a feature that is stored in bytes; others are wide.
MAX_NARROW = 255
# The most bins, without bin 0, of a feature with histograms. Larger ones would be mostly empty.
MAX_SUMMED = 4096


@dataclass(frozen=True)
class CategoryBins:
    """The bins of one categorical feature; see ``kernels/table/layout.py``.

    Attributes
    ----------
    bin_of_code : ndarray of uint32, shape (n_categories,)
        The bin of each category.
    code_of_bin : ndarray of int32, shape (n_value_bins + 1,)
        The category of each bin; -1 for bin 0 (missing) and for the bin of all other categories.
    one_hot : bool
        Whether splits separate one category from all others.
    """

    bin_of_code: np.ndarray
    code_of_bin: np.ndarray
    one_hot: bool

    @classmethod
    def from_counts(cls, counts: np.ndarray, native: Native) -> "CategoryBins":
        """Give a bin to every category that a split may choose.

        ``counts`` has the number of training rows of each category. No node can choose a category
        with fewer rows than the smoothing, so such a category needs no bin.
        """
        one_hot = int((counts > 0).sum()) <= native.onehot_limit
        kept = np.flatnonzero(counts >= (1 if one_hot else max(1, native.smoothing)))
        return cls.from_kept(kept, counts.size, one_hot)

    @classmethod
    def from_kept(cls, kept: np.ndarray, n_categories: int, one_hot: bool) -> "CategoryBins":
        """Give bins to ``kept`` in the order of their codes, and one last bin to all others."""
        n_value_bins = kept.size + int(kept.size < n_categories)
        bin_of_code = np.full(n_categories, n_value_bins, dtype=np.uint32)
        bin_of_code[kept] = np.arange(1, kept.size + 1)
        code_of_bin = np.full(n_value_bins + 1, -1, dtype=np.int32)
        code_of_bin[1 : kept.size + 1] = kept
        return cls(bin_of_code, code_of_bin, one_hot)

    @classmethod
    def from_most_frequent(cls, counts: np.ndarray) -> "CategoryBins":
        """Give a bin to the most frequent categories, as many as one byte can number."""
        occurring = int((counts > 0).sum())
        n_kept = min(occurring, MAX_NARROW - int(occurring < counts.size or occurring > MAX_NARROW))
        kept = np.sort(np.argsort(-counts, kind="stable")[:n_kept])
        return cls.from_kept(kept, counts.size, one_hot=False)

    @property
    def n_value_bins(self) -> int:
        return int(self.code_of_bin.size - 1)

    @property
    def is_wide(self) -> bool:
        return self.n_value_bins > MAX_NARROW

    @property
    def n_summed(self) -> int:
        """The number of bins in histograms, without bin 0; 0 if there are no histograms."""
        return self.n_value_bins if self.n_value_bins <= MAX_SUMMED else 0

    @property
    def n_choices(self) -> int:
        """The number of bins that a set may contain: bin 0, and the bins of single categories."""
        return 1 + int((self.code_of_bin >= 0).sum())


def check_number(n_categories: np.ndarray) -> None:
    """Raise DataError if there are more categories than the tables for prediction can hold."""
    if n_categories.sum() > MAX_CATEGORIES:
        raise DataError(
            f"the categorical features have {n_categories.sum()} categories in total, at most "
            f"{MAX_CATEGORIES} are possible: merge rare ones, or leave identifiers out"
        )


def collect_categories(
    bins: dict[int, CategoryBins], wide: np.ndarray, n_features: int, native: Native
) -> Categories:
    """Collect the bins of all categorical features in the form that kernels read.

    ``wide`` has the bins of wide features, one row per feature.
    """
    features = sorted(bins)
    own = [bins[f] for f in features]
    place = np.full(n_features, -1, dtype=np.int64)
    place[features] = np.arange(len(features))
    is_wide = np.array([b.is_wide for b in own])
    crowd = np.zeros(len(own), dtype=np.int64)
    crowd[is_wide] = [np.bincount(column).max(initial=0) for column in wide]
    sizes = np.array([b.code_of_bin.size for b in own], dtype=np.int64)
    return Categories(
        place=place,
        wide_place=np.where(is_wide, np.cumsum(is_wide) - 1, -1),
        wide=wide,
        n_bins=sizes,
        n_choices=np.array([b.n_choices for b in own], dtype=np.int64),
        crowd=np.minimum(crowd, PACKED_ROWS + 1),
        one_hot=np.array([b.one_hot for b in own], dtype=np.uint8),
        code_start=np.cumsum(sizes) - sizes,
        codes=np.concatenate([b.code_of_bin for b in own]).astype(np.int32),
        smoothing=float(native.smoothing),
        l2=float(native.l2),
        max_categories=int(native.max_categories),
        min_rows=int(native.min_rows),
    )
