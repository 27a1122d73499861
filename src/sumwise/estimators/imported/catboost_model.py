"""Models of CatBoost: fitted estimators, and files in JSON.

CatBoost rounds X to single precision, and a value above a border satisfies a split. A categorical
feature satisfies a one-hot split if its hash is that of one category. In a symmetric tree, the
number of the leaf has one bit for each split, which says whether the row satisfies it.
"""

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
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
from sumwise.estimators.imported.nodes import (
    SourceNodes,
    add_up_weights,
    arrange,
    find_variance_gains,
    split_columns,
    subtract_pairs,
)
from sumwise.estimators.imported.rounding import last_double
from sumwise.estimators.imported.sources import parse_json, read_content, reading
from sumwise.losses import Huber, Quantile, Tweedie
from sumwise.tree import Tree, TreeEnsemble

_CLASSES = Objective("logistic", "log_loss", is_class=True)
_PLAIN = Objective("identity")
_OBJECTIVES = {
    "CrossEntropy": _CLASSES,
    "Focal": Objective("logistic", is_class=True),
    "Huber": Objective("identity", "huber"),
    "LogCosh": Objective("identity", "log_cosh"),
    "Logloss": _CLASSES,
    "MAE": Objective("identity", "absolute_error"),
    "MAPE": Objective("identity", "mape"),
    "MultiClass": Objective("softmax", "log_loss", is_class=True),
    "MultiClassOneVsAll": Objective("sigmoid", is_class=True),
    "MultiCrossEntropy": Objective("sigmoid", "cross_entropy"),
    "MultiLogloss": Objective("sigmoid", "cross_entropy"),
    "MultiRMSE": Objective("identity", "squared_error"),
    "Poisson": Objective("log", "poisson"),
    "Quantile": Objective("identity", "quantile"),
    "RMSE": Objective("identity", "squared_error"),
    "Tweedie": Objective("log", "tweedie"),
    **dict.fromkeys(("Expectile", "LogLinQuantile", "Lq", "MultiQuantile", "RMSPE"), _PLAIN),
    **dict.fromkeys(("LambdaMart", "PairLogit", "PairLogitPairwise", "QueryCrossEntropy"), _PLAIN),
    **dict.fromkeys(("QueryRMSE", "QuerySoftMax", "StochasticRank", "YetiRank"), _PLAIN),
    **dict.fromkeys(("YetiRankPairwise", "PythonUserDefinedPerObject"), _PLAIN),
}
_MOST_DEPTH = 16
_HASHES = 1 << 32


def from_catboost(model: Any, pool: Any = None) -> Any:
    """Return a model of CatBoost as a model of sumwise.

    Every row of X reaches the same leaves as in CatBoost, and predictions agree to about 15 digits.

    Parameters
    ----------
    model : CatBoost, path, bytes, str or dict
        A fitted estimator, or what ``save_model(..., format="json")`` has written: the path of the
        file, its content, or the parsed JSON. CatBoost need not be installed to read files.
    pool : catboost.Pool or None, default=None
        For an estimator with categorical features: the data it was trained on. A model only has
        hashes of categories, and these data tell which category has which hash. For a file, pass
        ``pool`` to ``save_model`` instead.

    Returns
    -------
    GradientBoostingClassifier or GradientBoostingRegressor
        If sumwise has the loss of the model.
    ImportedClassifier or ImportedRegressor
        For other losses, such as rankings.

    Notes
    -----
    Categorical features must be one-hot encoded: train with ``one_hot_max_size`` of at least their
    number of categories. Statistics of the target (CTR), texts and embeddings cannot be imported.
    A feature whose categories are all integers reads integers, others read strings.

    Examples
    --------
    >>> import catboost
    >>> import sumwise
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> theirs = catboost.CatBoostClassifier(iterations=10, verbose=False)
    >>> theirs = theirs.fit(X, y)
    >>> ours = sumwise.from_catboost(theirs)
    >>> bool(abs(ours.predict_proba(X) - theirs.predict_proba(X)).max() < 1e-12)
    True
    """
    with reading(model, "CatBoost"):
        if hasattr(model, "save_model"):
            model = _export(model, pool)
        if isinstance(model, Mapping):
            return _Parser(model, len(json.dumps(model, default=str))).make()
        content = read_content(model)
        if content.lstrip()[:1] != b"{":
            raise ModelFileError(
                'the file is not JSON; save the model by model.save_model(path, format="json")'
            )
        return _Parser(parse_json(content), len(content)).make()


def _export(model: Any, pool: Any) -> bytes:
    """Return a fitted estimator as JSON."""
    if not model.is_fitted():
        raise ModelFileError("the model is not fitted")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.json")
        model.save_model(path, format="json", pool=pool)
        with open(path, "rb") as file:
            return file.read()


class _Test(NamedTuple):
    """A split: rows that satisfy it go to the second child, missing values as it says."""

    feature: int
    threshold: float = 0.0
    missing_satisfies: bool = False
    category: int | None = None  # the code that satisfies it


