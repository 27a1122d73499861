"""Core ML: models for Apple's devices.

A model is a tree ensemble. If trees split on categories, a pipeline has models for these before it;
see categories.py.
"""

from importlib import import_module
from typing import Any

import numpy as np

from sumwise.errors import ExportError, ParameterError
from sumwise.export.coreml.categories import Indicators, find_codes_to_the_left
from sumwise.export.coreml.nodes import NodeWriter
from sumwise.export.files import Target, write_bytes
from sumwise.export.linear_form import LinearForm, find_linear_form
from sumwise.export.portable import (
    CATEGORY,
    Affine,
    Link,
    Node,
    PortableModel,
    TreeSum,
    describe,
    refuse_empty_names,
    refuse_large_labels,
)
from sumwise.export.rounding import round_down
from sumwise.export.tree_sums import add_trees

_VERSION = 1  # of the specification: trees and pipelines are as old as Core ML
_PREDICTION, _LABEL, _PROBABILITIES = "prediction", "classLabel", "classProbability"
_TRANSFORMS = {
    "softmax": "Classification_SoftMax",
    "logistic": "Regression_Logistic",
    "half_logistic": "Regression_Logistic",
    "sigmoid": "Regression_Logistic",
}

# The indicator of each split by categories: (input, place among its indicators), by node.
_Splits = dict[int, tuple[int, int]]


def to_coreml(model: Any, *, path: Target | None = None, dtype: Any = "float32") -> Any:
    """Return a fitted model as a Core ML specification. Needs the extra ``sumwise[coreml]``.

    Core ML holds sums of trees, the logistic function and softmax. Other models raise an
    ExportError that names the part which cannot be held.

    Parameters
    ----------
    model : fitted estimator
    path : path or binary file, optional
        Where to write the model, usually ``name.mlmodel``.
    dtype : {"float32", "float64"}, default="float32"
        Precision of the thresholds. "float32": thresholds are rounded down, so that every float32
        value takes the branch that it takes in sumwise, whether Core ML compares in single or in
        double precision. "float64": thresholds stay as they are. The values of the leaves are in
        double precision in both cases.

    Returns
    -------
    coremltools.proto.Model_pb2.Model
        On macOS, ``coremltools.models.MLModel(spec)`` predicts. There is one input per feature:
        numbers are doubles, NaN being missing; text categories are strings, "" being missing; other
        categories are doubles. Regressors have the output ``prediction``, a double or an array of
        all targets. Classifiers have ``classLabel`` and ``classProbability``.

    Examples
    --------
    >>> import numpy as np
    >>> import sumwise
    >>> from sumwise.export import to_coreml
    >>> X = np.arange(40.0).reshape(20, 2)
    >>> model = sumwise.GradientBoostingRegressor(n_estimators=5).fit(X, X[:, 0])
    >>> spec = to_coreml(model)
    >>> [i.name for i in spec.description.input], [o.name for o in spec.description.output]
    (['x0', 'x1'], ['prediction'])
    """
    portable = describe(model)
    if dtype not in ("float32", "float64", np.float32, np.float64):
        raise ParameterError(f"dtype must be 'float32' or 'float64', not {dtype!r}")
    spec = _SpecWriter(portable, np.dtype(dtype) == np.float32).write()
    if path is not None:
        write_bytes(path, spec.SerializeToString(deterministic=True))
    return spec


def _import_proto() -> Any:
    try:
        return import_module("coremltools.proto")
    except ImportError:
        raise ImportError(
            "to_coreml needs the package coremltools: install it with pip install 'sumwise[coreml]'"
        ) from None


