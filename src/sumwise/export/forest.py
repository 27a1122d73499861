"""Forests in the native model file.

The header has ``"model": "forest"``, ``n_features`` and ``n_columns``. See
:class:`sumwise.tree.forest.Forest` for the arrays of nodes. A value belongs to the first bin of its
feature whose threshold is not below it, counted from 1; a missing value belongs to bin 0. Bins from
1 up to ``split_bin`` go left, and bin 0 as ``missing_left`` says; where a feature is categorical,
the bins of a set go left: 256 bits a split, in the order of such nodes. The prediction is the mean
over the trees of their leaves' values.

``n_thresholds`` has the number of each feature's ``thresholds``. Of the features of ``category``,
``n_categories`` tells how many categories there are, and ``n_kept`` how many of them have a bin of
their own: those of ``kept``, in ascending order. Others share the bin after these.
"""

from typing import Any

import numpy as np

from sumwise.data.binning import BinMapper
from sumwise.data.categories.bins import MAX_CATEGORIES, CategoryBins
from sumwise.data.thresholds import MAX_BINS
from sumwise.errors import ModelFileError
from sumwise.export.container import (
    OpenedFile,
    pack_file,
    read_arrays,
    read_n_features,
    read_number,
)
from sumwise.kernels.forest.layout import SET_WORDS
from sumwise.kernels.forest.walk import MAX_FEATURES
from sumwise.tree.forest import Forest

FOREST_FORMAT = 3
_NODES = {
    "start": "<i8",
    "feature": "<i4",
    "split_bin": "|u1",
    "missing_left": "|u1",
    "left": "<i4",
    "gain": "<f4",
    "weight": "<f4",
    "n_rows": "<u4",
    "value": "<f8",
    "sets": "<u8",
}
_BINS = {
    "n_thresholds": "<i4",
    "thresholds": "<f8",
    "category": "<i4",
    "n_categories": "<i4",
    "n_kept": "<i4",
    "kept": "<i4",
}
_MOST_NODES = 1 << 31


def dump_forest(forest: Forest, about: dict[str, Any]) -> bytes:
    """Return the bytes of a model file."""
    arrays = {name: getattr(forest, name).reshape(-1).astype(t) for name, t in _NODES.items()}
    mapper = forest.mapper
    features = sorted(mapper.categories)
    kept = [code[code >= 0] for code in (mapper.categories[f].code_of_bin for f in features)]
    bins = {
        "n_thresholds": [ends.size for ends in mapper.thresholds],
        "thresholds": np.concatenate(mapper.thresholds),
        "category": features,
        "n_categories": [mapper.categories[f].bin_of_code.size for f in features],
        "n_kept": [codes.size for codes in kept],
        "kept": np.concatenate([*kept, np.empty(0, dtype=np.int32)]),
    }
    arrays |= {name: np.asarray(bins[name]).astype(t) for name, t in _BINS.items()}
    header = {
        "about": about,
        "model": "forest",
        "n_columns": forest.n_columns,
        "n_features": forest.n_features,
    }
    return pack_file(FOREST_FORMAT, header, arrays)


def read_forest(file: OpenedFile) -> Forest:
    """Return the forest of a file; raise ModelFileError if it could not be walked safely."""
    arrays = read_arrays(file, {**_NODES, **_BINS})
    n_features = read_n_features(file)
    n_columns = read_number(file, "n_columns", "the number of columns")
    nodes = {name: arrays[name] for name in _NODES}
    n_nodes = nodes["feature"].size
    is_split = nodes["feature"] >= 0
    sound = n_features <= MAX_FEATURES and 0 < n_nodes < _MOST_NODES
    by_node = ("split_bin", "missing_left", "left", "gain", "weight", "n_rows")
    sound = sound and all(nodes[name].size == n_nodes for name in by_node)
    sound = sound and nodes["value"].size == int((~is_split).sum()) * n_columns
    sound = sound and nodes["sets"].size % SET_WORDS == 0
    if not sound:
        raise ModelFileError("the arrays do not fit together")
    mapper = _read_mapper(arrays, n_features, min(MAX_CATEGORIES, file.size))
    nodes["value"] = nodes["value"].reshape(-1, n_columns)
    nodes["sets"] = nodes["sets"].reshape(-1, SET_WORDS)
    forest = Forest(**nodes, mapper=mapper)
    check_forest(forest)
    return forest


def _read_mapper(arrays: dict[str, np.ndarray], n_features: int, most_categories: int) -> BinMapper:
    counts, ends = arrays["n_thresholds"].astype(np.int64), arrays["thresholds"]
    sound = counts.size == n_features and bool(np.all((counts >= 0) & (counts < MAX_BINS)))
    sound = sound and int(counts.sum()) == ends.size and not bool(np.isnan(ends).any())
    if sound:
        thresholds = np.split(ends, np.cumsum(counts)[:-1])
        sound = all(bool(np.all(own[1:] > own[:-1])) for own in thresholds)
    if not sound:
        raise ModelFileError("the thresholds are not in order")
    features, sizes, n_kept, kept = (
        arrays[name].astype(np.int64) for name in ("category", "n_categories", "n_kept", "kept")
    )
    sound = features.size == sizes.size == n_kept.size
    sound = sound and bool(np.all(np.diff(features, prepend=-1) > 0))
    sound = sound and bool(np.all(features < n_features)) and bool(np.all(counts[features] == 0))
    sound = sound and bool(np.all((sizes >= 0) & (n_kept >= 0) & (n_kept <= sizes)))
    sound = sound and int(sizes.sum()) <= most_categories and int(n_kept.sum()) == kept.size
    categories = {}
    ends_kept = np.cumsum(n_kept)
    for f, size, n, end in zip(features, sizes, n_kept, ends_kept, strict=True) if sound else ():
        own = kept[end - n : end]
        sound = sound and bool(np.all(np.diff(own, prepend=-1) > 0)) and bool(np.all(own < size))
        if sound:
            categories[int(f)] = CategoryBins.from_kept(own, int(size), one_hot=False)
            sound = not categories[int(f)].is_wide
    if not sound:
        raise ModelFileError("the categories do not fit the features")
    return BinMapper(thresholds, categories)


def check_forest(forest: Forest) -> None:
    """Refuse nodes that prediction could not walk safely."""
    start, n_nodes = forest.start, forest.feature.size
    if start.size < 2 or start[0] != 0 or start[-1] != n_nodes or np.any(np.diff(start) < 1):
        raise ModelFileError("the trees do not follow one another")
    is_split = forest.feature >= 0
    size = np.repeat(np.diff(start), np.diff(start))
    number = np.arange(n_nodes) - np.repeat(start[:-1], np.diff(start))
    left = forest.left.astype(np.int64)
    # Children come after their parent and in the same tree, so every walk ends.
    inside = (left > number) & (left + 1 < size) & (forest.feature < forest.n_features)
    if not np.all(np.where(is_split, inside, (forest.feature == -1) & (left == -1))):
        raise ModelFileError("a node points outside its tree or to a feature that is not there")
    if forest.set_nodes.size != forest.sets.shape[0]:
        raise ModelFileError("the sets of categories do not fit the trees")
    by_bin = is_split.copy()
    by_bin[forest.set_nodes] = False
    n_bins = forest.mapper.count_bins()[forest.feature[by_bin]]
    split_bin = forest.split_bin[by_bin]
    if np.any(split_bin < 1) or np.any(split_bin > n_bins) or np.any(forest.missing_left > 1):
        raise ModelFileError("a split is after a bin that is not there")
    if not np.isfinite(forest.value).all():
        raise ModelFileError("a value is not a number")
