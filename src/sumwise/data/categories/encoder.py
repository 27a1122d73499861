"""CategoryEncoder: turns a matrix with categories into numbers, in training and at prediction.

The encoder stands between the codes of a ``FeatureSchema`` and the trees. Trees know its columns
(``ensemble_.n_features``), users know the features of X (``n_features_in_``); importances,
constraints and names are translated here. Estimators keep it as ``_encoder``. Model files store its
sums and counts, and statistics are computed from these.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sumwise.data.categories.groups import Group, read_codes
from sumwise.data.categories.target_statistics import CategorySums
from sumwise.data.matrix import ColumnMatrix, Matrix
from sumwise.lazy import lazy

# Kinds of encoded columns: a column of the original matrix (numbers, or categories that trees split
# by sets), a statistic, the size of a category.
ORIGINAL, STATISTIC, COUNT = "original", "statistic", "count"


class EncodedFeature(NamedTuple):
    """The origin of a column of the encoded matrix."""

    features: tuple[int, ...]  # of the original matrix
    kind: str
    group: int = -1
    statistic: int = 0


@dataclass(frozen=True, eq=False)
class CategoryEncoder:
    """Replaces categorical features by statistics, and adds statistics of combinations.

    The statistics of a feature take its position; combinations follow after all features. A
    category that was not in training has code -1: its statistic is the prior, and where features
    are split by sets of categories it is missing.

    Attributes
    ----------
    n_categories : ndarray of int64, shape (n_features,)
        The number of categories of each original feature, 0 for numeric features.
    groups : tuple of Group
        The encoded features, then the combinations.
    sums : CategorySums
        The sums that statistics at prediction come from.
    has_counts : bool
        Whether the number of rows of a category is also a column.
    """

    n_categories: np.ndarray
    groups: tuple[Group, ...]
    sums: CategorySums
    has_counts: bool

    @property
    def n_features(self) -> int:
        """The number of original features."""
        return int(self.n_categories.size)

    @lazy
    def columns(self) -> tuple[EncodedFeature, ...]:
        """The columns of the encoded matrix."""
        of_feature = {g.features[0]: k for k, g in enumerate(self.groups) if len(g.features) == 1}
        columns: list[EncodedFeature] = []
        for feature in range(self.n_features):
            if feature in of_feature:
                columns += self._describe_group(of_feature[feature])
            else:
                columns.append(EncodedFeature((feature,), ORIGINAL))
        for k, group in enumerate(self.groups):
            if len(group.features) > 1:
                columns += self._describe_group(k)
        return tuple(columns)

    def _describe_group(self, group: int) -> Iterator[EncodedFeature]:
        features = self.groups[group].features
        for statistic in range(self.sums.prior.size):
            yield EncodedFeature(features, STATISTIC, group, statistic)
        if self.has_counts:
            yield EncodedFeature(features, COUNT, group)

    @property
    def encoded_categories(self) -> np.ndarray:
        """The number of categories of each encoded column; 0 for numbers."""
        originals = self.take_originals(dict(enumerate(self.n_categories)))
        return np.array([originals.get(k, 0) for k in range(len(self.columns))], dtype=np.int64)

    def transform(self, X: Matrix) -> ColumnMatrix:
        """Return the encoded matrix, with statistics from all training rows."""
        places = _PlacesOfChunk(self, X)

        def read(column: EncodedFeature, first: int, last: int) -> np.ndarray:
            own = places.find(column.group, first, last)
            if column.kind == COUNT:
                return self.sums.count(column.group, own)
            return self.sums.greedy(column.group, column.statistic, own)

        return self._encode(X, read)

    def join(self, X: Matrix, places: np.ndarray, statistics: np.ndarray) -> ColumnMatrix:
        """Return the encoded matrix with given statistics, (n_groups, n_statistics, n_rows)."""

        def read(column: EncodedFeature, first: int, last: int) -> np.ndarray:
            if column.kind == COUNT:
                return self.sums.count(column.group, places[column.group, first:last])
            return statistics[column.group, column.statistic, first:last]

        return self._encode(X, read)

    def _encode(
        self, X: Matrix, read: Callable[[EncodedFeature, int, int], np.ndarray]
    ) -> ColumnMatrix:
        readers = [
            self._read_original(X, column.features[0])
            if column.kind == ORIGINAL
            else partial(read, column)
            for column in self.columns
        ]
        return ColumnMatrix(readers, X.shape[0], np.dtype(np.float64))

    def read_codes(self, X: Matrix, feature: int, first: int, last: int) -> np.ndarray:
        """Return the codes of a feature as integers: see :func:`groups.read_codes`."""
        return read_codes(read_column(X, feature)(first, last), int(self.n_categories[feature]))

    def _read_original(self, X: Matrix, feature: int) -> Callable[[int, int], np.ndarray]:
        read = read_column(X, feature)
        if self.n_categories[feature] == 0:
            return read

        def read_known(first: int, last: int) -> np.ndarray:
            codes = read(first, last)
            return np.where(codes < 0, np.nan, codes)  # sets treat unknown as missing

        return read_known

    def fold(self, by_column: np.ndarray) -> np.ndarray:
        """Sum numbers by original feature; combined features share them equally.

        ``by_column`` has shape (n_columns, ...).
        """
        by_feature = np.zeros((self.n_features, *by_column.shape[1:]))
        for column, amount in zip(self.columns, by_column, strict=True):
            by_feature[list(column.features)] += amount / len(column.features)
        return by_feature

    def name_columns(self, names: Sequence[str]) -> list[str]:
        """Return the names of columns, given the names of features."""
        sums, result = self.sums, []
        for column in self.columns:
            name = " x ".join(names[f] for f in column.features)
            if column.kind == COUNT:
                name = f"rows of {name}"
            elif column.kind == STATISTIC:
                name = f"mean target of {name}"
                if sums.n_values > 1:
                    name += f" (class {column.statistic // sums.n_priors})"
                if sums.n_priors > 1:
                    name += f" (prior {sums.prior[column.statistic]:g})"
            result.append(name)
        return result

    def take_originals(self, by_feature: Mapping[int, Any]) -> dict[int, Any]:
        """Translate a mapping by feature to one by column; encoded features are dropped."""
        return {
            k: by_feature[column.features[0]]
            for k, column in enumerate(self.columns)
            if column.kind == ORIGINAL and column.features[0] in by_feature
        }

    def to_json(self) -> dict[str, Any]:
        """Return the data that :meth:`restore` reads, together with :meth:`to_arrays`."""
        data = {
            "groups": [list(group.features) for group in self.groups],
            "counts": bool(self.has_counts),
            "prior": self.sums.prior.tolist(),
            "prior_weight": self.sums.prior_weight,
        }
        if self.sums.n_priors > 1:
            data["n_priors"] = self.sums.n_priors
        return data

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the sizes of groups, the keys of combinations, sums and counts."""
        keys = [group.keys for group in self.groups if group.keys is not None]
        return {
            "group_size": np.diff(self.sums.start),
            "group_keys": np.concatenate([*keys, np.empty(0, dtype=np.int64)]),
            "category_sums": self.sums.sums.ravel(),
            "category_counts": self.sums.counts,
        }

    @classmethod
    def restore(
        cls, data: dict[str, Any], arrays: dict[str, np.ndarray], n_categories: np.ndarray
    ) -> "CategoryEncoder":
        """Rebuild an encoder; raise ValueError (or KeyError, TypeError) for invalid data."""
        prior = np.array(data["prior"], dtype=np.float64)
        weight, has_counts = float(data["prior_weight"]), data["counts"]
        n_values = _count_values(prior, data.get("n_priors", 1))
        sizes, keys = arrays["group_size"], arrays["group_keys"]
        start = np.append(0, sizes.cumsum()).astype(np.int64)
        groups, place = [], 0
        if len(data["groups"]) != sizes.size or not isinstance(has_counts, bool):
            raise ValueError("groups of features do not fit their sizes")
        for features, size in zip(data["groups"], sizes.tolist(), strict=True):
            group, place = _restore_group(tuple(features), size, keys, place, n_categories)
            groups.append(group)
        sums, counts = arrays["category_sums"], arrays["category_counts"]
        sound = place == keys.size and prior.ndim == 1 and prior.size >= 1
        sound = sound and len({group.features for group in groups}) == len(groups) >= 1
        sound = sound and counts.size == start[-1] and sums.size == n_values * start[-1]
        sound = sound and all(np.isfinite(a).all() for a in (prior, sums, counts))
        if not sound or not weight > 0 or not (counts >= 0).all():
            raise ValueError("statistics of categories do not fit their groups")
        own = CategorySums(start, sums.reshape(n_values, -1), counts, prior, weight)
        return cls(n_categories, tuple(groups), own, has_counts)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the fields only, without values derived from them."""
        names = ("n_categories", "groups", "sums", "has_counts")
        return {name: getattr(self, name) for name in names}


def _count_values(prior: np.ndarray, n_priors: Any) -> int:
    """Return how many values have ``n_priors`` priors each."""
    if type(n_priors) is not int or n_priors < 1 or prior.size % n_priors:
        raise ValueError(f"{prior.size} priors are not {n_priors} for each value")
    return prior.size // n_priors


def read_column(X: Matrix, feature: int) -> Callable[[int, int], np.ndarray]:
    """Return a function of (first, last) that reads a column."""
    if isinstance(X, ColumnMatrix):
        return X.columns[feature]
    assert isinstance(X, np.ndarray)  # a sparse matrix has no categories
    return lambda first, last: X[first:last, feature]


def _restore_group(
    features: tuple[int, ...], size: int, keys: np.ndarray, place: int, n_categories: np.ndarray
) -> tuple[Group, int]:
    """Return a group, and the position after its keys."""
    in_range = all(type(f) is int and 0 <= f < n_categories.size for f in features)
    if not features or not in_range or not all(np.diff(features) > 0):
        raise ValueError(f"{features} are not the features of a group")
    if not all(n_categories[f] > 0 for f in features):
        raise ValueError(f"{features} are not all categories")
    if len(features) == 1:
        group = Group.of_feature(features[0], int(n_categories[features[0]]))
        if group.n_places != size:
            raise ValueError(f"feature {features[0]} has {size} statistics")
        return group, place
    own = keys[place : place + size]
    bases = tuple(int(n_categories[f]) + 1 for f in features)
    in_order = own.size == size and bool(np.all(np.diff(own, prepend=-1) > 0))
    if not in_order or (size and int(own[-1]) >= np.prod(bases, dtype=object)):
        raise ValueError(f"keys of {features} are not in order")
    return Group(features, bases, own), place + size


class _PlacesOfChunk:
    """Finds places of rows, and keeps those of the last chunk: several columns need them."""

    def __init__(self, encoder: CategoryEncoder, X: Matrix) -> None:
        self._encoder, self._X = encoder, X
        self._chunk: tuple[int, int] | None = None
        self._codes: dict[int, np.ndarray] = {}
        self._places: dict[int, np.ndarray] = {}

    def find(self, group: int, first: int, last: int) -> np.ndarray:
        if self._chunk != (first, last):
            self._chunk, self._codes, self._places = (first, last), {}, {}
        if group not in self._places:
            own = self._encoder.groups[group]
            self._read(own.features, first, last)
            self._places[group] = own.find_places(self._codes)
        return self._places[group]

    def _read(self, features: Sequence[int], first: int, last: int) -> None:
        for f in features:
            if f not in self._codes:
                self._codes[f] = self._encoder.read_codes(self._X, f, first, last)
