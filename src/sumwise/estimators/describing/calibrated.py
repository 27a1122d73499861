"""Describing scikit-learn's CalibratedClassifierCV, which votes with ``calibrate=`` use."""

from typing import Any

import numpy as np

from sumwise.errors import ExportError
from sumwise.estimators.describing.members import describe_members
from sumwise.export.joining import average_nodes
from sumwise.export.portable import Affine, Curve, Link, Node, PortableModel, Share

_DECISION, _PROBABILITY = "decision_function", "predict_proba"


def describe_calibrated(model: Any) -> PortableModel:
    """Return the mean of calibrated classifiers in plain terms."""
    parts = model.calibrated_classifiers_
    estimators = [part.estimator for part in parts]
    labels = [f"classifier {k}" for k in range(len(parts))]
    methods = [_DECISION if hasattr(each, _DECISION) else _PROBABILITY for each in estimators]
    members = describe_members(model, labels, estimators, methods)
    nodes = []
    for part, node, method in zip(parts, members.nodes, methods, strict=True):
        is_pair = method == _PROBABILITY and node.n_outputs == 2
        nodes.append(_calibrate(part, _take_second(node) if is_pair else node, method))
    output = average_nodes(nodes, [1.0 / len(nodes)] * len(nodes))
    return PortableModel(type(model).__name__, members.inputs, output, (model.classes_,))


def _take_second(node: Node) -> Node:
    return Affine((node,), np.array([[0.0, 1.0]]), np.zeros(1))


def _calibrate(part: Any, scores: Node, method: str) -> Node:
    """Return the probabilities of all classes from the scores of a classifier."""
    n_classes, places = part.classes.size, np.searchsorted(part.classes, part.estimator.classes_)
    is_pair = scores.n_outputs == 1
    if part.method == "temperature":
        if method == _PROBABILITY:
            raise ExportError("temperature scaling of probabilities cannot be exported")
        # The scores of two classes are -f and f.
        beta = float(part.calibrators[0].beta_) * (2.0 if is_pair else 1.0)
        scaled = Affine((scores,), beta * np.eye(scores.n_outputs), np.zeros(scores.n_outputs))
        return Link(scaled, "logistic" if is_pair else "softmax")
    one_by_one = _calibrate_each(part, scores)
    if is_pair:
        return Affine((one_by_one,), np.array([[-1.0], [1.0]]), np.array([1.0, 0.0]))
    slopes = np.zeros((n_classes, places.size))
    slopes[places, np.arange(places.size)] = 1.0
    return Share(Affine((one_by_one,), slopes, np.zeros(n_classes)))


def _calibrate_each(part: Any, scores: Node) -> Node:
    """Return the calibrated probability of each score."""
    if part.method == "isotonic":
        x = [np.asarray(each.X_thresholds_, dtype=np.float64) for each in part.calibrators]
        y = [np.asarray(each.y_thresholds_, dtype=np.float64) for each in part.calibrators]
        return Curve(scores, tuple(x), tuple(y))
    a = np.array([each.a_ for each in part.calibrators])
    b = np.array([each.b_ for each in part.calibrators])
    return Link(Affine((scores,), np.diag(-a), -b), "sigmoid")
