"""Models as LightGBM's text files (version 4), for LightGBM and for all that read its models."""

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
    clean_names,
    find_covers,
    fold_base_score,
    to_library_model,
)
from sumwise.export.portable import CATEGORY, Input

# Bits of decision_type.
_BY_SET, _DEFAULT_LEFT, _MISSING_IS_NAN = 1, 2, 8
_BITS = 32
# The objectives whose output is the link of the sum, for one output and for several.
_OBJECTIVES = {
    "identity": "regression",
    "log": "poisson",
    "sigmoid": "cross_entropy",
    "logistic": "binary sigmoid:1",
    "half_logistic": "binary sigmoid:2",
}
_OBJECTIVES_OF_MANY = {"softmax": "multiclass", "sigmoid": "multiclassova"}


def to_lightgbm(model: Any, *, path: str | os.PathLike[str] | None = None) -> str:
    """Return a fitted model as the text of a LightGBM model.

    ``lightgbm.Booster(model_str=...)`` loads it. It predicts what the model predicts: numbers, the
    probability of the second of two classes, or the probabilities of more classes. Categories are
    passed to it as pandas categories; in arrays, as their indices among the sorted categories of
    the training rows.

    Parameters
    ----------
    model : estimator or PortableModel
        A fitted model of trees of sumwise.
    path : str or path-like, default=None
        Where to write the text too.

    Returns
    -------
    str

    Notes
    -----
    The base score is added to the leaves of the first tree of each output. LightGBM reads numbers
    between -1e-35 and 1e-35 as 0. Linear leaves must extrapolate; LightGBM gives rows with infinite
    values infinite predictions there.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sumwise import GradientBoostingClassifier
    >>> from sumwise.export import to_lightgbm
    >>> X, y = load_iris(return_X_y=True)
    >>> text = to_lightgbm(GradientBoostingClassifier(n_estimators=2).fit(X, y))
    >>> text.splitlines()[:3]
    ['tree', 'version=v4', 'num_class=3']
    """
    plain = to_library_model(model)
    trees = [_write_tree(k, tree, plain) for k, tree in enumerate(fold_base_score(plain))]
    lines = [
        *_write_header(plain),
        f"tree_sizes={_join(len(tree.encode()) for tree in trees)}",
        "",
        *("".join(trees) + "end of trees").split("\n"),
        "",
        "feature_importances:",
        "",
        "parameters:",
        "[boosting: gbdt]",
        "end of parameters",
        "",
        f"pandas_categorical:{_list_categories(plain.inputs)}",
        "",
    ]
    text = "\n".join(lines)
    if path is not None:
        write_bytes(path, text.encode())
    return text


def _write_header(model: LibraryModel) -> list[str]:
    n_outputs = model.n_outputs
    lines = [
        "tree",
        "version=v4",
        f"num_class={n_outputs}",
        f"num_tree_per_iteration={n_outputs}",
        "label_index=0",
        f"max_feature_idx={len(model.inputs) - 1}",
    ]
    objective = _find_objective(model)
    lines += [f"objective={objective}"] if objective else []
    lines += ["average_output"] if model.averages else []
    names = clean_names(model.inputs, r'[\s\0",:\[\]{}]')
    infos = (_describe_input(model, k) for k in range(len(model.inputs)))
    return [*lines, f"feature_names={' '.join(names)}", f"feature_infos={' '.join(infos)}"]


def _find_objective(model: LibraryModel) -> str:
    """Return the objective that has the link; none for several sums as they are."""
    if model.n_outputs > 1:
        if model.link == "identity":
            return ""
        known = _OBJECTIVES_OF_MANY.get(model.link)
        if known is not None:
            more = " sigmoid:1" if model.link == "sigmoid" else ""
            return f"{known} num_class:{model.n_outputs}{more}"
    elif model.link in _OBJECTIVES:
        return _OBJECTIVES[model.link]
    several = " of several outputs" if model.n_outputs > 1 else ""
    raise ExportError(f"the link {model.link!r}{several} is not one of LightGBM's objectives")


def _describe_input(model: LibraryModel, k: int) -> str:
    """Return the categories of an input, or the range of its thresholds."""
    trees = model.trees.trees
    if model.inputs[k].kind == CATEGORY:
        return ":".join(map(str, range(len(model.inputs[k].categories)))) or "none"
    own = trees.threshold[(trees.feature == k) & np.isfinite(trees.threshold)]
    return f"[{_format(own.min())}:{_format(own.max())}]" if own.size else "none"


