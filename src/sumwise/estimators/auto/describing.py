"""Describing automatic ensembles of trees in plain terms, for export and ``compile``."""

from typing import Any, NoReturn

import numpy as np

from sumwise.errors import ExportError
from sumwise.estimators.auto.bags import Bag
from sumwise.estimators.auto.numeric_models import NumericClassifier, NumericRegressor
from sumwise.estimators.auto.pooling import LinearPool, LogPool
from sumwise.estimators.describing.members import (
    describe_named,
    find_class_places,
    join_members,
    place_outputs,
)
from sumwise.export.portable import Affine, PortableModel


def describe_ensemble(ensemble: Any) -> PortableModel:
    """Return the weighted sum of the members; raise ExportError if one cannot be described."""
    classes = ensemble.estimators_[0].classes
    combined = ensemble._combined
    if isinstance(combined, LogPool):
        _refuse(ensemble, "it multiplies the probabilities of its members", "combination='greedy'")
    described, blocks = [], []
    method = "predict" if classes is None else "predict_proba"
    for bag, coef in zip(ensemble.estimators_, combined.coef, strict=True):
        _check_trees(ensemble, bag)
        share = float(coef) / len(bag.models)
        for model in bag.models:
            described.append(describe_named(f"member {bag.name!r}", model, method))
            blocks.append((model, share))
    every = range(ensemble.n_features_in_)
    joined = join_members(ensemble, described, [every] * len(described))
    n_outputs = 1 if classes is None else classes.size
    nodes = joined.nodes
    if classes is not None:
        nodes = [
            place_outputs(node, find_class_places(model, n_outputs), n_outputs)
            for node, (model, _) in zip(nodes, blocks, strict=True)
        ]
    slopes = np.hstack([share * np.eye(n_outputs) for _, share in blocks])
    intercept = np.zeros(n_outputs)
    if isinstance(combined, LinearPool):
        intercept += combined.intercept
    output = Affine(tuple(nodes), slopes, intercept)
    labels = () if classes is None else (np.asarray(classes),)
    return PortableModel(type(ensemble).__name__, joined.inputs, output, labels)


def _check_trees(ensemble: Any, bag: Bag) -> None:
    if isinstance(bag.models[0], (NumericClassifier, NumericRegressor)):
        _refuse(ensemble, f"member {bag.name!r} is no model of trees", "members=[...] with trees")
    if not bag.is_shared and not ensemble.schema_.is_numeric:
        reason = f"member {bag.name!r} reads codes of categories"
        _refuse(ensemble, reason, "members=[...] with boosting on native categories")


def _refuse(ensemble: Any, reason: str, hint: str) -> NoReturn:
    raise ExportError(
        f"{type(ensemble).__name__} cannot be exported or compiled: {reason}; use the one model "
        f"that distill() makes of the ensemble, or fit it with {hint}"
    )
