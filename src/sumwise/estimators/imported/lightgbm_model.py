"""Models of LightGBM: boosters, scikit-learn wrappers, and text files.

LightGBM compares in double precision and adds up values as sumwise does, so raw scores have the
same bits. A split knows what is missing: NaN; or zero and NaN; or nothing, in which case NaN is
read as 0. A categorical split sends a set of categories left and all else right.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sumwise.data.categories.dictionary import Dictionary
from sumwise.errors import ModelFileError
from sumwise.estimators.imported.models import (
    Features,
    Objective,
    check_labels,
    drop_default_names,
    make_boosting,
)
from sumwise.estimators.imported.nodes import SourceNodes, arrange, scale_values, subtract_pairs
from sumwise.estimators.imported.sources import read_content, reading
from sumwise.estimators.imported.zeros import expand_zeros, move_thresholds
from sumwise.losses import Fair, Huber, Quantile, Tweedie
from sumwise.tree import LeafModels, Tree, TreeEnsemble

_OBJECTIVES = {
    "binary": Objective("logistic", "log_loss", is_class=True),
    "cross_entropy": Objective("sigmoid", "cross_entropy"),
    "fair": Objective("identity", "fair"),
    "gamma": Objective("log", "gamma"),
    "huber": Objective("identity", "huber"),
    "lambdarank": Objective("identity"),
    "mape": Objective("identity", "mape"),
    "multiclass": Objective("softmax", "log_loss", is_class=True),
    "multiclassova": Objective("sigmoid", is_class=True),
    "poisson": Objective("log", "poisson"),
    "quantile": Objective("identity", "quantile"),
    "rank_xendcg": Objective("identity"),
    "regression": Objective("identity", "squared_error"),
    "regression_l1": Objective("identity", "absolute_error"),
    "tweedie": Objective("log", "tweedie"),
}
_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_MISSING_NONE, _MISSING_ZERO = 0, 1
_PARAMETER = re.compile(r"\[(\w+): ([^\]]*)\]")


def from_lightgbm(model: Any) -> Any:
    """Return a model of LightGBM as a model of sumwise.

    Raw scores have the same bits as in LightGBM (multiplied by its parameter ``sigmoid``, which is
    1 unless you set it).

    Parameters
    ----------
    model : Booster, LGBMModel, path, bytes or str
        A booster, a fitted wrapper such as ``LGBMClassifier``, or what ``save_model`` or
        ``model_to_string`` has written: the path of a file, or its content. LightGBM need not be
        installed to read files. After early stopping, a model has the best rounds only.

    Returns
    -------
    GradientBoostingClassifier or GradientBoostingRegressor
        If sumwise has the loss of the model.
    ImportedClassifier or ImportedRegressor
        For other objectives, such as rankings.

    Notes
    -----
    Categories of a pandas frame are known by value, also in files. Other categories are integers;
    LightGBM rounds numbers that are not, sumwise treats them as unknown.

    A linear model in a leaf that gives an infinite number is replaced by the value of the leaf.

    Examples
    --------
    >>> import lightgbm
    >>> import sumwise
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> theirs = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1).fit(X, y)
    >>> ours = sumwise.from_lightgbm(theirs)
    >>> bool((ours.decision_function(X) == theirs.predict(X, raw_score=True)).all())
    True
    """
    with reading(model, "LightGBM"):
        labels = None
        if hasattr(model, "booster_"):
            labels, model = getattr(model, "classes_", None), model.booster_
        if hasattr(model, "model_to_string"):
            model = model.model_to_string().encode()
        content = read_content(model)
        text = content.decode()
        if not text.startswith("tree"):
            raise ModelFileError("the file does not begin with 'tree', as models of LightGBM do")
        return _Parser(text, len(content), labels).make()


class _Sections(NamedTuple):
    """The parts of a text file."""

    header: dict[str, str]
    trees: list[dict[str, str]]
    parameters: dict[str, str]
    categories: list[list[Any]]  # of the columns of a pandas frame that are categories


def _split_text(text: str) -> _Sections:
    body, end, rest = text.partition("\nend of trees")
    if not end:
        raise ModelFileError("the file is truncated: it has no end of trees")
    header, *trees = re.split(r"^Tree=\d+$", body, flags=re.MULTILINE)
    parameters = dict(_PARAMETER.findall(rest))
    line = re.search(r"^pandas_categorical:(.*)$", rest, flags=re.MULTILINE)
    categories = json.loads(line[1]) if line else None
    return _Sections(
        _read_entries(header), [_read_entries(tree) for tree in trees], parameters, categories or []
    )


def _read_entries(block: str) -> dict[str, str]:
    return {name: value for name, _, value in (line.partition("=") for line in block.splitlines())}


def _read_numbers(entries: Mapping[str, str], name: str, kind: Any, size: int) -> np.ndarray:
    numbers = np.array(entries.get(name, "").split(), dtype=kind)
    if numbers.size != size:
        raise ModelFileError(f"{name} has {numbers.size} numbers in place of {size}")
    return numbers


class _Codes(NamedTuple):
    """The codes of a feature's categories in LightGBM, ascending, and in our dictionary."""

    theirs: np.ndarray
    ours: np.ndarray

    def translate(self, codes: np.ndarray) -> np.ndarray:
        """Return our codes, ascending."""
        places = np.searchsorted(self.theirs, codes)
        if np.any(self.theirs[np.minimum(places, self.theirs.size - 1)] != codes):
            raise ModelFileError("a set of categories has one that the feature does not have")
        return np.sort(self.ours[places])