def _list_categories(inputs: Sequence[Input]) -> str:
    """Return the categories of pandas columns, which LightGBM's Python package encodes."""
    known = [list(each.categories) for each in inputs if each.kind == CATEGORY]
    return json.dumps(known) if known else "[]"


# --- trees ---


def _write_tree(number: int, tree: SingleTree, model: LibraryModel) -> str:
    """Return the text of a tree.

    LightGBM numbers splits and leaves apart; a leaf is named by -1 - its number. Missing and
    unknown categories always go right there.
    """
    tree = tree.send_missing(False, [len(known.categories) for known in model.inputs])
    splits, leaves = np.flatnonzero(~tree.is_leaf), np.flatnonzero(tree.is_leaf)
    name = np.empty(tree.n_nodes, dtype=np.int64)
    name[splits], name[leaves] = np.arange(splits.size), -1 - np.arange(leaves.size)
    sets = _Sets(tree)
    lines = [
        f"Tree={number}",
        f"num_leaves={leaves.size}",
        f"num_cat={len(sets.words)}",
    ]
    if splits.size:
        lines += [
            f"split_feature={_join(tree.feature[splits])}",
            f"split_gain={_join(tree.gain[splits])}",
            f"threshold={_join(sets.thresholds[splits])}",
            f"decision_type={_join(sets.decisions[splits])}",
            f"left_child={_join(name[tree.left[splits]])}",
            f"right_child={_join(name[tree.left[splits] + 1])}",
        ]
    lines += [f"leaf_value={_join(tree.value[leaves])}"]
    if splits.size:
        weight, n_rows = find_covers(tree)
        lines += [
            f"leaf_weight={_join(weight[leaves])}",
            f"leaf_count={_join(n_rows[leaves])}",
            f"internal_value={_join(tree.value[splits])}",
            f"internal_weight={_join(weight[splits])}",
            f"internal_count={_join(n_rows[splits])}",
        ]
    if sets.words:
        ends = np.cumsum([0, *(own.size for own in sets.words)])
        lines += [
            f"cat_boundaries={_join(ends)}",
            f"cat_threshold={_join(np.concatenate(sets.words))}",
        ]
    lines += _write_models(tree, leaves)
    return "\n".join([*lines, "shrinkage=1", "", "", ""])


class _Sets:
    """How the splits of a tree are said: thresholds, kinds of decisions, and sets as bits."""

    def __init__(self, tree: SingleTree) -> None:
        self.words: list[np.ndarray] = []
        self.thresholds = tree.threshold.copy()
        to_left = np.where(tree.missing_left > 0, _DEFAULT_LEFT, 0)
        self.decisions = (_MISSING_IS_NAN | to_left).astype(np.int64)
        for node, codes in tree.sets.items():
            self.thresholds[node] = len(self.words)
            self.decisions[node] = _BY_SET
            self.words.append(_pack_bits(codes))


def _pack_bits(codes: np.ndarray) -> np.ndarray:
    """Return a set as words of 32 bits, at least one."""
    words = np.zeros(int(codes.max(initial=0)) // _BITS + 1, dtype=np.uint32)
    np.bitwise_or.at(words, codes // _BITS, np.uint32(1) << (codes % _BITS).astype(np.uint32))
    return words


def _write_models(tree: SingleTree, leaves: np.ndarray) -> list[str]:
    models = tree.models
    if models is None:
        return ["is_linear=0"]
    if (
        np.isfinite(models.low[models.size > 0]).any()
        or np.isfinite(models.high[models.size > 0]).any()
    ):
        raise ExportError(
            "linear leaves with limits: LightGBM's extrapolate; train with "
            "LinearLeaves(extrapolate=True)"
        )
    ends = models.first
    constants = np.where(models.size > 0, models.constant, tree.value)
    terms = [slice(int(ends[k]), int(ends[k + 1])) for k in leaves]
    return [
        "is_linear=1",
        f"leaf_const={_join(constants[leaves])}",
        f"num_features={_join(models.size[leaves])}",
        "leaf_features=" + "".join(f"{_join(models.feature[own])} " for own in terms),
        "leaf_coeff=" + "".join(f"{_join(models.coefficient[own])} " for own in terms),
    ]


def _join(values: Any) -> str:
    return " ".join(_format(value) for value in values)


def _format(value: Any) -> str:
    """Return a number in as many digits as reading it back needs."""
    return repr(float(value)) if isinstance(value, (float, np.floating)) else str(int(value))
