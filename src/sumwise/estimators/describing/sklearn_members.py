"""Describing scikit-learn's linear models, trees and constants, which members often are."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from sumwise.errors import ExportError, ModelFileError
from sumwise.export.portable import (
    Affine,
    Column,
    Input,
    Link,
    Node,
    PortableModel,
    Share,
    Vote,
    describe,
)

_LOG_LINK = ("GammaRegressor", "PoissonRegressor")
_LOGISTIC = ("LogisticRegression", "LogisticRegressionCV")
_LINEAR_MODULES = ("sklearn.linear_model.", "sklearn.svm.")
_TREE_MODULES = ("sklearn.tree.", "sklearn.ensemble.")
_CONSTANT_MODULE = "sklearn.dummy"


def describe_sklearn(model: Any) -> PortableModel:
    """Return a linear model, a model of trees or a constant of scikit-learn in plain terms."""
    module = type(model).__module__
    if module == _CONSTANT_MODULE:
        return _describe_constant(model)
    if module.startswith(_TREE_MODULES):
        return _describe_trees(model)
    raw = _describe_raw(model)
    if is_classifier(model):
        return _finish(model, _find_probabilities(model, raw), (np.asarray(model.classes_),))
    return _finish(model, Link(raw, "log") if _has_log_link(model) else raw)


def describe_sklearn_decision(model: Any) -> PortableModel:
    """Return the decision values of a linear classifier of scikit-learn in plain terms."""
    return _finish(model, _describe_raw(model))


def _finish(model: Any, output: Node, classes: tuple[np.ndarray, ...] = ()) -> PortableModel:
    inputs = tuple(Input(f"x{k}") for k in range(model.n_features_in_))
    return PortableModel(type(model).__name__, inputs, output, classes)


def _describe_trees(model: Any) -> PortableModel:
    """Return a tree, a forest or boosting of scikit-learn in plain terms."""
    from sumwise.estimators.imported.sklearn_model import from_sklearn

    try:
        return describe(from_sklearn(model))
    except ModelFileError as error:
        raise ExportError(str(error)) from None


def _describe_raw(model: Any) -> Affine:
    """Return the linear functions of a model, before its link."""
    is_linear = type(model).__module__.startswith(_LINEAR_MODULES)
    slopes, intercept = getattr(model, "coef_", None), getattr(model, "intercept_", None)
    if not is_linear or slopes is None or intercept is None or hasattr(slopes, "tocsr"):
        raise ExportError(
            f"a {type(model).__name__} cannot be exported; members may be models of sumwise, and "
            "trees, forests and linear models of scikit-learn"
        )
    slopes = np.atleast_2d(np.asarray(slopes, dtype=np.float64))
    intercept = np.broadcast_to(np.asarray(intercept, dtype=np.float64), slopes.shape[:1])
    columns = tuple(Column((k,)) for k in range(slopes.shape[1]))
    return Affine((), np.zeros((len(slopes), 0)), intercept.copy(), columns, slopes)


def _has_log_link(model: Any) -> bool:
    name = type(model).__name__
    if name == "TweedieRegressor":
        return model.link == "log" or (model.link == "auto" and model.power > 0)
    return name in _LOG_LINK


def _find_probabilities(model: Any, raw: Affine) -> Node:
    """Return probabilities; for a classifier without them, 1 for the class of largest value."""
    if type(model).__name__ in _LOGISTIC:
        if raw.n_outputs == 1:
            return Link(raw, "logistic")
        one_by_one = getattr(model, "multi_class", "") == "ovr" or model.solver == "liblinear"
        return Share(Link(raw, "sigmoid")) if one_by_one else Link(raw, "softmax")
    if hasattr(model, "predict_proba"):
        raise ExportError(f"the probabilities of a {type(model).__name__} cannot be exported")
    if raw.n_outputs == 1:
        raw = Affine((raw,), np.array([[-1.0], [1.0]]), np.zeros(2))
    return Vote((raw,), np.ones(1))


def _describe_constant(model: Any) -> PortableModel:
    if getattr(model, "n_outputs_", 1) != 1:
        raise ExportError(f"a {type(model).__name__} with several targets cannot be exported")
    if not is_classifier(model):
        return _make_constant(model, np.ravel(model.constant_))
    if model.strategy in ("stratified", "uniform"):
        raise ExportError(f"a DummyClassifier with strategy={model.strategy!r} cannot be exported")
    share = model.predict_proba(np.zeros((1, 1)))[0]
    return _make_constant(model, share, (np.asarray(model.classes_),))


def _make_constant(
    model: Any, values: np.ndarray, classes: tuple[np.ndarray, ...] = ()
) -> PortableModel:
    """Return a model without inputs."""
    output = Affine((), np.zeros((values.size, 0)), np.asarray(values, dtype=np.float64))
    return PortableModel(type(model).__name__, (), output, classes)
