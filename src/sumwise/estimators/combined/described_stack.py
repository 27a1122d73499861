"""A stack in plain terms: its members' outputs as columns, and the meta-learner on top of them."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from sumwise.errors import ExportError
from sumwise.estimators.combined.meta_features import OutputColumns
from sumwise.estimators.combined.out_of_fold import FoldModels, Member
from sumwise.estimators.describing.members import describe_named, name_inputs, place_outputs
from sumwise.estimators.input.targets import encode_labels
from sumwise.export.joining import OutputSource, Source, average_nodes, join_inputs, rewire
from sumwise.export.portable import CATEGORY, Affine, Node, PortableModel, Vote


def describe_stack(stack: Any) -> PortableModel:
    """Describe a fitted stack.

    The meta-learner is described like any model. Then its first inputs are replaced by outputs of
    the members; the others, with ``passthrough``, are inputs of the stack.
    """
    models = [_list_models(model) for model in stack.estimators_]
    pairs = zip(stack._members, models, strict=True)
    described = [
        describe_named(member.label, model, member.method) for member, own in pairs for model in own
    ]
    final = describe_named("final_estimator", stack.final_estimator_, "predict_proba")
    every = list(range(stack.n_features_in_))
    n_columns = sum(stack._n_columns)
    if any(known.kind == CATEGORY for known in final.inputs[:n_columns]):
        raise ExportError("final_estimator: outputs of members as categories cannot be exported")
    of_final = [*([None] * n_columns), *(every if stack.passthrough else [])]
    places: list[Sequence[int | None]] = [*([every] * len(described)), of_final]
    inputs, sources = join_inputs(
        name_inputs(stack),
        [(each.inputs, each.output) for each in [*described, final]],
        [own[: len(each.inputs)] for each, own in zip([*described, final], places, strict=True)],
    )
    rewired = (
        rewire(each.output, _all_known(own))
        for each, own in zip(described, sources[:-1], strict=True)
    )
    columns: list[Source] = []
    for member, own in zip(stack._members, models, strict=True):
        node = _arrange(stack._columns, member, own, rewired)
        columns += [OutputSource(node, k) for k in range(node.n_outputs)]
    columns += [source for source in sources[-1] if source is not None]
    output = stack._describe_output(rewire(final.output, columns))
    classes = (stack.classes_,) if is_classifier(stack) else ()
    return PortableModel(type(stack).__name__, inputs, output, classes)


def _list_models(model: Any) -> Sequence[Any]:
    return model.models if isinstance(model, FoldModels) else [model]


def _all_known(sources: Sequence[Source | None]) -> list[Source]:
    return [source for source in sources if source is not None]


def _arrange(
    reader: OutputColumns, member: Member, models: Sequence[Any], rewired: Iterator[Node]
) -> Node:
    """Return a member's columns, as :meth:`OutputColumns.predict` arranges them."""
    nodes = [_place(reader, member, model, next(rewired)) for model in models]
    is_class = reader.labels is not None and is_classifier(models[0])
    is_label = is_class and member.method == "predict" and not reader.of_all_classes
    if not is_label:
        node = nodes[0] if len(nodes) == 1 else average_nodes(nodes, [1 / len(nodes)] * len(nodes))
        is_half = is_class and member.method == "predict_proba" and not reader.of_all_classes
        # With two classes, one probability determines the other.
        return _take(node, [1]) if is_half and node.n_outputs == 2 else node
    if len(nodes) > 1:  # the class that most models predict
        nodes = [Vote((Vote(tuple(nodes), np.ones(len(nodes))),), np.ones(1))]
    numbers = np.arange(nodes[0].n_outputs, dtype=np.float64)
    return Affine((nodes[0],), numbers[np.newaxis], np.zeros(1))


def _place(reader: OutputColumns, member: Member, model: Any, node: Node) -> Node:
    """Return the outputs of one model, as those of all classes."""
    if reader.labels is None or not is_classifier(model) or member.method == "decision_function":
        return node
    labels = reader.labels if member.labels is None else member.labels
    known = np.asarray(getattr(model, "classes_", labels))
    places = encode_labels(f"member {member.name!r}", known, labels)
    return place_outputs(node, places, labels.size)


def _take(node: Node, outputs: Sequence[int]) -> Node:
    return Affine((node,), np.eye(node.n_outputs)[outputs], np.zeros(len(outputs)))