class _Parser:
    """Reads the parts of one model."""

    def __init__(self, text: str, size: int, labels: Any) -> None:
        self._sections = _split_text(text)
        self._size = size
        self._labels = labels
        header = self._sections.header
        self._n_features = int(header["max_feature_idx"]) + 1
        self._n_outputs = int(header.get("num_tree_per_iteration", header["num_class"]))
        self._averages = "average_output" in header
        self._objective, self._factor = self._find_objective(header.get("objective", ""))
        self._is_pair = self._objective.link == "softmax" and self._n_outputs == 2

    def make(self) -> Any:
        """Return the estimator."""
        header, blocks = self._sections.header, self._sections.trees
        features = Features(self._n_features, header["feature_names"].split())
        features.check(self._size)
        if not blocks or self._n_outputs < 1 or len(blocks) % self._n_outputs:
            raise ModelFileError("the model has no trees, or not the same number for each output")
        codes, dictionaries = self._read_categories()
        factor = self._factor
        if self._averages:
            factor *= self._n_outputs / len(blocks)
        trees = [scale_values(_read_tree(block, codes), factor) for block in blocks]
        names = drop_default_names(features.names or [], "Column_{}")
        features = features._replace(names=names, dictionaries=dictionaries)
        params = self._find_parameters() | ({"booster": "forest"} if self._averages else {})
        if any(tree.models is not None for tree in trees):
            params["leaves"] = "linear"
        classes = self._find_classes()
        return make_boosting(self._join(trees), features, self._objective, classes, **params)

    def _join(self, trees: list[Tree]) -> TreeEnsemble:
        n_outputs, link, per_round = self._n_outputs, self._objective.link, 1
        if self._is_pair:
            trees, n_outputs, link, per_round = subtract_pairs(trees), 1, "logistic", 2
        stages = "mean" if self._averages else "sum"
        base = np.zeros(n_outputs)
        return TreeEnsemble.from_trees(trees, base, link, self._n_features, per_round, stages)

    # --- objective ---

    def _find_objective(self, text: str) -> tuple[Objective, float]:
        """Return what scores mean, and a factor on them."""
        name, *options = text.split() or [""]
        if name in ("", "custom", "none"):
            return Objective("identity"), 1.0
        if name not in _OBJECTIVES or "sqrt" in options:
            raise ModelFileError(f"the objective {text!r} cannot be imported")
        found = _OBJECTIVES[name]
        given = dict(option.split(":", 1) for option in options if ":" in option)
        is_sigmoid = name in ("binary", "multiclassova")
        factor = float(given.get("sigmoid", 1.0)) if is_sigmoid else 1.0
        loss = self._find_loss(name, given) if found.loss == name else found.loss
        return found._replace(loss=loss), factor

    def _find_loss(self, name: str, options: Mapping[str, str]) -> Any:
        """Return the loss with its parameter; the plain name if the file does not say it."""
        known = self._sections.parameters
        if name == "quantile":
            return Quantile(float(options.get("alpha", known.get("alpha", 0.5))))
        if name == "huber" and "alpha" in known:
            return Huber(delta=float(known["alpha"]))
        if name == "fair" and "fair_c" in known:
            return Fair(float(known["fair_c"]))
        power = float(known.get("tweedie_variance_power", 1.5))
        if name == "tweedie":
            return Tweedie(power) if 1.0 < power < 2.0 else None
        return name

    def _find_parameters(self) -> dict[str, Any]:
        """Return parameters of our gradient boosting that have the same meaning."""
        known, found = self._sections.parameters, {}
        for name, key in (
            ("learning_rate", "learning_rate"),
            ("l1", "lambda_l1"),
            ("l2", "lambda_l2"),
            ("min_child_weight", "min_sum_hessian_in_leaf"),
        ):
            if key in known:
                found[name] = float(known[key])
        for name, key in (
            ("max_leaves", "num_leaves"),
            ("max_depth", "max_depth"),
            ("min_samples_leaf", "min_data_in_leaf"),
        ):
            if key in known and int(known[key]) > 0:
                found[name] = int(known[key])
        return found

    def _find_classes(self) -> np.ndarray | None:
        if not self._objective.is_class:
            return None
        n_classes = max(2, self._n_outputs)
        return check_labels(
            np.arange(n_classes) if self._labels is None else self._labels, n_classes
        )

    # --- categories ---

    def _read_categories(self) -> "tuple[dict[int, _Codes], dict[int, Dictionary]]":
        """Return the codes and the dictionaries of categorical features."""
        known = self._find_known_codes()
        named = self._sections.categories
        if not named:
            plain = {f: _Codes(theirs, np.arange(theirs.size)) for f, theirs in known.items()}
            return plain, {f: Dictionary(theirs) for f, theirs in known.items()}
        if len(named) != len(known):
            raise ModelFileError(
                f"the model was trained on a frame with {len(named)} columns of categories, and "
                f"{len(known)} of its features are categorical: nobody can tell which is which"
            )
        codes, dictionaries = {}, {}
        for feature, values in zip(sorted(known), named, strict=True):
            dictionaries[feature] = _learn(values)
            ours = dictionaries[feature].find(_to_array(values))
            codes[feature] = _Codes(np.arange(ours.size), ours)
        return codes, dictionaries

    def _find_known_codes(self) -> dict[int, np.ndarray]:
        """Return the codes of each categorical feature, ascending."""
        known: dict[int, set[int]] = {}
        infos = self._sections.header.get("feature_infos", "").split()
        for feature, info in enumerate(infos):
            if info != "none" and not info.startswith("["):
                known[feature] = {code for code in map(int, info.split(":")) if code >= 0}
        for block in self._sections.trees:
            for feature, codes in _list_sets(block):
                known.setdefault(feature, set()).update(codes.tolist())
        return {f: np.array(sorted(codes), dtype=np.int64) for f, codes in known.items()}


