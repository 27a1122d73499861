"""Naive twin of Core ML: evaluates and checks specifications as Apple documents them.

Core ML itself runs on Apple's systems only. This evaluates trees, mappings of categories and
pipelines for one row, a dict of Python values by input.
"""

import math

import numpy as np


def predict(spec, row, dtype=np.float64):
    """Return the outputs of a row by name. Trees compare in the given precision."""
    kind = spec.WhichOneof("Type")
    if kind.startswith("pipeline"):
        known = dict(row)
        for model in getattr(spec, kind).pipeline.models:
            known |= predict(model, known, dtype)
        return {own.name: known[own.name] for own in spec.description.output}
    if kind == "categoricalMapping":
        mapping = spec.categoricalMapping
        value = row[spec.description.input[0].name]
        return {
            spec.description.output[0].name: mapping.stringToInt64Map.map.get(
                value, mapping.int64Value
            )
        }
    x = np.concatenate([np.atleast_1d(row[own.name]) for own in spec.description.input])
    model = getattr(spec, kind)
    transforms = model.DESCRIPTOR.fields_by_name["postEvaluationTransform"].enum_type
    transform = transforms.values_by_number[model.postEvaluationTransform].name
    values = _transform(transform, _add_trees(model.treeEnsemble, x.astype(float), dtype))
    names = [own.name for own in spec.description.output]
    if kind == "treeEnsembleRegressor":
        return {names[0]: values[0] if len(values) == 1 else np.array(values)}
    labels = list(model.stringClassLabels.vector) or list(model.int64ClassLabels.vector)
    shares = [1.0 - values[0], values[0]] if len(values) == 1 else values
    label = labels[int(np.argmax(shares))]
    return {names[0]: label, names[1]: dict(zip(labels, shares, strict=True))}


def _add_trees(ensemble, x, dtype):
    total = list(ensemble.basePredictionValue)
    trees = {}
    for node in ensemble.nodes:
        trees.setdefault(node.treeId, {})[node.nodeId] = node
    for nodes in trees.values():
        leaf = _find_leaf(nodes, x, dtype)
        for own in leaf.evaluationInfo:
            total[own.evaluationIndex] += own.evaluationValue
    return total


def _find_leaf(nodes, x, dtype):
    children = {n for node in nodes.values() for n in _list_children(node)}
    (root,) = set(nodes) - children
    node = nodes[root]
    while _name(node) != "LeafNode":
        with np.errstate(over="ignore"):
            value, cut = dtype(x[node.branchFeatureIndex]), dtype(node.branchFeatureValue)
        if math.isnan(value):
            is_true = node.missingValueTracksTrueChild
        else:
            is_true = {
                "BranchOnValueLessThanEqual": value <= cut,
                "BranchOnValueGreaterThan": value > cut,
                "BranchOnValueEqual": value == cut,
            }[_name(node)]
        node = nodes[node.trueChildNodeId if is_true else node.falseChildNodeId]
    return node


def _name(node):
    return node.TreeNodeBehavior.Name(node.nodeBehavior)


def _list_children(node):
    return [] if _name(node) == "LeafNode" else [node.trueChildNodeId, node.falseChildNodeId]


def _transform(name, values):
    if name == "Regression_Logistic":
        return [1.0 / (1.0 + math.exp(-v)) if v > -700 else math.exp(v) for v in values]
    if name == "Classification_SoftMax":
        shares = [math.exp(v - max(values)) for v in values]
        return [share / sum(shares) for share in shares]
    assert name == "NoTransform"
    return values


# --- the rules of Core ML's validator ---


def validate(spec):
    """Assert that a specification keeps the rules that Core ML checks when it compiles a model."""
    about = spec.description
    assert all(own.name for own in [*about.input, *about.output])
    assert len(about.input) > 0
    kind = spec.WhichOneof("Type")
    if kind.startswith("pipeline"):
        known = {own.name: own.type for own in about.input}
        for model in getattr(spec, kind).pipeline.models:
            assert all(known[own.name] == own.type for own in model.description.input)
            validate(model)
            known |= {own.name: own.type for own in model.description.output}
        assert all(known[own.name] == own.type for own in about.output)
    elif kind.startswith("treeEnsemble"):
        model = getattr(spec, kind)
        _validate_trees(model.treeEnsemble, _count_numbers(about.input))
        n_outputs = model.treeEnsemble.numPredictionDimensions
        if kind == "treeEnsembleClassifier":
            n_classes = len(model.stringClassLabels.vector) + len(model.int64ClassLabels.vector)
            assert n_classes == (2 if n_outputs == 1 else n_outputs)
            assert about.predictedProbabilitiesName == about.output[1].name
        else:
            assert _count_numbers(about.output) == n_outputs
        assert about.predictedFeatureName == about.output[0].name


def _count_numbers(features):
    kinds = [own.type.WhichOneof("Type") for own in features]
    assert set(kinds) <= {"doubleType", "int64Type", "multiArrayType"}
    return sum(
        own.type.multiArrayType.shape[0] if kind == "multiArrayType" else 1
        for own, kind in zip(features, kinds, strict=True)
    )


def _validate_trees(ensemble, n_features):
    n_outputs = ensemble.numPredictionDimensions
    assert n_outputs >= 1
    assert len(ensemble.basePredictionValue) == n_outputs
    keys = [(node.treeId, node.nodeId) for node in ensemble.nodes]
    assert len(keys) == len(set(keys)) > 0
    parents = {}
    for node in ensemble.nodes:
        for child in _list_children(node):
            assert (node.treeId, child) in set(keys)
            assert (node.treeId, child) not in parents
            parents[node.treeId, child] = node.nodeId
        if _name(node) == "LeafNode":
            places = [own.evaluationIndex for own in node.evaluationInfo]
            assert 1 <= len(places) == len(set(places))
            assert max(places) < n_outputs
        else:
            assert node.branchFeatureIndex < n_features
    roots = [tree for tree, node in keys if (tree, node) not in parents]
    assert len(roots) == len(set(roots)) == len({tree for tree, _ in keys})
