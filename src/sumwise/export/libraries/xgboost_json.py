"""Models as XGBoost's JSON files, for XGBoost and for all that read its models.

XGBoost computes in single precision and compares by ``x < threshold``. A threshold t becomes the
next float32 above the largest float32 that is at most t, so that every float32 number takes the
same branch.
"""

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from sumwise.errors import ExportError
from sumwise.export.files import write_bytes
from sumwise.export.libraries.trees import (
    LibraryModel,
    SingleTree,
    find_covers,
    fold_base_score,
    name_features,
    to_library_model,
)
from sumwise.export.portable import CATEGORY, Input
from sumwise.export.rounding import round_down

_NO_PARENT = 2147483647
# The version whose layout is written; later ones read it.
_VERSION = [2, 1, 0]
# Its number for the type int64 of categories.
_INTEGER = 15

# Objective and its parameters, and the base score at which its margin is 0, by link.
_REGRESSION = {"reg_loss_param": {"scale_pos_weight": "1"}}
_OBJECTIVES: dict[str, tuple[str, dict[str, Any], str]] = {
    "identity": ("reg:squarederror", _REGRESSION, "0E0"),
    "log": ("count:poisson", {"poisson_regression_param": {"max_delta_step": "0.7"}}, "1E0"),
    "sigmoid": ("reg:logistic", _REGRESSION, "5E-1"),
    "logistic": ("binary:logistic", _REGRESSION, "5E-1"),
    "half_logistic": ("binary:logistic", _REGRESSION, "5E-1"),
    "softmax": ("multi:softprob", {}, "0E0"),
}


def to_xgboost(model: Any, *, path: str | os.PathLike[str] | None = None) -> str:
    """Return a fitted model as the JSON text of an XGBoost model.

    ``xgboost.Booster().load_model`` reads it from a file, or from ``bytearray(text, "utf-8")``. It
    predicts what the model predicts: numbers, the probability of the second of two classes, or the
    probabilities of more classes. Categories are passed to it as pandas categories (XGBoost 3.1 or
    newer); in arrays, as their indices among the sorted categories of the training rows. Pass
    unknown categories as missing.

    Parameters
    ----------
    model : estimator or PortableModel
        A fitted model of trees of sumwise.
    path : str or path-like, default=None
        Where to write the text too; its name should end in ``.json``.

    Returns
    -------
    str

    Notes
    -----
    XGBoost computes in single precision. Rows of float32 numbers reach the same leaves as in
    sumwise; other numbers are rounded to float32 first, and may end on the other side of a
    threshold that is as close. Sums of leaves agree to about 1e-6 of their size. XGBoost refuses
    infinite values. The base score is added to the leaves of the first tree of each output.

    Examples
    --------
    >>> import json
    >>> from sklearn.datasets import load_iris
    >>> from sumwise import GradientBoostingClassifier
    >>> from sumwise.export import to_xgboost
    >>> X, y = load_iris(return_X_y=True)
    >>> document = json.loads(to_xgboost(GradientBoostingClassifier(n_estimators=2).fit(X, y)))
    >>> document["learner"]["objective"]["name"]
    'multi:softprob'
    """
    document = _make_document(to_library_model(model))
    text = json.dumps(document, separators=(",", ":"))
    if path is not None:
        write_bytes(path, text.encode())
    return text


def round_threshold(threshold: np.ndarray) -> np.ndarray:
    """Return float32 numbers t such that ``x < t`` is ``x <= threshold`` for every float32 x."""
    with np.errstate(over="ignore", under="ignore"):
        return np.nextafter(round_down(threshold), np.float32(np.inf))


def _make_document(model: LibraryModel) -> dict[str, Any]:
    n_outputs = model.n_outputs
    objective, base_score = _find_objective(model)
    is_multi = model.link == "softmax"
    trees = [_encode_tree(k, tree, model) for k, tree in enumerate(_scale_trees(model))]
    n_trees = len(trees)
    booster = {
        "cats": _encode_categories(model.inputs),
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(n_trees)},
        "iteration_indptr": list(range(0, n_trees + 1, n_outputs)),
        "tree_info": [k % n_outputs for k in range(n_trees)],
        "trees": trees,
    }
    names, types = name_features(model.inputs, r"[\[\]<]"), []
    if names or any(known.kind == CATEGORY for known in model.inputs):
        types = ["c" if known.kind == CATEGORY else "float" for known in model.inputs]
    learner = {
        "attributes": {},
        "feature_names": names,
        "feature_types": types,
        "gradient_booster": {"model": booster, "name": "gbtree"},
        "learner_model_param": {
            "base_score": base_score,
            "boost_from_average": "0",
            "num_class": str(n_outputs) if is_multi else "0",
            "num_feature": str(len(model.inputs)),
            "num_target": "1" if is_multi else str(n_outputs),
        },
        "objective": objective,
    }
    return {"learner": learner, "version": _VERSION}


