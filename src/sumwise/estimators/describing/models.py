"""Describing fitted models in plain terms, for export."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from sumwise.data.categories.encoder import COUNT, ORIGINAL, CategoryEncoder, EncodedFeature
from sumwise.estimators.input.features import FeatureSchema
from sumwise.export.portable import Affine, Column, Input, Lookup, Node, TreeSum
from sumwise.tree import LinearEnsemble, Model, TreeEnsemble, Trees


class HasInputs(Protocol):
    """A fitted estimator that reads X itself; ``feature_names_in_`` is set if X had names."""

    n_features_in_: int
    schema_: FeatureSchema


def describe_inputs(model: HasInputs) -> tuple[Input, ...]:
    """Return the features of a model; those without a name are called x0, x1, ..."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"x{k}" for k in range(model.n_features_in_)]
    dictionaries, kinds = model.schema_.dictionaries, model.schema_.kinds
    return tuple(
        Input(
            str(name),
            kinds[k],
            tuple(dictionaries[k].values.tolist()) if k in dictionaries else (),
        )
        for k, name in enumerate(names)
    )


def describe_columns(n_features: int, encoder: CategoryEncoder | None) -> tuple[Column, ...]:
    """Return the columns that trees split on."""
    if encoder is None:
        return tuple(Column((feature,)) for feature in range(n_features))
    return tuple(_describe_column(encoder, column) for column in encoder.columns)


def _describe_column(encoder: CategoryEncoder, column: EncodedFeature) -> Column:
    if column.kind == ORIGINAL:
        return Column(column.features)
    group, sums = encoder.groups[column.group], encoder.sums
    places = np.arange(-1, group.n_places)  # that of unknown keys first

    if column.kind == COUNT:
        numbers = sums.count(column.group, places)
    else:
        numbers = sums.greedy(column.group, column.statistic, places)
    keys = np.arange(group.n_places, dtype=np.int64) if group.keys is None else group.keys
    return Column(column.features, Lookup(group.bases, keys, numbers[1:], float(numbers[0])))


def describe_trees(trees: Trees, columns: Sequence[Column]) -> TreeSum:
    """Return trees that are added up or averaged."""
    divisor = float(trees.n_trees) if trees.averages else 1.0
    base = trees.base_score if isinstance(trees, TreeEnsemble) else np.zeros(trees.n_outputs)
    return TreeSum(tuple(columns), trees.decode(), trees.start, base, divisor)


def describe_raw(model: Model, columns: Sequence[Column]) -> Node:
    """Return what a model computes before its link function."""
    if not isinstance(model, LinearEnsemble):
        return describe_trees(model, columns)
    base = model.base_score + model.intercept[-1]
    nothing = np.zeros((base.size, 0))
    return Affine((), nothing, base, tuple(columns), model.coefficient[-1])
