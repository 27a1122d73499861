"""Models of scikit-learn: single trees, forests, gradient boosting, AdaBoost and bagging of trees.

scikit-learn's trees round X to single precision and compare it with thresholds in double precision.
Its histogram-based gradient boosting compares in double precision.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.ensemble._forest import ForestClassifier, ForestRegressor
from sklearn.tree import BaseDecisionTree
from sklearn.utils.validation import check_is_fitted

from sumwise.data.categories.dictionary import Dictionary
from sumwise.errors import ModelFileError
from sumwise.estimators.imported.models import Features, Objective, make_boosting, make_imported
from sumwise.estimators.imported.nodes import SourceNodes, arrange, split_columns
from sumwise.estimators.imported.rounding import last_double_up_to
from sumwise.losses import Huber, Quantile
from sumwise.tree import Tree, TreeEnsemble
from sumwise.tree.vector_trees import VectorTrees

_REGRESSION = {
    "squared_error": Objective("identity", "squared_error"),
    "absolute_error": Objective("identity", "absolute_error"),
    "poisson": Objective("log", "poisson"),
    "gamma": Objective("log", "gamma"),
}
_CLASSES = {
    "log_loss": Objective("logistic", "log_loss", is_class=True),
    "exponential": Objective("half_logistic", "exponential", is_class=True),
}


def from_sklearn(model: Any) -> Any:
    """Return a fitted model of trees of scikit-learn as a model of sumwise.

    Predictions are the same: every row of X reaches the same leaves. scikit-learn adds up values in
    another order in places, so that sums may differ in the last digits.

    Parameters
    ----------
    model : estimator
        A fitted ``DecisionTree*``, ``ExtraTree*``, ``RandomForest*``, ``ExtraTrees*``,
        ``GradientBoosting*``, ``HistGradientBoosting*``, ``AdaBoostClassifier`` of trees, or
        ``Bagging*`` of trees.

    Returns
    -------
    GradientBoostingClassifier or GradientBoostingRegressor
        For gradient boosting. It can also be continued: ``fit(X, y, init_model=...)``.
    ImportedClassifier or ImportedRegressor
        For all others.

    Examples
    --------
    >>> import sumwise
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> theirs = HistGradientBoostingRegressor(max_iter=20).fit(X, y)
    >>> ours = sumwise.from_sklearn(theirs)
    >>> type(ours).__name__
    'GradientBoostingRegressor'
    >>> bool((ours.predict(X) == theirs.predict(X)).all())
    True
    """
    for kinds, convert in _KINDS:
        if isinstance(model, kinds):
            check_is_fitted(model)
            return convert(model)
    raise ModelFileError(
        f"a {type(model).__name__} cannot be imported: from_sklearn takes trees, forests, gradient "
        "boosting, AdaBoostClassifier and bagging of trees"
    )


# --- trees with thresholds for single precision ---


def _read_tree(tree: Any, value: np.ndarray, features: np.ndarray | None = None) -> Tree:
    """Return a ``Tree`` of scikit-learn with other values, and features numbered anew."""
    left = tree.children_left
    feature = tree.feature if features is None else features[tree.feature]
    missing_left = getattr(tree, "missing_go_to_left", None)
    nodes = SourceNodes(
        left=left,
        right=tree.children_right,
        feature=feature,
        threshold=last_double_up_to(tree.threshold),
        missing_left=np.zeros(left.size) if missing_left is None else np.asarray(missing_left),
        value=value,
        gain=_find_gains(tree),
        weight=tree.weighted_n_node_samples,
        n_rows=tree.n_node_samples,
    )
    return arrange(nodes)


def _find_gains(tree: Any) -> np.ndarray:
    """Return the decrease of the impurity by each split, as a share of the tree's rows."""
    left, right = tree.children_left, tree.children_right
    sums = tree.weighted_n_node_samples * tree.impurity
    gain = np.where(left < 0, 0.0, sums - sums[left] - sums[right])
    return gain / tree.weighted_n_node_samples[0]


def _list_values(tree: Any, n_classes: Sequence[int] | None) -> np.ndarray:
    """Return the values of nodes, (n_nodes, n_outputs): means, or shares of classes."""
    if n_classes is None:
        return tree.value[:, :, 0]
    return np.concatenate([tree.value[:, k, :n] for k, n in enumerate(n_classes)], axis=1)


def _count_classes(model: Any) -> list[int] | None:
    if not is_classifier(model):
        return None
    return [int(n) for n in np.atleast_1d(model.n_classes_)]


