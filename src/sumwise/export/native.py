"""The native model file: a JSON header and plain arrays. No pickle, nothing that can run.

==================  ======================================================================
bytes               content (all numbers little-endian)
==================  ======================================================================
0 .. 7              ``SUMWISE`` and a zero byte
8 .. 11             format version, uint32
12 .. 15            zero
16 .. 23            length of the header in bytes, uint64
24 ..               header: JSON in UTF-8, keys sorted; its entry ``arrays`` lists name,
                    dtype and length of each array, in the order of the file
then                the arrays, each starting at a multiple of 8 bytes
last 32             SHA-256 of everything before
==================  ======================================================================

Meaning of the arrays: see :class:`sumwise.tree.TreeEnsemble`. A value of at most the threshold
goes left; where a node has a set of categories instead, the categories of the set go left and all
others right. A missing value (NaN) goes as ``missing_left`` says. The raw score is the base score
plus the values of the leaves, in the order of the trees. Format 1 has no sets. Forests have other
arrays (``forest.py``), from format 3 on. Nothing in the file depends on threads, verbosity or time.

Where rounds are not those of plain boosting, the header has ``stages`` and ``trees_per_round``, on
which predictions do not depend. From format 3 on it may have ``"model": "linear"``: then the arrays
are those of :class:`sumwise.tree.LinearEnsemble`, and ``n_rounds`` says how many rounds they have.

From format 4 on there may be arrays of linear models of leaves after those of the trees, see
:class:`sumwise.tree.LeafModels`: how many features the model of each node has, its constant, the
least and the most it adds, and all features and coefficients. A node with a model adds the constant
plus the features times the coefficients, in their order, or the least or the most if that is beyond
them; if it is not a finite number, the value of the node.

From format 3 on there may be further arrays after those: sizes of the groups of categorical
features that are encoded, keys of combinations, and sums of targets and of weights by category; see
:class:`sumwise.data.categories.encoder.CategoryEncoder`.
"""

from typing import Any

import numpy as np

from sumwise.data.categories.bins import MAX_CATEGORIES
from sumwise.errors import ModelFileError
from sumwise.export.container import (
    check_n_features,
    open_file,
    pack_file,
    read_arrays,
    read_n_features,
)
from sumwise.export.files import Source, Target, name_source, read_bytes, write_bytes
from sumwise.export.forest import FOREST_FORMAT, check_forest, dump_forest, read_forest
from sumwise.losses.links import LINKS
from sumwise.tree import Ensemble, LeafModels, LinearEnsemble, TreeEnsemble
from sumwise.tree.ensemble import STAGES
from sumwise.tree.forest import Forest

FORMAT_VERSION = 4
_ARRAYS = {
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
    "set_node": "<i4",
    "set_size": "<i4",
    "set_categories": "<i4",
}
# What a model that encodes categories by statistics has besides.
_ENCODING_ARRAYS = {
    "group_size": "<i8",
    "group_keys": "<i8",
    "category_sums": "<f8",
    "category_counts": "<f8",
}
# What a model with linear leaves has besides.
_MODEL_ARRAYS = {
    "model_size": "<i4",
    "model_constant": "<f8",
    "model_low": "<f8",
    "model_high": "<f8",
    "model_feature": "<i4",
    "model_coefficient": "<f8",
}
_LINEAR_ARRAYS = {"coefficient": "<f8", "intercept": "<f8", "base_score": "<f8"}
# The format that files have is the lowest that can hold them: older versions read all they can.
TREE_FORMAT, LINEAR_FORMAT, _ENCODING_FORMAT, _MODELS_FORMAT = 2, 3, 3, 4
# What rounds are, where the header does not say otherwise: it does only for other boosters.
_PLAIN_ROUNDS: dict[str, Any] = {"stages": "sum", "trees_per_round": 1}
# Arrays that files of older formats do not have, and the format that brought them.
_SINCE = {"set_node": 2, "set_size": 2, "set_categories": 2}


def write_model(target: Target, ensemble: Ensemble | Forest, about: dict[str, Any]) -> None:
    """Write an ensemble and its description; an old file stays until the new is whole."""
    write_bytes(target, dump_model(ensemble, about))


def dump_model(ensemble: Ensemble | Forest, about: dict[str, Any]) -> bytes:
    """Return the bytes of a model file.

    ``about`` is ready for JSON, but for its entry ``"arrays"``: the arrays of an encoding.
    """
    try:
        _check_model(ensemble)
        data = _pack_model(ensemble, about)
        check_n_features(ensemble.n_features, len(data))
    except ModelFileError as error:
        raise ModelFileError(f"not saved, because it could not be loaded again: {error}") from None
    return data