class _SpecWriter:
    """Writes one model."""

    def __init__(self, model: PortableModel, is_single: bool) -> None:
        refuse_empty_names(model.inputs, "Core ML")
        refuse_large_labels(model, "Core ML (int64)")
        self._model, self._is_single = model, is_single
        self._trees, self._transform = _find_trees(model)
        self._proto = _import_proto()
        self._taken = {known.name for known in model.inputs}
        self._categories = {
            k: Indicators(known) for k, known in enumerate(model.inputs) if known.kind == CATEGORY
        }
        numbers = [k for k in range(len(model.inputs)) if k not in self._categories]
        self._numbers = {k: place for place, k in enumerate(numbers)}

    def write(self) -> Any:
        splits = self._find_splits()
        if not self._numbers and not any(own.n_indicators for own in self._categories.values()):
            own = self._categories[0]  # nothing depends on the row, but a model needs an input
            own.find_place(np.zeros(len(own.known.categories) + 2))
        before = []
        trees = self._make_model()
        self._declare_numbers(trees)
        for own in self._categories.values():
            if own.n_indicators:
                before += self._write_indicators(own, trees)
        self._fill_trees(trees, splits)
        return self._chain(before, trees) if before else trees

    def _make_model(self) -> Any:
        made = self._proto.Model_pb2.Model()
        made.specificationVersion = _VERSION
        return made

    def _make_name(self, name: str) -> str:
        while name in self._taken:  # by a feature
            name += "_"
        self._taken.add(name)
        return name

    # --- categories ---

    def _find_splits(self) -> _Splits:
        """Return the indicators of all splits by categories, which are made here."""
        nodes, sets = self._trees.trees, self._trees.trees.left_categories
        found = {}
        for place in np.flatnonzero(nodes.feature >= 0).tolist():
            column = self._trees.columns[nodes.feature[place]]
            own = self._categories.get(column.inputs[0])
            if own is not None:
                threshold, missing_left = nodes.threshold[place], nodes.missing_left[place]
                goes_left = find_codes_to_the_left(
                    own.known, column, float(threshold), sets.get(place), bool(missing_left)
                )
                found[place] = column.inputs[0], own.find_place(goes_left)
        return found

    def _write_indicators(self, own: Indicators, trees: Any) -> list[Any]:
        """Return models that make the indicators of a feature, and declare them as an input."""
        models, source = [], own.known.name
        if own.is_text:
            source = self._make_name(f"{source} code")
            models.append(self._make_model())
            own.map_text(models[0], source)
        made, name = self._make_model(), self._make_name(f"{own.known.name} indicators")
        ensemble = made.treeEnsembleRegressor.treeEnsemble
        ensemble.numPredictionDimensions = own.n_indicators
        ensemble.basePredictionValue.extend([0.0] * own.n_indicators)
        own.fill_tree(NodeWriter(ensemble, 0))
        declared = made.description.input.add(name=source).type
        (declared.int64Type if own.is_text else declared.doubleType).SetInParent()
        _declare_numbers(made.description.output.add(name=name), own.n_indicators)
        made.description.predictedFeatureName = name
        _declare_numbers(trees.description.input.add(name=name), own.n_indicators)
        return [*models, made]

    # --- trees ---

    def _declare_numbers(self, made: Any) -> None:
        for k in self._numbers:
            _declare_numbers(made.description.input.add(name=self._model.inputs[k].name), 1)

    def _fill_trees(self, made: Any, splits: _Splits) -> None:
        node, is_classifier = self._trees, self._model.is_classifier
        own = made.treeEnsembleClassifier if is_classifier else made.treeEnsembleRegressor
        transforms = self._proto.TreeEnsemble_pb2.TreeEnsemblePostEvaluationTransform
        own.postEvaluationTransform = transforms.Value(self._transform)
        own.treeEnsemble.numPredictionDimensions = node.n_outputs
        own.treeEnsemble.basePredictionValue.extend(node.base_score.tolist())
        cuts = round_down(node.trees.threshold) if self._is_single else node.trees.threshold
        for tree in range(node.n_trees):
            self._write_tree(NodeWriter(own.treeEnsemble, tree), tree, cuts, splits)
        if node.n_trees == 0:
            NodeWriter(own.treeEnsemble, 0).add_leaf(np.zeros(1))
        if is_classifier:
            self._declare_classes(made, own)
        else:
            name = self._make_name(_PREDICTION)
            _declare_numbers(made.description.output.add(name=name), node.n_outputs)
            made.description.predictedFeatureName = name

    def _write_tree(self, writer: NodeWriter, tree: int, cuts: np.ndarray, splits: _Splits) -> None:
        node, nodes = self._trees, self._trees.trees
        first = int(node.start[tree])
        for place in range(first, int(node.start[tree + 1])):
            if nodes.feature[place] < 0:
                writer.add_leaf(nodes.value[place])
                continue
            if place in splits:
                feature = self._find_indicator(*splits[place])
                split = writer.add_split(feature, 0.5, False, behavior="GreaterThan")
            else:
                feature = self._numbers[node.columns[nodes.feature[place]].inputs[0]]
                missing_left = bool(nodes.missing_left[place])
                split = writer.add_split(feature, float(cuts[place]), missing_left)
            left = int(nodes.left[place]) - first
            writer.link(split, left, left + 1)

    def _find_indicator(self, place: int, indicator: int) -> int:
        """Return where the trees find an indicator: after all numbers, feature by feature."""
        before = [own.n_indicators for k, own in self._categories.items() if k < place]
        return len(self._numbers) + sum(before) + indicator

    # --- interface ---

    def _declare_classes(self, made: Any, own: Any) -> None:
        labels = _list_labels(self._model.classes[0])
        label = made.description.output.add(name=self._make_name(_LABEL))
        score = made.description.output.add(name=self._make_name(_PROBABILITIES))
        if isinstance(labels[0], str):
            own.stringClassLabels.vector.extend(labels)
            label.type.stringType.SetInParent()
            score.type.dictionaryType.stringKeyType.SetInParent()
        else:
            own.int64ClassLabels.vector.extend(labels)
            label.type.int64Type.SetInParent()
            score.type.dictionaryType.int64KeyType.SetInParent()
        made.description.predictedFeatureName = label.name
        made.description.predictedProbabilitiesName = score.name

    def _chain(self, before: list[Any], trees: Any) -> Any:
        """Return a pipeline of models, whose inputs are the features."""
        chain = self._make_model()
        is_classifier = self._model.is_classifier
        pipeline = chain.pipelineClassifier if is_classifier else chain.pipelineRegressor
        pipeline.pipeline.models.extend([*before, trees])
        about = chain.description
        for k, known in enumerate(self._model.inputs):
            own, declared = self._categories.get(k), about.input.add(name=known.name)
            is_text = own is not None and own.is_text
            (declared.type.stringType if is_text else declared.type.doubleType).SetInParent()
        about.output.extend(trees.description.output)
        about.predictedFeatureName = trees.description.predictedFeatureName
        about.predictedProbabilitiesName = trees.description.predictedProbabilitiesName
        return chain