def _learn(values: Sequence[Any]) -> Dictionary:
    array = _to_array(values)
    dictionary = Dictionary.from_values(array)
    if len(dictionary) != len(values):
        raise ModelFileError("a category occurs twice")
    return dictionary


def _to_array(values: Sequence[Any]) -> np.ndarray:
    if all(isinstance(value, str) for value in values):
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    if not all(isinstance(value, (bool, int, float)) for value in values):
        raise ModelFileError("categories are neither strings nor numbers")
    is_float = any(isinstance(value, float) for value in values)
    return np.array(values, dtype=np.float64 if is_float else np.int64)


# --- trees ---


def _list_sets(block: Mapping[str, str]) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the feature of each categorical split, and the codes that go left."""
    if int(block.get("num_cat", 0)):
        features = block["split_feature"].split()
        for node, codes in _read_sets(block).items():
            yield int(features[node]), codes


def _read_sets(block: Mapping[str, str]) -> dict[int, np.ndarray]:
    """Return the codes that go left, by node."""
    if int(block.get("num_cat", 0)) == 0:
        return {}
    n_splits = int(block["num_leaves"]) - 1
    kinds = _read_numbers(block, "decision_type", np.int64, n_splits)
    ends = np.array(block["cat_boundaries"].split(), dtype=np.int64)
    words = np.array(block["cat_threshold"].split(), dtype=np.int64)
    if ends.size < 2 or ends[0] != 0 or np.any(np.diff(ends) < 0) or ends[-1] > words.size:
        raise ModelFileError("the sets of categories do not fit the trees")
    if words.min(initial=0) < 0 or words.max(initial=0) >= 1 << 32:
        raise ModelFileError("a set of categories is not made of words of 32 bits")
    bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")
    numbers = _read_numbers(block, "threshold", np.float64, n_splits)
    sets = {}
    for node in np.flatnonzero(kinds & _CATEGORICAL).tolist():
        number = int(numbers[node])
        if not 0 <= number < ends.size - 1:
            raise ModelFileError("the sets of categories do not fit the trees")
        sets[node] = np.flatnonzero(bits[32 * ends[number] : 32 * ends[number + 1]])
    return sets


def _read_tree(block: Mapping[str, str], codes: Mapping[int, _Codes]) -> Tree:
    """Return a tree. Its splits are the first nodes, its leaves follow."""
    n_leaves = int(block["num_leaves"])
    if not 1 <= n_leaves <= len(block["leaf_value"]):
        raise ModelFileError(f"a tree has {n_leaves} leaves")
    n_splits, none = n_leaves - 1, np.zeros(n_leaves)

    def read(name: str, kind: Any = np.float64) -> np.ndarray:
        return _read_numbers(block, name, kind, n_splits)

    def join(inner: str, leaf: str) -> np.ndarray:
        at_leaves = _read_numbers(block, leaf, np.float64, n_leaves) if block.get(leaf) else none
        at_splits = read(inner) if block.get(inner) else none[1:]
        return np.concatenate([at_splits, at_leaves])

    kind, threshold = read("decision_type", np.int64), read("threshold")
    missing, is_category = kind >> 2 & 3, kind & _CATEGORICAL != 0
    default_left = kind & _DEFAULT_LEFT != 0
    missing_left = np.where(missing == _MISSING_NONE, threshold >= 0, default_left)
    feature = read("split_feature", np.int64)
    sets = {
        node: codes[int(feature[node])].translate(own) for node, own in _read_sets(block).items()
    }
    children = [_read_children(block, name, n_splits) for name in ("left_child", "right_child")]
    pad = np.full(n_leaves, -1)
    nodes = SourceNodes(
        left=np.append(children[0], pad),
        right=np.append(children[1], pad),
        feature=np.append(feature, pad),
        threshold=np.append(np.where(is_category, 0.0, move_thresholds(threshold)), none),
        missing_left=np.append(missing_left & ~is_category, none > 0),
        value=_read_values(block, n_leaves)[:, None],
        gain=np.append(read("split_gain") if block.get("split_gain") else none[1:], none),
        weight=join("internal_weight", "leaf_weight"),
        n_rows=join("internal_count", "leaf_count"),
        sets=sets,
        models=_read_models(block, n_leaves),
    )
    by_zero = np.append((missing == _MISSING_ZERO) & ~is_category, none > 0)
    return arrange(expand_zeros(nodes, by_zero))


def _read_children(block: Mapping[str, str], name: str, n_splits: int) -> np.ndarray:
    """Return children as nodes: leaves, which the file has as negative numbers, follow splits."""
    child = _read_numbers(block, name, np.int64, n_splits)
    return np.where(child < 0, n_splits + ~child, child)


def _read_values(block: Mapping[str, str], n_leaves: int) -> np.ndarray:
    value = _read_numbers(block, "leaf_value", np.float64, n_leaves)
    if int(block.get("is_linear", 0)):  # a leaf without features has its constant
        n_terms = _read_numbers(block, "num_features", np.int64, n_leaves)
        constant = _read_numbers(block, "leaf_const", np.float64, n_leaves)
        value = np.where(n_terms == 0, constant, value)
    return np.append(np.zeros(n_leaves - 1), value)


def _read_models(block: Mapping[str, str], n_leaves: int) -> LeafModels | None:
    """Return the linear models of the leaves."""
    if not int(block.get("is_linear", 0)):
        return None
    n_terms = _read_numbers(block, "num_features", np.int32, n_leaves)
    n_all = int(n_terms.sum())
    if n_all == 0:
        return None
    constant = _read_numbers(block, "leaf_const", np.float64, n_leaves)
    inner = np.zeros(n_leaves - 1)
    has_model = np.append(inner, n_terms) > 0
    return LeafModels(
        size=np.append(inner, n_terms).astype(np.int32),
        constant=np.where(has_model, np.append(inner, constant), 0.0),
        low=np.where(has_model, -np.inf, 0.0),
        high=np.where(has_model, np.inf, 0.0),
        feature=_read_numbers(block, "leaf_features", np.int32, n_all),
        coefficient=_read_numbers(block, "leaf_coeff", np.float64, n_all),
    )