def _pack_model(ensemble: Ensemble | Forest, about: dict[str, Any]) -> bytes:
    if isinstance(ensemble, Forest):
        return dump_forest(ensemble, about)
    is_linear = isinstance(ensemble, LinearEnsemble)
    types, version = (_LINEAR_ARRAYS, LINEAR_FORMAT) if is_linear else (_ARRAYS, TREE_FORMAT)
    arrays = {k: getattr(ensemble, k).astype(kind) for k, kind in types.items()}
    models = getattr(ensemble, "models", None)
    if models is not None:
        version = _MODELS_FORMAT
        of_models = {k: getattr(models, k.removeprefix("model_")) for k in _MODEL_ARRAYS}
        arrays |= {k: array.astype(_MODEL_ARRAYS[k]) for k, array in of_models.items()}
    if "arrays" in about:
        own, version = about["arrays"], max(version, _ENCODING_FORMAT)
        arrays |= {k: own[k].astype(kind) for k, kind in _ENCODING_ARRAYS.items()}
    header = {
        "about": {k: v for k, v in about.items() if k != "arrays"},
        "link": ensemble.link,
        "n_features": ensemble.n_features,
        **_describe_rounds(ensemble),
    }
    return pack_file(version, header, arrays)


def _describe_rounds(ensemble: Ensemble) -> dict[str, Any]:
    if isinstance(ensemble, LinearEnsemble):
        return {"model": "linear", "n_rounds": ensemble.n_rounds}
    found = {name: getattr(ensemble, name) for name in _PLAIN_ROUNDS}
    return {name: value for name, value in found.items() if value != _PLAIN_ROUNDS[name]}


def read_model(source: Source) -> tuple[Ensemble | Forest, dict[str, Any]]:
    """Read a model file; raise ModelFileError for anything that is not a sound one."""
    with name_source(source):
        return parse_model(read_bytes(source))


def parse_model(data: bytes | bytearray | memoryview) -> tuple[Ensemble | Forest, dict[str, Any]]:
    """Return what :func:`dump_model` was given."""
    file = open_file(data, FORMAT_VERSION)
    header, about = file.header, file.header["about"]
    if file.version >= FOREST_FORMAT and header.get("model") == "forest":
        return read_forest(file), about
    is_linear = file.version >= LINEAR_FORMAT and header.get("model") == "linear"
    types = _LINEAR_ARRAYS if is_linear else _ARRAYS
    names = [entry["name"] for entry in header["arrays"]]
    if file.version >= _MODELS_FORMAT and not is_linear and "model_size" in names:
        types = types | _MODEL_ARRAYS
    if file.version >= _ENCODING_FORMAT and any(name in names for name in _ENCODING_ARRAYS):
        types = types | _ENCODING_ARRAYS
    expected = {k: t for k, t in types.items() if _SINCE.get(k, 1) <= file.version}
    arrays = read_arrays(file, expected)
    n_features = read_n_features(file)
    link = header.get("link")
    if not isinstance(link, str) or link not in LINKS:
        raise ModelFileError(f"unknown link {link!r}")
    own = {name: arrays.pop(name) for name in _ENCODING_ARRAYS if name in arrays}
    make = _make_linear if is_linear else _make_trees
    ensemble = make(header, arrays, link, n_features)
    _check_model(ensemble)
    return ensemble, about | ({"arrays": own} if own else {})


def _make_linear(
    header: dict[str, Any], arrays: dict[str, np.ndarray], link: str, n_features: int
) -> LinearEnsemble:
    n_rounds, base_score = header.get("n_rounds"), arrays["base_score"]
    if type(n_rounds) is not int or n_rounds < 1:
        raise ModelFileError("the number of rounds is not a positive integer")
    shape = n_rounds, base_score.size, n_features
    sound = arrays["coefficient"].size == n_rounds * base_score.size * n_features
    sound = sound and arrays["intercept"].size == n_rounds * base_score.size
    if not sound:
        raise ModelFileError("the arrays do not fit together")
    return LinearEnsemble(
        coefficient=arrays["coefficient"].reshape(shape),
        intercept=arrays["intercept"].reshape(shape[:2]),
        base_score=base_score,
        link=link,
    )


def _make_trees(
    header: dict[str, Any], arrays: dict[str, np.ndarray], link: str, n_features: int
) -> TreeEnsemble:
    about_rounds = {name: header.get(name, usual) for name, usual in _PLAIN_ROUNDS.items()}
    if about_rounds["stages"] not in STAGES:
        raise ModelFileError(f"unknown stages {about_rounds['stages']!r}")
    trees_per_round = about_rounds["trees_per_round"]
    if type(trees_per_round) is not int or trees_per_round < 1:
        raise ModelFileError("the number of trees a round is not a positive integer")
    of_models = {
        name.removeprefix("model_"): arrays.pop(name) for name in _MODEL_ARRAYS if name in arrays
    }
    models = LeafModels(**of_models) if of_models else None
    parts: dict[str, Any] = {**arrays, **about_rounds, "models": models}
    return TreeEnsemble(**parts, link=link, n_features=n_features)