def _declare_numbers(declared: Any, size: int) -> None:
    """Declare a feature of numbers: a double, or an array of several."""
    if size == 1:
        declared.type.doubleType.SetInParent()
        return
    array = declared.type.multiArrayType
    array.shape.append(size)
    array.dataType = array.ArrayDataType.Value("DOUBLE")


def _list_labels(classes: np.ndarray) -> list[Any]:
    """Return labels as Core ML can hold them: text or integers."""
    labels = classes.tolist()
    if classes.dtype.kind in "iub":
        return [int(label) for label in labels]
    if all(isinstance(label, str) for label in labels):
        return labels
    raise ExportError("Core ML has text and integers as class labels only; train on such labels")


# --- what Core ML can hold ---


def _find_trees(model: PortableModel) -> tuple[TreeSum, str]:
    """Return one sum of trees, and how Core ML transforms its outputs."""
    if len(model.classes) > 1:
        raise ExportError(
            "Core ML predicts one label; train a classifier for each target, or use to_onnx"
        )
    if any(classes.size == 1 for classes in model.classes):
        raise ExportError("Core ML cannot hold a classifier of one class; use to_onnx")
    output = model.output
    transform, factor, inner = "NoTransform", 1.0, output
    if isinstance(output, Link) and output.name in _TRANSFORMS and _fits(output):
        transform, inner = _TRANSFORMS[output.name], output.of
        factor = 2.0 if output.name == "half_logistic" else 1.0
    form = find_linear_form(inner)
    if not isinstance(form, LinearForm):
        raise ExportError(_explain(form))
    if any(trees.trees.models is not None for trees, _ in form.parts):
        raise ExportError(
            "Core ML's trees cannot hold linear models in their leaves; use to_onnx, or train "
            "without LinearLeaves"
        )
    form = form.scale(factor)
    return add_trees(form.parts, form.base), transform


def _fits(link: Link) -> bool:
    return link.name != "sigmoid" or link.n_outputs == 1


def _explain(part: Node) -> str:
    """Return which part of a model Core ML cannot hold."""
    if isinstance(part, Link):
        what = f"the link function {part.name!r}"
        what += " inside of a model" if part.name in _TRANSFORMS else ""
    elif isinstance(part, Affine):
        what = "a linear function of the features (booster='linear')"
    else:
        names = {
            "Median": "a weighted median of trees",
            "Vote": "votes of models",
            "Share": "shares of votes or of weighted probabilities",
            "Curve": "a calibration curve",
        }
        what = names[type(part).__name__]
    return f"Core ML's tree ensembles cannot hold {what}; use to_onnx or to_c"
