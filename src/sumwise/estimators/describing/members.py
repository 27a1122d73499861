"""Describing ensembles of members of any kind, for export.

Members read X themselves. ``describe_members`` describes each, joins their inputs, and returns what
a method of each member gives as a node of the ensemble's graph.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.frozen import FrozenEstimator

from sumwise.errors import ExportError
from sumwise.estimators.describing.sklearn_members import (
    describe_sklearn,
    describe_sklearn_decision,
)
from sumwise.export.joining import join_inputs, rewire
from sumwise.export.portable import Affine, Input, Node, PortableModel, Vote

_PROBABILITY, _DECISION = "predict_proba", "decision_function"


class DescribedMembers(NamedTuple):
    """The inputs of an ensemble, and the outputs of its members as nodes."""

    inputs: tuple[Input, ...]
    nodes: list[Node]


def describe_estimator(model: Any) -> PortableModel:
    """Return a fitted model of sumwise, or a linear model of scikit-learn, in plain terms."""
    return _describe_last(model, "_describe", describe_sklearn)


def describe_method(model: Any, method: str) -> PortableModel:
    """Return what a method of a model gives; labels as 1 for the class and 0 for the others."""
    if method == _DECISION:
        return _describe_last(model, "_describe_decision", describe_sklearn_decision)
    described = describe_estimator(model)
    if method == _PROBABILITY or not described.is_classifier:
        return described
    return PortableModel(
        described.estimator,
        described.inputs,
        Vote((described.output,), np.ones(1)),
        described.classes,
    )


def _describe_last(
    model: Any, own: str, of_others: Callable[[Any], PortableModel]
) -> PortableModel:
    """Describe a model by its own method; look into pipelines and frozen estimators."""
    if isinstance(model, FrozenEstimator):
        return _describe_last(model.estimator, own, of_others)
    if hasattr(model, "steps"):
        for name, step in model.steps[:-1]:
            if step is not None and not (isinstance(step, str) and step == "passthrough"):
                raise ExportError(
                    f"step {name!r} ({type(step).__name__}) of a pipeline cannot be exported: "
                    "only the model itself can, so prepare rows before it"
                )
        return _describe_last(model.steps[-1][1], own, of_others)
    if hasattr(model, own):
        described: PortableModel = getattr(model, own)()
        return described
    if hasattr(model, "calibrated_classifiers_"):
        from sumwise.estimators.describing.calibrated import describe_calibrated

        return describe_calibrated(model)
    if hasattr(model, "_describe"):
        raise ExportError("its decision values cannot be exported; use probabilities")
    return of_others(model)


def describe_members(
    ensemble: Any,
    labels: Sequence[str],
    models: Sequence[Any],
    methods: Sequence[str],
    features: Sequence[np.ndarray | None] | None = None,
) -> DescribedMembers:
    """Describe members on the inputs of their ensemble.

    Parameters
    ----------
    ensemble : estimator
        Has ``n_features_in_``.
    labels : sequence of str
        Names of the members in messages.
    models : sequence of estimators
    methods : sequence of str
        The method of each member.
    features : sequence of ndarray or None
        The features of each member, None for all.
    """
    described = [
        describe_named(label, model, method)
        for label, model, method in zip(labels, models, methods, strict=True)
    ]
    chosen = [None] * len(described) if features is None else features
    every = range(ensemble.n_features_in_)
    places = [every if own is None else own.tolist() for own in chosen]
    return join_members(ensemble, described, places)


def describe_named(label: str, model: Any, method: str) -> PortableModel:
    """Describe a member; an error names it."""
    try:
        return describe_method(model, method)
    except ExportError as error:
        raise ExportError(f"{label} ({type(model).__name__}): {error}") from None


def join_members(
    ensemble: Any, described: Sequence[PortableModel], places: Sequence[Sequence[int]]
) -> DescribedMembers:
    """Return members on the inputs of their ensemble."""
    pairs = [(each.inputs, each.output) for each in described]
    known = zip(described, places, strict=True)
    places = [own if each.inputs else () for each, own in known]  # a constant has no inputs
    inputs, sources = join_inputs(name_inputs(ensemble), pairs, places)
    nodes = []
    for (_, node), own in zip(pairs, sources, strict=True):
        nodes.append(rewire(node, [source for source in own if source is not None]))
    return DescribedMembers(inputs, nodes)


def name_inputs(ensemble: Any) -> list[str]:
    """Return the names of an ensemble's features; x0, x1, ... if they have none."""
    names = getattr(ensemble, "feature_names_in_", None)
    if names is None:
        return [f"x{k}" for k in range(ensemble.n_features_in_)]
    return [str(name) for name in names]


def place_outputs(node: Node, places: np.ndarray, n_classes: int) -> Node:
    """Return outputs as those of all classes, 0 for the classes that are not in ``places``."""
    if np.array_equal(places, np.arange(n_classes)):
        return node
    slopes = np.zeros((n_classes, places.size))
    slopes[places, np.arange(places.size)] = 1.0
    return Affine((node,), slopes, np.zeros(n_classes))


def find_class_places(model: Any, n_classes: int) -> np.ndarray:
    """Return which classes a member knows, if it has learned class indices."""
    if not is_classifier(model):
        return np.arange(n_classes)
    return np.asarray(getattr(model, "classes_", np.arange(n_classes))).astype(np.intp)
