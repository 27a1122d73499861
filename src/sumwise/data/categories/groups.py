"""Groups of categorical features: one feature, or a combination that counts as one."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

# Keys of combinations must not overflow int64.
_MOST_KEYS = 1 << 62
# Up to this many keys, the used ones are found by marking them, which is faster than sorting.
_FEW_KEYS = 1 << 22
_UNKNOWN = np.int64(-1)


def read_codes(column: np.ndarray, n_categories: int) -> np.ndarray:
    """Return codes as integers: ``n_categories`` for missing, -1 for unknown categories.

    ``column`` has codes as floats: NaN for missing, negative for unknown.
    """
    codes = np.where(np.isnan(column), n_categories, column).astype(np.int64)
    return np.where(codes < 0, _UNKNOWN, codes)


@dataclass(frozen=True, eq=False)
class Group:
    """Features whose categories are combined into one category.

    Missing counts as a category. A category of the group is a *key*: the codes of its features as
    the digits of one number. The *place* of a key is its rank among the keys of the training rows.

    Attributes
    ----------
    features : tuple of int
    bases : tuple of int
        The number of categories of each feature, including missing.
    keys : ndarray of int64 or None
        Keys, ascending; None for a single feature, where codes are places.
    """

    features: tuple[int, ...]
    bases: tuple[int, ...]
    keys: np.ndarray | None = None

    @classmethod
    def of_feature(cls, feature: int, n_categories: int) -> "Group":
        """Make the group of a single feature."""
        return cls((feature,), (n_categories + 1,))

    @classmethod
    def of_rows(
        cls,
        features: tuple[int, ...],
        n_categories: np.ndarray,
        codes: Mapping[int, np.ndarray],
        rows: np.ndarray,
    ) -> "Group":
        """Make the group of the combinations that occur in some rows."""
        bases = tuple(int(n_categories[f]) + 1 for f in features)
        keys = join_codes(features, bases, codes)[rows]
        return cls(features, bases, _find_distinct(keys[keys >= 0], bases))

    @property
    def n_places(self) -> int:
        return self.bases[0] if self.keys is None else int(self.keys.size)

    def find_places(self, codes: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return the places of rows (int32), -1 for keys that training rows did not have."""
        keys = join_codes(self.features, self.bases, codes)
        if self.keys is None:
            return keys.astype(np.int32)
        if self.keys.size == 0:
            return np.full(keys.size, -1, dtype=np.int32)
        if _count_keys(self.bases) <= _FEW_KEYS:
            place = np.full(_count_keys(self.bases) + 1, -1, dtype=np.int32)
            place[self.keys] = np.arange(self.keys.size)
            return place[keys]  # the last entry is for key -1
        places = np.minimum(np.searchsorted(self.keys, keys), self.keys.size - 1)
        return np.where(self.keys[places] == keys, places, -1).astype(np.int32)


def can_combine(features: tuple[int, ...], n_categories: np.ndarray) -> bool:
    """Whether the keys of all combinations fit into int64."""
    return _count_keys(tuple(int(n_categories[f]) + 1 for f in features)) < _MOST_KEYS


def join_codes(
    features: tuple[int, ...], bases: tuple[int, ...], codes: Mapping[int, np.ndarray]
) -> np.ndarray:
    """Return the keys of rows, -1 where a code is unknown."""
    keys = codes[features[0]]
    is_known = keys >= 0
    for feature, base in zip(features[1:], bases[1:], strict=True):
        keys = keys * base + codes[feature]
        is_known = is_known & (codes[feature] >= 0)
    return np.where(is_known, keys, _UNKNOWN)


def _count_keys(bases: tuple[int, ...]) -> int:
    return math.prod(bases)


def _find_distinct(keys: np.ndarray, bases: tuple[int, ...]) -> np.ndarray:
    if _count_keys(bases) > _FEW_KEYS:
        return np.unique(keys)
    is_used = np.zeros(_count_keys(bases), dtype=np.bool_)
    is_used[keys] = True
    return np.flatnonzero(is_used).astype(np.int64)