def _check_model(model: Ensemble | Forest) -> None:
    """Refuse a model that could not be used; the same before it is written and after reading."""
    if isinstance(model, Forest):
        check_forest(model)
    elif isinstance(model, LinearEnsemble):
        _check_linear(model)
    else:
        _check_trees(model)


def _check_linear(e: LinearEnsemble) -> None:
    if not _fits_link(e.n_outputs, e.link):
        raise ModelFileError("the arrays do not fit together")
    if not all(np.isfinite(array).all() for array in (e.coefficient, e.intercept, e.base_score)):
        raise ModelFileError("a coefficient, intercept or base score is not a number")


def _check_leaf_models(e: TreeEnsemble, models: LeafModels) -> None:
    """Refuse models that are not those of leaves, or whose features are not there."""
    size, feature = models.size, models.feature
    by_node = size, models.constant, models.low, models.high
    sound = all(array.size == e.feature.size for array in by_node)
    sound = sound and bool(np.all(models.low <= models.high))
    sound = sound and bool(np.all(size >= 0)) and bool(np.all(e.feature[size > 0] < 0))
    sound = sound and int(size.sum(dtype=np.int64)) == feature.size == models.coefficient.size
    sound = sound and bool(np.all((feature >= 0) & (feature < e.n_features)))
    if not sound:
        raise ModelFileError("the linear models do not fit the leaves")
    if not (np.isfinite(models.constant).all() and np.isfinite(models.coefficient).all()):
        raise ModelFileError("a number of a linear model is not finite")


def _check_trees(e: TreeEnsemble) -> None:
    """Refuse arrays that prediction could not walk safely."""
    n_nodes = e.feature.size
    by_node = (e.threshold, e.missing_left, e.left, e.value, e.gain, e.n_rows, e.weight)
    sound = all(array.size == n_nodes for array in by_node)
    sound = sound and e.output.size == e.start.size and e.n_outputs >= 1 and e.n_trees >= 1
    sound = sound and e.n_trees % (e.n_outputs * e.trees_per_round) == 0
    sound = sound and _fits_link(e.n_outputs, e.link)
    # The trees of a round come in the order of the outputs.
    sound = sound and np.array_equal(e.output, np.arange(e.n_trees) % e.n_outputs)
    if not sound:
        raise ModelFileError("the arrays do not fit together")
    ends = np.append(e.start[1:], n_nodes)
    if e.start[0] != 0 or np.any(ends <= e.start) or np.any(e.start >= n_nodes):
        raise ModelFileError("the trees do not follow one another")
    node = np.arange(n_nodes)
    end = np.repeat(ends, ends - e.start)
    is_split = e.feature >= 0
    # Children come after their parent and in the same tree, so every walk ends.
    left = e.left.astype(np.int64)
    inside = (left > node) & (left + 1 < end) & (e.feature < e.n_features)
    if not np.all(np.where(is_split, inside, (e.feature == -1) & (left == -1))):
        raise ModelFileError("a node points outside its tree or to a feature that is not there")
    if np.isnan(e.threshold).any() or not (
        np.isfinite(e.value).all() and np.isfinite(e.base_score).all()
    ):
        raise ModelFileError("a threshold, value or base score is not a number")
    _check_sets(e)
    if e.models is not None:
        _check_leaf_models(e, e.models)


def _fits_link(n_outputs: int, link: str) -> bool:
    if link == "softmax":
        return n_outputs > 2
    return n_outputs == 1 if link in ("logistic", "half_logistic") else n_outputs >= 1


def _check_sets(e: TreeEnsemble) -> None:
    """Refuse sets of categories that are not those of splits, or not in order."""
    node, size, categories = e.set_node, e.set_size, e.set_categories
    sound = node.size == size.size and bool(np.all(size >= 0))
    sound = sound and int(size.sum(dtype=np.int64)) == categories.size
    sound = sound and bool(np.all(np.diff(node.astype(np.int64), prepend=-1) > 0))
    sound = sound and bool(np.all(node < e.feature.size)) and bool(np.all(e.feature[node] >= 0))
    if sound and categories.size:
        starts = np.repeat(np.arange(size.size), size)
        is_new = np.diff(starts, prepend=-1) != 0
        rises = np.diff(categories.astype(np.int64), prepend=-1) > 0
        sound = bool(np.all((is_new | rises) & (categories >= 0)))
        features, places = np.unique(e.feature[node[starts]], return_inverse=True)
        highest = np.zeros(features.size, dtype=np.int64)
        np.maximum.at(highest, places, categories)
        sound = sound and int(highest.sum()) < MAX_CATEGORIES  # prediction has tables of this size
    if not sound:
        raise ModelFileError("the sets of categories do not fit the trees")
