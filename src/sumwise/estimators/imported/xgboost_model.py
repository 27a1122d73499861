"""Models of XGBoost: boosters, scikit-learn wrappers, and files in JSON or UBJSON.

XGBoost rounds X to single precision, and a value below the threshold goes left. A categorical split
sends a set of categories right and all others, also unknown ones, left; missing values go as the
node says. Here the children of such splits are exchanged, because our sets go left.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sumwise.data.categories.bins import MAX_CATEGORIES
from sumwise.data.categories.dictionary import Dictionary
from sumwise.errors import DataWarning, ModelFileError
from sumwise.estimators.imported.models import Features, Objective, check_labels, make_boosting
from sumwise.estimators.imported.nodes import SourceNodes, arrange, split_columns, subtract_pairs
from sumwise.estimators.imported.rounding import last_double_below
from sumwise.estimators.imported.sources import parse_json, read_content, reading
from sumwise.estimators.imported.ubjson import parse_ubjson
from sumwise.estimators.warn import warn_user
from sumwise.losses import Quantile, Tweedie
from sumwise.tree import LinearEnsemble, Tree, TreeEnsemble

_LOG_LOSS = Objective("logistic", "log_loss", is_class=True)
_SOFTMAX = Objective("softmax", "log_loss", is_class=True)
_LABELS = Objective("sigmoid", "cross_entropy")  # several labels: a probability of each
_OBJECTIVES = {
    "binary:logistic": _LOG_LOSS,
    "binary:logitraw": _LOG_LOSS,
    "count:poisson": Objective("log", "poisson"),
    "multi:softmax": _SOFTMAX,
    "multi:softprob": _SOFTMAX,
    "rank:map": Objective("identity"),
    "rank:ndcg": Objective("identity"),
    "rank:pairwise": Objective("identity"),
    "reg:absoluteerror": Objective("identity", "absolute_error"),
    "reg:expectileerror": Objective("identity"),
    "reg:gamma": Objective("log", "gamma"),
    "reg:linear": Objective("identity", "squared_error"),
    "reg:logistic": Objective("sigmoid", "cross_entropy"),
    "reg:pseudohubererror": Objective("identity"),
    "reg:quantileerror": Objective("identity"),
    "reg:squarederror": Objective("identity", "squared_error"),
    "reg:squaredlogerror": Objective("identity"),
    "reg:tweedie": Objective("log", "tweedie"),
    "survival:aft": Objective("log"),
    "survival:cox": Objective("log"),
}
# Without their names, categories are codes. A code beyond the largest of all sets may occur, too.
_MORE_CODES = 1024
_MOST_CODES = MAX_CATEGORIES


def from_xgboost(model: Any) -> Any:
    """Return a model of XGBoost as a model of sumwise.

    Every row of X reaches the same leaves as in XGBoost. XGBoost adds up the values of leaves in
    single precision and sumwise in double precision, so predictions agree to about seven digits.

    Parameters
    ----------
    model : Booster, XGBModel, path, bytes, str or dict
        A booster, a fitted wrapper such as ``XGBClassifier``, or what ``save_model`` or
        ``save_raw`` has written: the path of a file in JSON or UBJSON, its content, or the parsed
        JSON. XGBoost need not be installed to read files.

    Returns
    -------
    GradientBoostingClassifier or GradientBoostingRegressor
        If sumwise has the loss of the model.
    ImportedRegressor
        For other objectives, such as rankings.

    Notes
    -----
    A wrapper that stopped early, and a file that it has saved, predict with the best rounds only; a
    booster predicts with all of its rounds, unless you slice it. So does the imported model.

    Categories of a frame are known by name if XGBoost 3.1 or later has trained the model. Otherwise
    they are codes: pass these. A model of which missing values and unknown categories would go
    different ways raises an error for unknown ones (``unknown_category="error"``).

    Examples
    --------
    >>> import sumwise
    >>> import xgboost
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> theirs = xgboost.XGBClassifier(n_estimators=10).fit(X, y)
    >>> ours = sumwise.from_xgboost(theirs)
    >>> bool(abs(ours.predict_proba(X) - theirs.predict_proba(X)).max() < 1e-6)
    True
    """
    with reading(model, "XGBoost"):
        if hasattr(model, "get_booster"):
            _warn_of_missing(model)
            data, size = _read_booster(model.get_booster())
            attributes = data["learner"]["attributes"]
            labels = getattr(model, "classes_", None)
            return _Parser(data, size, labels, _find_best(attributes), model.get_booster()).make()
        if hasattr(model, "save_raw"):
            return _Parser(*_read_booster(model), booster=model).make()
        data, size = _read_file(model)
        attributes = data["learner"].get("attributes", {})
        best = _find_best(attributes) if "scikit_learn" in attributes else None
        return _Parser(data, size, n_rounds=best).make()


def _warn_of_missing(model: Any) -> None:
    missing = getattr(model, "missing", np.nan)
    if missing is not None and not np.isnan(missing):
        warn_user(
            f"the model reads {missing!r} as missing; the imported model reads NaN as missing, so "
            "replace it",
            DataWarning,
        )


def _read_booster(booster: Any) -> tuple[dict[str, Any], int]:
    content = bytes(booster.save_raw("ubj"))
    return parse_ubjson(content), len(content)


def _read_file(source: Any) -> tuple[dict[str, Any], int]:
    if isinstance(source, Mapping):
        return dict(source), len(json.dumps(source, default=str))
    content = read_content(source)
    is_json = content.lstrip()[:1] == b"{" and content.lstrip()[1:].lstrip()[:1] in (b'"', b"}")
    if not is_json and content[:1] != b"{":
        raise ModelFileError(
            "neither JSON nor UBJSON: files of older versions of XGBoost must be saved anew as "
            "JSON by the version that wrote them"
        )
    data = parse_json(content) if is_json else parse_ubjson(content)
    return data, len(content)


def _find_best(attributes: Mapping[str, Any]) -> int | None:
    """Return the rounds up to the best one, None if there was no early stopping."""
    best = attributes.get("best_iteration")
    return None if best is None else int(best) + 1


class _Splits(NamedTuple):
    """Categories of the model by feature, and how a code of the file becomes ours."""

    dictionaries: dict[int, Dictionary]
    codes: dict[int, np.ndarray]
    has_names: bool


class _Parser:
    """Reads the parts of one model."""

    def __init__(
        self,
        data: dict[str, Any],
        size: int,
        labels: Any = None,
        n_rounds: int | None = None,
        booster: Any = None,
    ) -> None:
        self._learner = data["learner"]
        self._size = size
        self._labels = labels
        self._n_rounds = n_rounds
        self._booster = booster
        params = self._learner["learner_model_param"]
        self._n_features = int(params["num_feature"])
        counts = (int(params.get("num_class", 0)), int(params.get("num_target", 1)), 1)
        self._n_outputs = max(counts)
        if self._n_outputs > size:  # each has a number in the file
            raise ModelFileError(f"a file of {size} bytes cannot have {self._n_outputs} outputs")
        self._objective = self._find_objective()
        # The softmax of two scores is the sigmoid of their difference.
        self._is_pair = self._objective is _SOFTMAX and self._n_outputs == 2

    def make(self) -> Any:
        """Return the estimator."""
        names = [str(name) for name in self._learner.get("feature_names", [])]
        features = Features(self._n_features, names or None)
        features.check(self._size)
        booster = self._learner["gradient_booster"]
        if booster["name"] == "gblinear":
            return self._finish(self._read_linear(booster["model"]), features)
        drop = booster.get("weight_drop") if booster["name"] == "dart" else None
        model = booster["gbtree"]["model"] if drop is not None else booster["model"]
        return self._make_trees(model, features, drop)

    # --- objective ---

    def _find_objective(self) -> Objective:
        own = self._learner["objective"]
        name = own["name"]
        if name not in _OBJECTIVES:
            raise ModelFileError(f"the objective {name!r} cannot be imported")
        found = _OBJECTIVES[name]
        if name == "reg:tweedie":
            power = _round(own["tweedie_regression_param"]["tweedie_variance_power"])
            return found._replace(loss=Tweedie(power) if 1.0 < power < 2.0 else None)
        if name == "reg:quantileerror" and self._n_outputs == 1:
            levels = str(own.get("quantile_loss_param", {}).get("quantile_alpha", "[0.5]"))
            level = _round(levels.strip("[]() "))
            return found._replace(loss=Quantile(level) if 0.0 < level < 1.0 else None)
        if found is _LOG_LOSS and self._n_outputs > 1:
            return _LABELS
        return found

    def _find_base(self) -> np.ndarray:
        """Return the scores before the first tree."""
        text = str(self._learner["learner_model_param"]["base_score"]).strip("[] ")
        mean = np.array([float(item) for item in text.split(",")])
        if mean.size not in (1, self._n_outputs):
            raise ModelFileError(f"there are {mean.size} base scores of {self._n_outputs} outputs")
        is_raw = self._learner["objective"]["name"] == "binary:logitraw"
        link = self._objective.link
        with np.errstate(all="ignore"):
            if link in ("logistic", "sigmoid") and not is_raw:
                mean = -np.log(1 / mean - 1)
            elif link == "log":
                mean = np.log(mean)
        return np.broadcast_to(mean, (self._n_outputs,)).copy()

    # --- trees ---

    def _make_trees(self, model: Mapping[str, Any], features: Features, drop: Any) -> Any:
        trees = model["trees"]
        groups = np.asarray(model["tree_info"], dtype=np.int64)
        if len(trees) == 0 or len(trees) != groups.size:
            raise ModelFileError("the model has no trees, or not as many as it says")
        scale = np.ones(groups.size) if drop is None else np.asarray(drop, dtype=np.float64)
        if scale.size != groups.size:
            raise ModelFileError("the model has not as many weights as trees")
        splits = self._read_categories(model.get("cats") or {}, trees)
        rounds = self._order_rounds(model, groups, trees)
        parsed = [self._read_tree(trees[k], scale[k], splits) for own in rounds for k in own]
        ensemble = self._join(parsed, len(rounds), "sum" if drop is None else "rescaled")
        params: dict[str, Any] = {"sparse_zeros": "missing"} | self._find_parameters()
        if drop is not None:
            params["booster"] = "dart"
        if splits.has_names and _splits_unknown_from_missing(trees):
            params["unknown_category"] = "error"
        return self._finish(ensemble, features._replace(dictionaries=splits.dictionaries), params)

    def _order_rounds(
        self, model: Mapping[str, Any], groups: np.ndarray, trees: Sequence[Any]
    ) -> list[list[int]]:
        """Return the trees of each round, those of the outputs in turn."""
        has_vectors = int(trees[0]["tree_param"].get("size_leaf_vector", 1)) > 1
        n_groups = 1 if has_vectors else self._n_outputs
        if n_groups > groups.size:
            raise ModelFileError("the model has fewer trees than outputs")
        parallel = int(model["gbtree_model_param"].get("num_parallel_tree", 1)) or 1
        ends = model.get("iteration_indptr")
        if ends is None:
            ends = np.arange(0, groups.size + 1, max(parallel, 1) * n_groups)
        ends = np.asarray(ends, dtype=np.int64)
        if ends.size < 2 or ends[0] != 0 or ends[-1] != groups.size or np.any(np.diff(ends) <= 0):
            raise ModelFileError("the trees do not form rounds")
        rounds = []
        for first, last in pairwise(ends):
            of_group = [first + np.flatnonzero(groups[first:last] == k) for k in range(n_groups)]
            if {own.size for own in of_group} != {(ends[1] // n_groups)} or ends[1] % n_groups:
                raise ModelFileError("the outputs have different numbers of trees in a round")
            rounds.append(np.column_stack(of_group).ravel().tolist())
        return rounds if self._n_rounds is None else rounds[: max(1, self._n_rounds)]

    def _read_tree(self, tree: Mapping[str, Any], scale: float, splits: _Splits) -> Tree:
        left = _read_array(tree, "left_children", np.int64)
        n_nodes = left.size
        right = _read_array(tree, "right_children", np.int64, n_nodes)
        feature = _read_array(tree, "split_indices", np.int64, n_nodes)
        default_left = _read_array(tree, "default_left", np.int64, n_nodes) != 0
        condition = _read_array(tree, "split_conditions", np.float64, n_nodes)
        sets, swap = {}, np.zeros(n_nodes, dtype=np.bool_)
        for node, codes in _list_sets(tree, n_nodes):
            if left[node] >= 0:
                sets[node] = np.unique(splits.codes[int(feature[node])][codes])
                swap[node] = True
        is_leaf = left < 0
        if np.any(np.isnan(condition)) or np.any(condition[~is_leaf] == -np.inf):
            raise ModelFileError("a threshold is not a number, or no value is below it")
        with np.errstate(over="ignore"):
            threshold = last_double_below(condition.astype(np.float32))
        nodes = SourceNodes(
            left=np.where(swap, right, left),
            right=np.where(swap, left, right),
            feature=feature,
            threshold=threshold,
            missing_left=default_left ^ swap,
            value=scale * _read_values(tree, left, right, condition),
            gain=_read_array(tree, "loss_changes", np.float64, n_nodes),
            weight=_read_array(tree, "sum_hessian", np.float64, n_nodes),
            n_rows=np.zeros(n_nodes),
            sets=sets,
        )
        return arrange(nodes)

    def _join(self, trees: list[Tree], n_rounds: int, stages: str) -> TreeEnsemble:
        base, n_outputs = self._find_base(), self._n_outputs
        if any(tree.value.shape[1] != trees[0].value.shape[1] for tree in trees):
            raise ModelFileError("the trees have different numbers of values")
        if trees[0].value.shape[1] > 1:
            trees = split_columns(trees)
        if self._is_pair:
            trees = subtract_pairs(trees)
            base, n_outputs = base[1:] - base[:1], 1
        per_round = len(trees) // (n_rounds * n_outputs)
        link = "logistic" if self._is_pair else self._objective.link
        return TreeEnsemble.from_trees(trees, base, link, self._n_features, per_round, stages)

    def _read_linear(self, model: Mapping[str, Any]) -> LinearEnsemble:
        weights = np.asarray(model["weights"], dtype=np.float64)
        if weights.size != (self._n_features + 1) * self._n_outputs:
            raise ModelFileError("the linear model has another number of weights")
        weights = weights.reshape(self._n_features + 1, self._n_outputs).T
        # XGBoost adds the base score of the first output to all.
        base = np.repeat(self._find_base()[:1], self._n_outputs)
        if self._is_pair:
            weights, base = weights[1:] - weights[:1], np.zeros(1)
        return LinearEnsemble(
            coefficient=np.ascontiguousarray(weights[None, :, :-1]),
            intercept=np.ascontiguousarray(weights[None, :, -1]),
            base_score=base,
            link="logistic" if self._is_pair else self._objective.link,
        )

    # --- features and classes ---

    def _read_categories(self, cats: Mapping[str, Any], trees: Sequence[Any]) -> _Splits:
        """Return the categories of features, by name if the file has their names."""
        encoded = cats.get("enc") or []
        dictionaries, codes = {}, {}
        if len(encoded):
            for feature, entry in enumerate(encoded):
                values = _read_names(entry)
                if values.size:
                    dictionaries[feature] = Dictionary.from_values(values)
                    codes[feature] = dictionaries[feature].find(values)
            return _Splits(dictionaries, codes, True)
        highest = _find_highest_codes(trees)
        if sum(highest.values()) + _MORE_CODES * len(highest) >= _MOST_CODES:
            raise ModelFileError("the splits have more categories than a model can have")
        for feature, code in highest.items():
            n_codes = code + 1 + _MORE_CODES
            codes[feature] = np.arange(n_codes)
            dictionaries[feature] = Dictionary(np.arange(n_codes))
        return _Splits(dictionaries, codes, False)

    def _find_parameters(self) -> dict[str, Any]:
        """Return parameters of our gradient boosting, as far as a booster knows them."""
        if self._booster is None:
            return {}
        config = json.loads(self._booster.save_config())["learner"]["gradient_booster"]
        config = config.get("gbtree", config).get("tree_train_param", {})
        found = {}
        for name, key in (("learning_rate", "eta"), ("l1", "alpha"), ("l2", "lambda")):
            if key in config:
                found[name] = _round(config[key])
        if int(config.get("max_depth", 0)) > 0:
            found["max_depth"] = int(config["max_depth"])
        return found

    def _finish(self, model: Any, features: Features, params: Mapping[str, Any] = {}) -> Any:
        classes = None
        if self._objective.is_class:
            n_classes = max(2, self._n_outputs)
            labels = np.arange(n_classes) if self._labels is None else self._labels
            classes = check_labels(labels, n_classes)
        return make_boosting(model, features, self._objective, classes, **params)


def _round(text: str) -> float:
    """Return a parameter, which XGBoost has rounded to single precision, as users know it."""
    return float(f"{float(text):.6g}")


def _read_array(tree: Mapping[str, Any], name: str, kind: Any, size: int | None = None) -> Any:
    array = np.asarray(tree[name], dtype=kind)
    if array.ndim != 1 or size not in (None, array.size):
        raise ModelFileError(f"{name} has not one number for each node")
    return array


def _read_values(
    tree: Mapping[str, Any], left: np.ndarray, right: np.ndarray, condition: np.ndarray
) -> np.ndarray:
    """Return the values of leaves, (n_nodes, n_columns)."""
    n_columns = int(tree["tree_param"].get("size_leaf_vector", 1))
    if n_columns <= 1:
        return np.where(left < 0, condition, 0.0)[:, None]
    if "leaf_weights" not in tree:  # before XGBoost 3.1, all nodes have weights
        weights = _read_array(tree, "base_weights", np.float64, left.size * n_columns)
        return weights.reshape(left.size, n_columns)
    weights = _read_array(tree, "leaf_weights", np.float64).reshape(-1, n_columns)
    return weights[np.where(left < 0, right, 0)]


def _list_sets(tree: Mapping[str, Any], n_nodes: int) -> list[tuple[int, np.ndarray]]:
    """Return the nodes that split by categories, and the codes that go right."""
    if len(tree.get("categories_nodes", ())) == 0:
        return []
    nodes = _read_array(tree, "categories_nodes", np.int64)
    codes = _read_array(tree, "categories", np.int64)
    first = _read_array(tree, "categories_segments", np.int64, nodes.size)
    sizes = _read_array(tree, "categories_sizes", np.int64, nodes.size)
    sound = nodes.min() >= 0 and nodes.max() < n_nodes and np.unique(nodes).size == nodes.size
    sound = sound and bool(np.all((first >= 0) & (sizes >= 0) & (first + sizes <= codes.size)))
    if not sound or (codes.size and codes.min() < 0):
        raise ModelFileError("the sets of categories do not fit the trees")
    return [(int(n), codes[a : a + s]) for n, a, s in zip(nodes, first, sizes, strict=True)]


def _find_highest_codes(trees: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    """Return the highest code of each feature that is split by categories."""
    highest: dict[int, int] = {}
    for tree in trees:
        feature = _read_array(tree, "split_indices", np.int64)
        for node, codes in _list_sets(tree, feature.size):
            own = int(feature[node])
            highest[own] = max(highest.get(own, 0), int(codes.max(initial=0)))
    return highest


def _splits_unknown_from_missing(trees: Sequence[Mapping[str, Any]]) -> bool:
    """Whether unknown categories, which go left, and missing values part somewhere."""
    for tree in trees:
        default_left = _read_array(tree, "default_left", np.int64)
        if any(not default_left[node] for node, _ in _list_sets(tree, default_left.size)):
            return True
    return False


def _read_names(entry: Mapping[str, Any]) -> np.ndarray:
    """Return the categories of a feature in the order of their codes; none for numbers."""
    values = np.asarray(entry["values"])
    if "offsets" not in entry:
        return values.astype(np.float64 if values.dtype.kind == "f" else np.int64)
    ends = np.asarray(entry["offsets"], dtype=np.int64)
    text = values.astype(np.uint8).tobytes()
    if ends.size < 2:
        return np.empty(0, dtype=object)
    if ends[0] != 0 or np.any(np.diff(ends) < 0) or ends[-1] > len(text):
        raise ModelFileError("the names of categories are not in order")
    names = np.empty(ends.size - 1, dtype=object)
    names[:] = [text[a:b].decode() for a, b in pairwise(ends)]
    return names