def _average(model: Any, trees: Sequence[Tree]) -> Any:
    features = Features(model.n_features_in_, _find_names(model))
    classes = getattr(model, "classes_", None) if is_classifier(model) else None
    return make_imported(VectorTrees.from_trees(trees, model.n_features_in_), features, classes)


def _convert_tree(model: Any) -> Any:
    values = _list_values(model.tree_, _count_classes(model))
    return _average(model, [_read_tree(model.tree_, values)])


def _convert_forest(model: Any) -> Any:
    counts = _count_classes(model)
    trees = [_read_tree(own.tree_, _list_values(own.tree_, counts)) for own in model.estimators_]
    return _average(model, trees)


def _convert_bagging(model: Any) -> Any:
    _check_members(model)
    trees = []
    for member, features in zip(model.estimators_, model.estimators_features_, strict=True):
        value = _list_values(member.tree_, _count_classes(member))
        if is_classifier(model) and value.shape[1] < model.n_classes_:
            # The bag had not all classes. Members know classes by their numbers.
            full = np.zeros((value.shape[0], model.n_classes_))
            full[:, np.asarray(member.classes_, dtype=np.intp)] = value
            value = full
        trees.append(_read_tree(member.tree_, value, np.asarray(features)))
    return _average(model, trees)


def _check_members(model: Any) -> None:
    for member in model.estimators_:
        if not isinstance(member, BaseDecisionTree):
            raise ModelFileError(
                f"the {type(model).__name__} has a {type(member).__name__} as member; only trees "
                "can be imported"
            )


def _convert_adaboost(model: Any) -> Any:
    _check_members(model)
    n_classes = int(model.n_classes_)
    weights = model.estimator_weights_ / model.estimator_weights_.sum()
    trees = []
    for member, weight in zip(model.estimators_, weights, strict=False):
        votes = np.searchsorted(model.classes_, member.classes_[member.tree_.value[:, 0].argmax(1)])
        if n_classes == 2:
            value = np.where(votes == 1, 2 * weight, -2 * weight)[:, None]
        else:  # probabilities are the softmax of the scores, divided by the number of other classes
            value = np.full((votes.size, n_classes), -weight / (n_classes - 1) ** 2)
            value[np.arange(votes.size), votes] = weight / (n_classes - 1)
        trees.append(_read_tree(member.tree_, value))
    link = "logistic" if n_classes == 2 else "softmax"
    base = np.zeros(1 if n_classes == 2 else n_classes)
    if n_classes == 1:
        raise ModelFileError("the AdaBoostClassifier knows only one class")
    ensemble = TreeEnsemble.from_trees(split_columns(trees), base, link, model.n_features_in_)
    features = Features(model.n_features_in_, _find_names(model))
    return make_imported(ensemble, features, np.asarray(model.classes_))


def _refuse_median(model: Any) -> Any:
    raise ModelFileError(
        "an AdaBoostRegressor cannot be imported: it predicts the weighted median of its members, "
        "which is no sum of trees"
    )


# --- gradient boosting ---


def _convert_gradient_boosting(model: Any) -> Any:
    rate, base = model.learning_rate, _find_start(model)
    trees = [
        _read_tree(member.tree_, rate * member.tree_.value[:, :, 0])
        for members in model.estimators_
        for member in members
    ]
    objective = _find_objective(model, base.size, "alpha")
    return _finish_boosting(model, trees, base, objective, Features(model.n_features_in_))


def _find_start(model: Any) -> np.ndarray:
    """Return the scores before the first tree, which must not depend on X."""
    init = model.init_
    is_constant = isinstance(init, (DummyClassifier, DummyRegressor))
    if isinstance(init, DummyClassifier):
        is_constant = init.strategy in ("prior", "most_frequent", "constant")
    if not (is_constant or (isinstance(init, str) and init == "zero")):
        raise ModelFileError(
            f"the model begins with the predictions of init={init!r}, which are no constants; only "
            "models with init=None or init='zero' can be imported"
        )
    row = np.zeros((1, model.n_features_in_), dtype=np.float32)
    return np.asarray(model._raw_predict_init(row)[0], dtype=np.float64)


def _find_objective(model: Any, n_outputs: int, level: str) -> Objective:
    """Return what scores mean; ``level`` is the name of the parameter for quantiles."""
    if is_classifier(model):
        found = _CLASSES[model.loss]
        return found._replace(link="softmax") if n_outputs > 1 else found
    if model.loss == "quantile":
        return Objective("identity", Quantile(float(getattr(model, level))))
    if model.loss == "huber":
        return Objective("identity", Huber(quantile=float(model.alpha)))
    return _REGRESSION[model.loss]


