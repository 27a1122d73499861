"""PMML 4.4: models as XML for JPMML, PMML4S and other engines.

A model is a chain. Each sum of trees is a segment, which names its result; the last segments
compute everything else from these results by expressions, and make the prediction.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sumwise.errors import ExportError
from sumwise.export.files import Target, write_bytes
from sumwise.export.pmml.expressions import ExpressionWriter
from sumwise.export.pmml.fields import Fields
from sumwise.export.pmml.trees import (
    holds_shares,
    read,
    write_median,
    write_result,
    write_shares,
    write_sum,
    write_tree,
)
from sumwise.export.pmml.xml import element, number
from sumwise.export.portable import (
    Affine,
    Link,
    Median,
    Node,
    PortableModel,
    TreeSum,
    describe,
    refuse_large_labels,
)

_NAMESPACE = "http://www.dmg.org/PMML-4_4"
_INTEGERS = 2**31  # of JPMML
_EXACT = 1 << 53  # integers of double precision


def to_pmml(model: Any, *, path: Target | None = None) -> str:
    """Return a fitted model as a PMML 4.4 document.

    Rows take the same branches as in sumwise: at thresholds, with missing and infinite values, and
    with unknown categories. All numbers are in double precision.

    Parameters
    ----------
    model : fitted estimator
    path : path or binary file, optional
        Where to write the document, in UTF-8.

    Returns
    -------
    str
        Its inputs are named as the features, its target is called ``target``. The outputs are
        ``predicted_target``, and ``probability(...)`` for each class. With several targets they are
        ``predicted_target_0``, ``probability_0(...)``, ``predicted_target_1`` and so on.

    Examples
    --------
    >>> import numpy as np
    >>> import sumwise
    >>> from sumwise.export import to_pmml
    >>> X = np.arange(40.0).reshape(20, 2)
    >>> model = sumwise.GradientBoostingRegressor(n_estimators=5).fit(X, X[:, 0])
    >>> to_pmml(model).count("<TreeModel")
    5
    """
    text = _Document(describe(model, nested=True)).write()
    if path is not None:
        write_bytes(path, text.encode())
    return text


class _Document:
    """Writes one model."""

    def __init__(self, model: PortableModel) -> None:
        refuse_large_labels(model, "PMML (double)", _EXACT)
        self._model = model
        self._fields = Fields(model)
        self._segments: list[str] = []
        self._results: list[str] = []  # fields that segments have computed
        self._outputs: list[str] = []  # of the whole model
        self._targets = [self._fields.make_name(name) for name in self._list_targets()]

    def _list_targets(self) -> list[str]:
        """Return the targets; several numbers are outputs alone, as PMML has one per model."""
        n_targets = len(self._model.classes) or self._model.n_outputs
        if n_targets == 1:
            return ["target"]
        return [f"target_{k}" for k in range(n_targets)] if self._model.classes else []

    def write(self) -> str:
        expressions = ExpressionWriter(self._fields, self)
        results = expressions.write(self._model.output)
        if self._model.classes:
            self._classify(results, _write_local(expressions.derived))
        else:
            self._add_segment(self._write_regression(results, expressions.derived))
        parts = [
            element("Header", {}, element("Application", {"name": "sumwise"})),
            self._write_dictionary(),
            element("TransformationDictionary", {}, *self._fields.derived),
            self._write_chain(),
        ]
        declared = {"xmlns": _NAMESPACE, "version": "4.4"}
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{element("PMML", declared, *parts)}\n'

    # --- segments ---

    def write_trees(self, node: TreeSum | Median) -> list[str]:
        """Add the segments of trees; return the fields of their outputs."""
        names = [self._fields.make_name("trees") for _ in range(node.n_outputs)]
        if isinstance(node, Median):
            self._add_segment(write_median(node, self._fields, names[0]))
        elif holds_shares(node):
            self._add_segment(write_shares(node, self._fields, names))
        else:
            for output, name in enumerate(names):
                self._add_segment(write_sum(node, output, self._fields, name))
        self._results += names
        return names

    def write_leaves(self, node: TreeSum) -> list[str]:
        """Add a segment for each tree; return the fields of their leaves, as numbers of nodes."""
        names = [self._fields.make_name("leaf") for _ in range(node.n_trees)]
        numbers = np.arange(node.trees.n_nodes, dtype=np.float64)
        for tree, name in enumerate(names):
            self._add_segment(write_tree(node, tree, numbers, self._fields, name))
        self._results += names
        return names

    def publish(self, fields: list[str], derived: list[str]) -> list[str]:
        """Return derived fields as results of a segment, which later segments can read."""
        names = [self._fields.make_name("result") for _ in fields]
        outputs = [
            write_result(name, read(field)) for name, field in zip(names, fields, strict=True)
        ]
        self._add_segment(self._write_line(fields[0], outputs, derived, []))
        self._results += names
        return names

    def _add_segment(self, model: str) -> None:
        about = {"id": len(self._segments) + 1}
        self._segments.append(element("Segment", about, element("True"), model))

    def _write_regression(self, results: list[str], derived: list[str]) -> str:
        """Return a model that predicts the only output, or names all of several."""
        outputs = [write_result(self._fields.make_name("predicted_target"), None)]
        if not self._targets:
            outputs = [
                write_result(self._fields.make_name(f"predicted_target_{k}"), read(result))
                for k, result in enumerate(results)
            ]
        return self._write_line(results[0], outputs, derived, self._targets)

    def _write_line(
        self, field: str, outputs: list[str], derived: list[str], targets: list[str]
    ) -> str:
        """Return a model whose prediction is a field."""
        predictor = element("NumericPredictor", {"name": field, "coefficient": 1})
        return element(
            "RegressionModel",
            {"functionName": "regression"},
            self._write_schema(self._results, targets),
            element("Output", {}, *outputs),
            _write_local(derived),
            element("RegressionTable", {"intercept": 0}, predictor),
        )

    def _classify(self, results: list[str], local: str) -> None:
        """Add a segment for each target."""
        first = 0
        for target, classes in zip(self._targets, self._model.classes, strict=True):
            own = results[first : first + classes.size]
            self._add_segment(self._write_classification(target, classes, own, local))
            first += classes.size

    def _write_classification(
        self, target: str, classes: np.ndarray, results: list[str], local: str
    ) -> str:
        """Return a model that predicts a target and its probabilities."""
        kind, labels = _list_labels(classes)
        suffix = target.removeprefix("target")
        outputs = [self._write_label(f"predicted_{target}", kind)]
        tables = []
        for label, result in zip(labels, results, strict=True):
            outputs.append(self._write_probability(f"probability{suffix}({label})", label, result))
            predictor = element("NumericPredictor", {"name": result, "coefficient": 1})
            about = {"intercept": 0, "targetCategory": label}
            tables.append(element("RegressionTable", about, predictor))
        schema = self._write_schema(self._results, [target])
        if len(labels) == 1:  # a regression model needs two classes
            leaf = element("ScoreDistribution", {"value": labels[0], "recordCount": 1})
            node = element("Node", {"score": labels[0]}, element("True"), leaf)
            about = {"functionName": "classification"}
            return element("TreeModel", about, schema, element("Output", {}, *outputs), node)
        return element(
            "RegressionModel",
            {"functionName": "classification", "normalizationMethod": "simplemax"},
            schema,
            element("Output", {}, *outputs),
            local,
            *tables,
        )

    def _write_label(self, name: str, kind: str) -> str:
        about = {"name": self._fields.make_name(name), "optype": "categorical", "dataType": kind}
        return self._publish(about, {"feature": "predictedValue"})

    def _write_probability(self, name: str, label: str, result: str) -> str:
        about = {"name": self._fields.make_name(name), "optype": "continuous", "dataType": "double"}
        if _may_not_sum_to_one(self._model.output):  # probabilities of PMML always do
            return self._publish(about, {"feature": "transformedValue"}, read(result))
        return self._publish(about, {"feature": "probability", "value": label})

    def _publish(self, about: dict[str, str], source: dict[str, str], *content: str) -> str:
        """Return an output of a segment. Of several targets, all but the last are hidden so far."""
        if len(self._targets) > 1:
            inner = {"name": self._fields.make_name(f"own {about['name']}")}
            value = element("FieldRef", {"field": inner["name"]})
            shown = about | {"feature": "transformedValue"}
            self._outputs.append(element("OutputField", shown, value))
            about = about | inner
        return element("OutputField", about | source, *content)

    # --- the whole model ---

    def _write_chain(self) -> str:
        function = "classification" if self._model.classes else "regression"
        return element(
            "MiningModel",
            {"modelName": self._model.estimator, "functionName": function},
            self._write_schema([], self._targets[-1:]),
            element("Output", {}, *self._outputs) if self._outputs else "",
            element("Segmentation", {"multipleModelMethod": "modelChain"}, *self._segments),
        )

    def _write_schema(self, results: Sequence[str], targets: Sequence[str]) -> str:
        return element(
            "MiningSchema",
            {},
            *(element("MiningField", {"name": name, "usageType": "target"}) for name in targets),
            *self._fields.list_mining_fields(),
            *(element("MiningField", {"name": name}) for name in results),
        )

    def _write_dictionary(self) -> str:
        own = []
        for k, name in enumerate(self._targets):
            about, values = {"name": name, "optype": "continuous", "dataType": "double"}, []
            if self._model.classes:
                kind, labels = _list_labels(self._model.classes[k])
                about |= {"optype": "categorical", "dataType": kind}
                values = [element("Value", {"value": label}) for label in labels]
            own.append(element("DataField", about, *values))
        return element("DataDictionary", {}, *self._fields.list_data_fields(), *own)


def _may_not_sum_to_one(node: Node) -> bool:
    """Whether the outputs of a classifier are one probability per class, each by itself."""
    if isinstance(node, Affine):
        return any(map(_may_not_sum_to_one, node.of))
    return isinstance(node, Link) and node.name == "sigmoid"


def _write_local(derived: list[str]) -> str:
    return element("LocalTransformations", {}, *derived) if derived else ""


def _list_labels(classes: np.ndarray) -> tuple[str, list[str]]:
    labels = classes.tolist()
    if classes.dtype.kind == "b":
        return "boolean", [str(label).lower() for label in labels]
    if classes.dtype.kind in "iu" and max(map(abs, labels)) < _INTEGERS:
        return "integer", [str(label) for label in labels]
    if classes.dtype.kind in "iuf":
        return "double", [number(label) for label in labels]
    if all(isinstance(label, str) for label in labels):
        return "string", labels
    raise ExportError("PMML has no type for these class labels; train on text or integer labels")