class _Parser:
    """Reads the parts of one model."""

    def __init__(self, data: Mapping[str, Any], size: int) -> None:
        self._data = data
        self._size = size
        info = data["features_info"]
        for kind in ("text_features", "embedding_features"):
            if info.get(kind):
                raise ModelFileError(f"the model has {kind.replace('_', ' ')}")
        self._floats = list(info.get("float_features") or ())
        self._categorical = list(info.get("categorical_features") or ())
        self._names_of_hashes = {
            int(entry["hash"]) % _HASHES: str(entry["value"])
            for entry in info.get("cat_features_hash") or ()
        }
        self._bias = np.array(data["scale_and_bias"][1], dtype=np.float64).reshape(-1)
        self._scale = float(data["scale_and_bias"][0])
        self._loss = data["model_info"]["params"]["loss_function"]

    def make(self) -> Any:
        """Return the estimator."""
        places = [int(f["flat_feature_index"]) for f in (*self._floats, *self._categorical)]
        if sorted(places) != list(range(len(places))):
            raise ModelFileError("the features are not numbered one after the other")
        features = Features(len(places), self._find_names(places))
        features.check(self._size)
        objective = self._find_objective()
        dictionaries = self._read_categories()
        blocks = self._data.get("oblivious_trees")
        is_symmetric = blocks is not None
        blocks = blocks if is_symmetric else self._data["trees"]
        if not blocks:
            raise ModelFileError("the model has no trees")
        read = self._read_symmetric if is_symmetric else self._read_tree
        trees = split_columns(_finish_tree(read(block)) for block in blocks)
        base, link, per_round = self._bias, objective.link, 1
        if objective.link == "softmax" and base.size == 2:
            trees, base, link, per_round = subtract_pairs(trees), base[1:] - base[:1], "logistic", 2
        ensemble = TreeEnsemble.from_trees(trees, base, link, features.n_features, per_round)
        classes = self._find_classes(objective)
        params = self._find_parameters() | ({"growth": "symmetric"} if is_symmetric else {})
        features = features._replace(dictionaries=dictionaries)
        return make_boosting(ensemble, features, objective, classes, **params)

    # --- features ---

    def _find_names(self, places: Sequence[int]) -> Sequence[str] | None:
        entries = (*self._floats, *self._categorical)
        names = [""] * len(places)
        for place, entry in zip(places, entries, strict=True):
            names[place] = str(entry.get("feature_name") or entry.get("feature_id") or place)
        return drop_default_names(names, "{}")

    def _read_categories(self) -> dict[int, Dictionary]:
        """Return the categories of each feature that splits ask for; others need no code."""
        self._codes: list[dict[int, int]] = []
        dictionaries = {}
        for entry in self._categorical:
            hashes = [int(value) % _HASHES for value in entry.get("values") or ()]
            unknown = [number for number in hashes if number not in self._names_of_hashes]
            if unknown:
                raise ModelFileError(
                    f"the model has {len(unknown)} categories of which only hashes are known: pass "
                    "pool, the data it was trained on, to from_catboost or, before, to save_model"
                )
            names = [self._names_of_hashes[number] for number in hashes]
            values = np.empty(len(names), dtype=object)
            values[:] = names
            if names and all(_is_integer(name) for name in names):
                values = np.array([int(name) for name in names], dtype=np.int64)
            dictionary = Dictionary.from_values(values)
            dictionaries[int(entry["flat_feature_index"])] = dictionary
            self._codes.append(dict(zip(hashes, dictionary.find(values).tolist(), strict=True)))
        return dictionaries

    # --- objective ---

    def _find_objective(self) -> Objective:
        name, options = self._loss["type"], self._loss.get("params") or {}
        if name not in _OBJECTIVES:
            raise ModelFileError(f"the loss {name!r} cannot be imported")
        found = _OBJECTIVES[name]
        if name == "Quantile":
            return found._replace(loss=Quantile(float(options.get("alpha", 0.5))))
        if name == "Huber":
            return found._replace(loss=Huber(delta=float(options["delta"])))
        if name == "Tweedie":
            power = float(options["variance_power"])
            return found._replace(loss=Tweedie(power) if 1.0 < power < 2.0 else None)
        return found

    def _find_classes(self, objective: Objective) -> np.ndarray | None:
        if not objective.is_class:
            return None
        n_classes = max(2, self._bias.size)
        known = self._data["model_info"].get("class_params") or {}
        labels = known.get("class_names") or np.arange(n_classes)
        return check_labels(labels, n_classes)

    def _find_parameters(self) -> dict[str, Any]:
        """Return parameters of our gradient boosting that have the same meaning."""
        params = self._data["model_info"]["params"]
        tree, boosting = params.get("tree_learner_options", {}), params.get("boosting_options", {})
        found: dict[str, Any] = {}
        if "learning_rate" in boosting:
            found["learning_rate"] = float(f"{float(boosting['learning_rate']):.6g}")
        if "l2_leaf_reg" in tree:
            found["l2"] = float(tree["l2_leaf_reg"])
        if "depth" in tree:
            found["max_depth"] = int(tree["depth"])
        return found

    # --- trees ---

    def _read_test(self, split: Mapping[str, Any]) -> _Test:
        kind = split["split_type"]
        if kind == "FloatFeature":
            entry = _take(self._floats, split["float_feature_index"])
            border = np.float32(split["border"])
            if not np.isfinite(border):
                raise ModelFileError("a border is not a number")
            as_true = entry.get("nan_value_treatment") == "AsTrue"
            place = int(entry["flat_feature_index"])
            return _Test(place, float(last_double(np.array([border]))[0]), as_true)
        if kind == "OneHotFeature":
            number = int(split["cat_feature_index"])
            place = int(_take(self._categorical, number)["flat_feature_index"])
            return _Test(place, category=self._codes[number][int(split["value"]) % _HASHES])
        raise ModelFileError(
            f"the model has a split of type {kind!r}: statistics of the target (CTR) cannot be "
            "imported; train with one_hot_max_size of at least the number of categories, or encode "
            "them before"
        )

    def _read_symmetric(self, block: Mapping[str, Any]) -> SourceNodes:
        """Return a symmetric tree; the last split is the root, so that leaves are in order."""
        tests = [self._read_test(split) for split in reversed(block.get("splits") or ())]
        depth = len(tests)
        if depth > _MOST_DEPTH:
            raise ModelFileError(f"a symmetric tree has {depth} levels")
        n_inner, n_nodes = (1 << depth) - 1, (2 << depth) - 1
        first = np.where(np.arange(n_nodes) < n_inner, 2 * np.arange(n_nodes) + 1, -1)
        level = np.repeat(np.arange(depth + 1), 1 << np.arange(depth + 1))
        tests.append(_Test(-1))
        values = self._scale_values(block["leaf_values"], 1 << depth)
        weights = np.zeros(1 << depth)
        if block.get("leaf_weights"):
            weights = np.array(block["leaf_weights"], dtype=np.float64)
            if weights.shape != (1 << depth,):
                raise ModelFileError("a tree has another number of leaves than of weights")
        return _make_nodes(
            first,
            [tests[k] for k in level],
            np.concatenate([np.zeros((n_inner, values.shape[1])), values]),
            np.append(np.zeros(n_inner), weights),
        )

    def _read_tree(self, block: Mapping[str, Any]) -> SourceNodes:
        """Return a tree of nested nodes."""
        first, tests, values, weights = [], [], [], []
        blocks = [block]
        for node in blocks:  # it grows while it is read
            weights.append(float(node.get("weight") or 0.0))
            if "split" in node:
                first.append(len(blocks))
                blocks += [node["left"], node["right"]]
                tests.append(self._read_test(node["split"]))
                values.append(np.zeros(self._bias.size))
            else:
                first.append(-1)
                tests.append(_Test(-1))
                values.append(self._scale_values(node["value"], 1)[0])
        return _make_nodes(np.array(first), tests, np.array(values), np.array(weights))

    def _scale_values(self, values: Any, n_leaves: int) -> np.ndarray:
        array = np.array(values, dtype=np.float64).reshape(-1)
        if array.size != n_leaves * self._bias.size:
            raise ModelFileError("a tree has another number of values than leaves and outputs")
        return self._scale * array.reshape(n_leaves, self._bias.size)


