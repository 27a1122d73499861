"""Trees in the native model file: their arrays, and the checks that refuse unsound ones.

Trees of boosting
    See :class:`sumwise.tree.TreeEnsemble` for the arrays. In the file, ``start`` has no entry after
    the last tree, ``left`` is numbered over all trees, and ``output`` says which output a tree adds
    to. A value of at most the threshold goes left; where a node has a set of categories instead,
    the categories of the set go left and all others right. A missing value (NaN) goes as
    ``missing_left`` says. The raw score is the base score plus the values of the leaves, in the
    order of the trees. Format 1 has no sets.

    Where rounds are not those of plain boosting, the header has ``stages`` and ``trees_per_round``;
    predictions do not depend on them.

    From format 4 on, arrays of linear models may follow, see :class:`sumwise.tree.LeafModels`: the
    number of features of each node's model, its constant, its lower and upper limit, and all
    features and coefficients. A node with a model adds the constant plus the features times the
    coefficients, in their order, clipped to the limits; if that is not finite, the node's value.

Forests
    From format 3 on. The header has ``"model": "forest"`` and ``n_columns``, the number of outputs.
    See :class:`sumwise.tree.forest.BinnedForest` for the arrays. A value belongs to the first bin
    of its feature whose threshold is not below it, counted from 1; a missing value belongs to
    bin 0. Bins from 1 up to ``split_bin`` go left, and bin 0 as ``missing_left`` says. Where a
    feature is categorical, the bins of a set go left: 256 bits per split, in the order of such
    nodes. The prediction is the mean over the trees of their leaves' values.

    ``n_thresholds`` has the number of each feature's ``thresholds``. For each feature in
    ``category``, ``n_categories`` is the number of its categories and ``n_kept`` the number of
    those with a bin of their own, which ``kept`` lists in ascending order. All others share the
    next bin.

Trees with vectors of values (from format 5)
    The header has ``"model": "vectors"`` and ``n_columns``, the number of outputs. The arrays are
    those of :class:`sumwise.tree.vector_trees.VectorTrees`, in that order; ``value`` has the values
    of a node one after the other. The prediction is the mean over the trees.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sumwise.data.binning import BinMapper
from sumwise.data.categories.bins import MAX_CATEGORIES, CategoryBins
from sumwise.data.thresholds import MAX_BINS
from sumwise.errors import ModelFileError
from sumwise.export.container import ArrayGroup, OpenedFile, read_n_features, read_number
from sumwise.kernels.forest.layout import SET_WORDS
from sumwise.kernels.forest.walk import MAX_FEATURES
from sumwise.losses.links import LINKS
from sumwise.tree import LeafModels, TreeEnsemble
from sumwise.tree.ensemble import STAGES
from sumwise.tree.forest import BinnedForest
from sumwise.tree.trees import Trees
from sumwise.tree.vector_trees import VectorTrees

# A file has the lowest format that can hold it, so that older versions read as much as they can.
TREE_FORMAT, FOREST_FORMAT, _MODELS_FORMAT, VECTOR_FORMAT = 2, 3, 4, 5
_ENSEMBLE = {
    "start": "<i8",
    "output": "<i4",
    "feature": "<i4",
    "threshold": "<f8",
    "missing_left": "|u1",
    "left": "<i4",
    "value": "<f8",
    "gain": "<f8",
    "n_rows": "<i8",
    "weight": "<f8",
    "base_score": "<f8",
}
_VECTORS = {
    "start": "<i8",
    "feature": "<i4",
    "threshold": "<f8",
    "missing_left": "|u1",
    "left": "<i4",
    "value": "<f8",
    "gain": "<f8",
    "n_rows": "<i8",
    "weight": "<f8",
}
_SETS = {"set_node": "<i4", "set_size": "<i4", "set_categories": "<i4"}
_MODELS = {
    "model_size": "<i4",
    "model_constant": "<f8",
    "model_low": "<f8",
    "model_high": "<f8",
    "model_feature": "<i4",
    "model_coefficient": "<f8",
}
_FOREST = {
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
ENSEMBLE_ARRAYS = (
    ArrayGroup(_ENSEMBLE),
    ArrayGroup(_SETS, since=TREE_FORMAT),
    ArrayGroup(_MODELS, since=_MODELS_FORMAT, is_optional=True),
)
FOREST_ARRAYS = (ArrayGroup(_FOREST | _BINS, since=FOREST_FORMAT),)
VECTOR_ARRAYS = (ArrayGroup(_VECTORS | _SETS, since=VECTOR_FORMAT),)
# The header says what rounds are unless they are these.
_PLAIN_ROUNDS: dict[str, Any] = {"stages": "sum", "trees_per_round": 1}
_MOST_NODES = 1 << 31


class Content(NamedTuple):
    """What a file says of a model: its format, entries of its header, and its arrays."""

    version: int
    header: dict[str, Any]
    arrays: dict[str, np.ndarray]


def convert_arrays(arrays: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, np.ndarray]:
    """Return arrays with the types of the file, in its order."""
    return {name: np.asarray(arrays[name]).reshape(-1).astype(t) for name, t in types.items()}


# --- writing ---


def pack_trees(trees: Trees) -> Content:
    """Return what a file says of trees; raise ModelFileError if they could not be loaded again."""
    check_trees(trees)
    if isinstance(trees, BinnedForest):
        header = {"model": "forest", "n_columns": trees.n_outputs}
        arrays = convert_arrays(vars(trees), _FOREST) | _pack_mapper(trees.mapper)
        return Content(FOREST_FORMAT, header, arrays)
    if isinstance(trees, VectorTrees):
        header = {"model": "vectors", "n_columns": trees.n_outputs}
        return Content(VECTOR_FORMAT, header, convert_arrays(vars(trees), _VECTORS | _SETS))
    assert isinstance(trees, TreeEnsemble)
    rounds = {name: getattr(trees, name) for name in _PLAIN_ROUNDS}
    header = {name: value for name, value in rounds.items() if value != _PLAIN_ROUNDS[name]}
    numbered = {"start": trees.start[:-1], "output": trees.output, "left": trees.find_children()}
    content = Content(
        TREE_FORMAT,
        {**header, "link": trees.link},
        convert_arrays(vars(trees) | numbered, _ENSEMBLE | _SETS),
    )
    if trees.models is None:
        return content
    models = {f"model_{name}": array for name, array in vars(trees.models).items()}
    arrays = content.arrays | convert_arrays(models, _MODELS)
    return content._replace(version=_MODELS_FORMAT, arrays=arrays)


def _pack_mapper(mapper: BinMapper) -> dict[str, np.ndarray]:
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
    return convert_arrays(bins, _BINS)


# --- reading ---


def read_link(file: OpenedFile) -> str:
    """Return the link of the header, which must be known."""
    link = file.header.get("link")
    if not isinstance(link, str) or link not in LINKS:
        raise ModelFileError(f"unknown link {link!r}")
    return link


def read_ensemble(file: OpenedFile, arrays: dict[str, Any]) -> TreeEnsemble:
    """Return the trees of boosting in a file; raise ModelFileError if they are not sound."""
    n_features, link = read_n_features(file), read_link(file)
    rounds = {name: file.header.get(name, default) for name, default in _PLAIN_ROUNDS.items()}
    if rounds["stages"] not in STAGES:
        raise ModelFileError(f"unknown stages {rounds['stages']!r}")
    if type(rounds["trees_per_round"]) is not int or rounds["trees_per_round"] < 1:
        raise ModelFileError("the number of trees per round is not a positive integer")
    output = arrays.pop("output")
    of_models = {k.removeprefix("model_"): arrays.pop(k) for k in _MODELS if k in arrays}
    arrays["start"] = np.append(arrays["start"], arrays["feature"].size)
    trees = TreeEnsemble(
        **arrays,
        **rounds,
        link=link,
        n_features=n_features,
        models=LeafModels(**of_models) if of_models else None,
    )
    _check_sizes(trees)
    if not np.array_equal(output, trees.output):
        raise ModelFileError("the arrays do not fit together")
    left = np.where(trees.left < 0, trees.left, trees.left - trees.find_roots())
    trees = replace(trees, left=left.astype(np.int32))
    check_trees(trees)
    return trees


def read_forest(file: OpenedFile, arrays: dict[str, Any]) -> BinnedForest:
    """Return the forest in a file; raise ModelFileError if it is not sound."""
    n_features = read_n_features(file)
    n_columns = read_number(file, "n_columns", "the number of columns")
    value, sets = arrays["value"], arrays["sets"]
    n_leaves = int((arrays["feature"] < 0).sum())
    if value.size != n_leaves * n_columns or sets.size % SET_WORDS:
        raise ModelFileError("the arrays do not fit together")
    arrays["value"], arrays["sets"] = value.reshape(-1, n_columns), sets.reshape(-1, SET_WORDS)
    bins = {name: arrays.pop(name) for name in _BINS}
    mapper = _read_mapper(bins, n_features, min(MAX_CATEGORIES, file.size))
    forest = BinnedForest(**arrays, mapper=mapper)
    check_trees(forest)
    return forest


def read_vectors(file: OpenedFile, arrays: dict[str, Any]) -> VectorTrees:
    """Return the trees with vectors of values in a file; raise ModelFileError if unsound."""
    n_features = read_n_features(file)
    n_columns = read_number(file, "n_columns", "the number of columns")
    if arrays["value"].size != arrays["feature"].size * n_columns:
        raise ModelFileError("the arrays do not fit together")
    arrays["value"] = arrays["value"].reshape(-1, n_columns)
    trees = VectorTrees(**arrays, n_features=n_features)
    check_trees(trees)
    return trees


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


# --- what is refused, before writing and after reading ---


def check_trees(trees: Trees) -> None:
    """Refuse trees that prediction could not walk safely."""
    _check_sizes(trees)
    _check_nodes(trees)
    if isinstance(trees, BinnedForest):
        _check_bins(trees)
        sound = np.isfinite(trees.value).all()
    else:
        assert isinstance(trees, (TreeEnsemble, VectorTrees))
        _check_sets(trees)
        sound = np.isfinite(trees.value).all()
        if isinstance(trees, TreeEnsemble):
            if trees.models is not None:
                _check_leaf_models(trees, trees.models)
            sound = sound and np.isfinite(trees.base_score).all()
        sound = sound and not np.isnan(trees.threshold).any()
    if not sound:
        raise ModelFileError("a threshold, value or base score is not a number")


def _check_sizes(trees: Trees) -> None:
    """Refuse arrays of different lengths, and trees without nodes."""
    start, n_nodes = trees.start, trees.n_nodes
    sound = 0 < n_nodes < _MOST_NODES and trees.n_trees >= 1
    sound = sound and all(len(getattr(trees, name)) == n_nodes for name in trees.by_node)
    if isinstance(trees, TreeEnsemble):
        sound = sound and fits_link(trees.n_outputs, trees.link)
        sound = sound and trees.n_trees % (trees.n_outputs * trees.trees_per_round) == 0
    elif isinstance(trees, BinnedForest):
        sound = sound and trees.n_features <= MAX_FEATURES
    if not sound:
        raise ModelFileError("the arrays do not fit together")
    if start[0] != 0 or start[-1] != n_nodes or np.any(start[1:] <= start[:-1]):
        raise ModelFileError("the trees do not follow one another")


def _check_nodes(trees: Trees) -> None:
    """Refuse nodes that do not form trees: every walk must end, in a leaf with a value."""
    roots = trees.find_roots()
    node = np.arange(trees.n_nodes) - roots
    left = trees.left.astype(np.int64)
    # Children come after their parent and in the same tree, so every walk ends.
    n_nodes = np.repeat(np.diff(trees.start), np.diff(trees.start))
    inside = (left > node) & (left + 1 < n_nodes) & (trees.feature < trees.n_features)
    is_split = trees.feature >= 0
    if not np.all(np.where(is_split, inside, (trees.feature == -1) & (left == -1))):
        raise ModelFileError("a node points outside its tree or to a feature that is not there")
    # Kernels number leaves by the nodes before them, which needs one parent for each node: all but
    # the roots are children, and there are as many of them as children.
    children = (left + roots)[is_split]
    is_child = node == 0
    is_child[children] = is_child[children + 1] = True
    if not is_child.all() or 2 * children.size != trees.n_nodes - trees.n_trees:
        raise ModelFileError("a node is not the child of exactly one other")


def fits_link(n_outputs: int, link: str) -> bool:
    """Whether a model of so many outputs may have this link."""
    if link == "softmax":
        return n_outputs > 2
    return n_outputs == 1 if link in ("logistic", "half_logistic") else n_outputs >= 1


def _check_bins(forest: BinnedForest) -> None:
    """Refuse splits by bins and sets that the mapper does not have."""
    if forest.set_nodes.size != forest.sets.shape[0]:
        raise ModelFileError("the sets of categories do not fit the trees")
    by_bin = forest.feature >= 0
    by_bin[forest.set_nodes] = False
    n_bins = forest.mapper.count_bins()[forest.feature[by_bin]]
    split_bin = forest.split_bin[by_bin]
    if np.any(split_bin < 1) or np.any(split_bin > n_bins) or np.any(forest.missing_left > 1):
        raise ModelFileError("a split is after a bin that is not there")


def _check_leaf_models(trees: TreeEnsemble, models: LeafModels) -> None:
    """Refuse models of nodes that are not leaves, or of features that are not there."""
    size, feature = models.size, models.feature
    by_node = size, models.constant, models.low, models.high
    sound = all(array.size == trees.n_nodes for array in by_node)
    sound = sound and bool(np.all(models.low <= models.high))
    sound = sound and bool(np.all(size >= 0)) and bool(np.all(trees.feature[size > 0] < 0))
    sound = sound and int(size.sum(dtype=np.int64)) == feature.size == models.coefficient.size
    sound = sound and bool(np.all((feature >= 0) & (feature < trees.n_features)))
    if not sound:
        raise ModelFileError("the linear models do not fit the leaves")
    if not (np.isfinite(models.constant).all() and np.isfinite(models.coefficient).all()):
        raise ModelFileError("a number of a linear model is not finite")


def _check_sets(trees: TreeEnsemble | VectorTrees) -> None:
    """Refuse sets of categories that are not those of splits, or not in order."""
    node, size, categories = trees.set_node, trees.set_size, trees.set_categories
    sound = node.size == size.size and bool(np.all(size >= 0))
    sound = sound and int(size.sum(dtype=np.int64)) == categories.size
    sound = sound and bool(np.all(np.diff(node.astype(np.int64), prepend=-1) > 0))
    sound = sound and bool(np.all(node < trees.n_nodes)) and bool(np.all(trees.feature[node] >= 0))
    if sound and categories.size:
        starts = np.repeat(np.arange(size.size), size)
        is_new = np.diff(starts, prepend=-1) != 0
        rises = np.diff(categories.astype(np.int64), prepend=-1) > 0
        sound = bool(np.all((is_new | rises) & (categories >= 0)))
        features, places = np.unique(trees.feature[node[starts]], return_inverse=True)
        highest = np.zeros(features.size, dtype=np.int64)
        np.maximum.at(highest, places, categories)
        sound = sound and int(highest.sum()) < MAX_CATEGORIES  # prediction has tables of this size
    if not sound:
        raise ModelFileError("the sets of categories do not fit the trees")