def _finish_boosting(
    model: Any, trees: Sequence[Tree], base: np.ndarray, objective: Objective, features: Features
) -> Any:
    n_features = features.n_features
    ensemble = TreeEnsemble.from_trees(trees, base, objective.link, n_features)
    classes = np.asarray(model.classes_) if objective.is_class else None
    features = features._replace(names=_find_names(model))
    params = _find_parameters(model)
    return make_boosting(ensemble, features, objective, classes, **params)


def _find_parameters(model: Any) -> dict[str, Any]:
    """Return the parameters of our gradient boosting that have the same meaning."""
    found: dict[str, Any] = {"learning_rate": float(model.learning_rate)}
    if isinstance(model.max_depth, (int, np.integer)):
        found["max_depth"] = int(model.max_depth)
    if isinstance(model.min_samples_leaf, (int, np.integer)):
        found["min_samples_leaf"] = int(model.min_samples_leaf)
    if hasattr(model, "l2_regularization"):
        found |= {"l2": float(model.l2_regularization), "max_bins": int(model.max_bins)}
        found["max_leaves"] = None if model.max_leaf_nodes is None else int(model.max_leaf_nodes)
    return found


def _find_names(model: Any) -> Sequence[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else names.tolist()


# --- histogram-based gradient boosting ---


def _convert_histogram_boosting(model: Any) -> Any:
    base = np.asarray(model._baseline_prediction, dtype=np.float64).ravel()
    order, dictionaries = _read_features(model)
    trees = [
        _read_predictor(predictor, order)
        for predictors in model._predictors
        for predictor in predictors
    ]
    objective = _find_objective(model, base.size, "quantile")
    features = Features(model.n_features_in_, dictionaries=dictionaries)
    return _finish_boosting(model, trees, base, objective, features)


def _read_features(model: Any) -> tuple[np.ndarray, dict[int, Dictionary]]:
    """Return the feature of X of each column of the trees, and the categories of features.

    Trees have categorical features first. Their codes are the places of sorted categories, as ours.
    """
    is_category = model.is_categorical_
    if is_category is None:
        return np.arange(model.n_features_in_), {}
    order = np.concatenate([np.flatnonzero(is_category), np.flatnonzero(~is_category)])
    encoder = model._preprocessor.named_transformers_["encoder"]
    dictionaries = {}
    for feature, values in zip(np.flatnonzero(is_category), encoder.categories_, strict=True):
        known = [v for v in values.tolist() if v is not None and v == v]  # not NaN
        is_text = all(isinstance(value, str) for value in known)
        labels = np.array(known, dtype=object if is_text else None)
        if labels.dtype.kind == "b":
            labels = labels.astype(np.int64)
        dictionary = Dictionary.from_values(labels)
        if dictionary.values.tolist() != known:
            raise ModelFileError(f"feature {feature} has categories that are not in order")
        dictionaries[int(feature)] = dictionary
    return order, dictionaries


def _read_predictor(predictor: Any, order: np.ndarray) -> Tree:
    nodes = predictor.nodes
    is_leaf = nodes["is_leaf"].astype(np.bool_)
    by_set = np.flatnonzero(nodes["is_categorical"].astype(np.bool_) & ~is_leaf)
    words = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][by_set]]
    bits = np.unpackbits(words.astype("<u4").view(np.uint8), axis=1, bitorder="little")
    sets = {int(n): np.flatnonzero(own) for n, own in zip(by_set, bits, strict=True)}
    return arrange(
        SourceNodes(
            left=np.where(is_leaf, -1, nodes["left"].astype(np.int64)),
            right=nodes["right"].astype(np.int64),
            feature=order[np.where(is_leaf, 0, nodes["feature_idx"])],
            threshold=nodes["num_threshold"],
            missing_left=nodes["missing_go_to_left"],
            value=nodes["value"][:, None],
            gain=nodes["gain"],
            weight=nodes["count"],
            n_rows=nodes["count"],
            sets=sets,
        )
    )


_KINDS: list[tuple[Any, Callable[[Any], Any]]] = [
    (BaseDecisionTree, _convert_tree),
    ((ForestClassifier, ForestRegressor), _convert_forest),
    ((BaggingClassifier, BaggingRegressor), _convert_bagging),
    (AdaBoostClassifier, _convert_adaboost),
    (AdaBoostRegressor, _refuse_median),
    ((GradientBoostingClassifier, GradientBoostingRegressor), _convert_gradient_boosting),
    (
        (HistGradientBoostingClassifier, HistGradientBoostingRegressor),
        _convert_histogram_boosting,
    ),
]