def _take(entries: Sequence[Mapping[str, Any]], number: Any) -> Mapping[str, Any]:
    if not 0 <= int(number) < len(entries):
        raise ModelFileError("a split is on a feature that is not there")
    return entries[int(number)]


def _is_integer(name: str) -> bool:
    digits = name.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 19 and str(int(name)) == name


def _make_nodes(
    first: np.ndarray, tests: Sequence[_Test], value: np.ndarray, weight: np.ndarray
) -> SourceNodes:
    """Return nodes whose children are ``first`` and, if they satisfy the test, the next one.

    A category that satisfies a test goes left in our trees, and all others right.
    """
    swap = np.array([test.category is not None for test in tests])
    second = np.where(first < 0, -1, first + 1)
    weight = add_up_weights(first, weight)
    return SourceNodes(
        left=np.where(swap, second, first),
        right=np.where(swap, first, second),
        feature=np.array([test.feature for test in tests]),
        threshold=np.array([test.threshold for test in tests]),
        missing_left=np.array(
            [test.category is None and not test.missing_satisfies for test in tests]
        ),
        value=value,
        gain=np.zeros(first.size),
        weight=weight,
        n_rows=np.zeros(first.size),
        sets={
            node: np.array([test.category])
            for node, test in enumerate(tests)
            if test.category is not None
        },
    )


def _finish_tree(nodes: SourceNodes) -> Tree:
    return find_variance_gains(arrange(nodes))