def _encode_categories(inputs: Sequence[Input]) -> dict[str, Any]:
    """Return the categories by which XGBoost, from 3.1 on, encodes the columns of frames.

    It takes strings and integers. If a feature has other categories, frames are not encoded.
    """
    every = [value for known in inputs for value in known.categories]
    if not every or any(isinstance(value, float) or _is_long(value) for value in every):
        return {"enc": [], "feature_segments": [], "sorted_idx": []}
    counts = [len(known.categories) for known in inputs]
    return {
        "enc": [_encode_dictionary(known.categories) for known in inputs],
        "feature_segments": np.cumsum([0, *counts]).tolist(),
        "sorted_idx": [k for count in counts for k in range(count)],
    }


def _is_long(value: Any) -> bool:
    return isinstance(value, int) and not -(1 << 63) <= value < 1 << 63


def _encode_dictionary(values: Sequence[Any]) -> dict[str, Any]:
    if values and not isinstance(values[0], str):
        return {"type": _INTEGER, "values": list(values)}
    texts = [value.encode() for value in values]
    offsets = np.cumsum([0, *map(len, texts)]).tolist() if texts else []
    return {"offsets": offsets, "values": list(b"".join(texts))}


def _find_objective(model: LibraryModel) -> tuple[dict[str, Any], str]:
    if model.link not in _OBJECTIVES:
        raise ExportError(f"the link {model.link!r} is not one of XGBoost's objectives")
    name, parameters, base_score = _OBJECTIVES[model.link]
    if name == "multi:softprob":
        parameters = {"softmax_multiclass_param": {"num_class": str(model.n_outputs)}}
    return {"name": name, **parameters}, base_score


def _scale_trees(model: LibraryModel) -> list[SingleTree]:
    """Return the trees with values that are added up: shares of a mean, twice half the log odds."""
    if model.trees.trees.models is not None:
        raise ExportError("linear leaves: XGBoost's leaves are constant")
    factor = (2.0 if model.link == "half_logistic" else 1.0) / model.trees.divisor
    return [tree.scale(factor) for tree in fold_base_score(model)]


def _encode_tree(number: int, tree: SingleTree, model: LibraryModel) -> dict[str, Any]:
    """Return a tree. The categories of a split go right, all others left, also unknown ones."""
    counts = [len(known.categories) for known in model.inputs]
    tree = tree.send_missing(True, counts)
    left = np.where(tree.is_leaf, -1, tree.left)
    right = np.where(tree.is_leaf, -1, tree.left + 1)
    categories: list[int] = []
    nodes, segments, sizes = [], [], []
    threshold = tree.threshold.copy()
    for node in sorted(tree.sets):
        codes = np.setdiff1d(np.arange(counts[tree.feature[node]]), tree.sets[node])
        if codes.size == 0:  # all go left; XGBoost refuses an empty set
            threshold[node] = np.inf
            continue
        nodes.append(node)
        segments.append(len(categories))
        sizes.append(int(codes.size))
        categories += codes.tolist()
    parents = np.full(tree.n_nodes, _NO_PARENT, dtype=np.int64)
    splits = np.flatnonzero(~tree.is_leaf)
    parents[left[splits]] = parents[right[splits]] = splits
    is_set = np.isin(np.arange(tree.n_nodes), nodes)
    conditions = np.where(tree.is_leaf, _to_single(tree.value), round_threshold(threshold))
    conditions[is_set] = 0.0
    weight, _ = find_covers(tree)
    return {
        "base_weights": _list_numbers(tree.value),
        "categories": categories,
        "categories_nodes": nodes,
        "categories_segments": segments,
        "categories_sizes": sizes,
        "default_left": tree.missing_left.tolist(),
        "id": number,
        "left_children": left.tolist(),
        "loss_changes": _list_numbers(tree.gain),
        "parents": parents.tolist(),
        "right_children": right.tolist(),
        "split_conditions": _list_numbers(conditions),
        "split_indices": np.maximum(tree.feature, 0).tolist(),
        "split_type": is_set.astype(np.int64).tolist(),
        "sum_hessian": _list_numbers(weight),
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(len(model.inputs)),
            "num_nodes": str(tree.n_nodes),
            "size_leaf_vector": "1",
        },
    }


def _to_single(values: np.ndarray) -> np.ndarray:
    """Return numbers as float32; refuse those that would be infinite."""
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    if not np.isfinite(single).all():
        raise ExportError("a leaf is beyond the range of single precision, which XGBoost uses")
    return single


def _list_numbers(values: np.ndarray) -> list[float]:
    """Return numbers as float32 reads them back: nine digits determine a float32."""
    with np.errstate(over="ignore"):
        return [float(f"{value:.9g}") for value in values.astype(np.float32)]
