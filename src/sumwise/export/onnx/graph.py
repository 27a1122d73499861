"""ONNX: models as graphs for onnxruntime and other engines."""

import json
from typing import Any

import numpy as np

from sumwise.errors import ExportError, ParameterError
from sumwise.export.files import Target, write_bytes
from sumwise.export.onnx.columns import Columns
from sumwise.export.onnx.operators import (
    CORE_VERSION,
    IR_VERSION,
    ML_DOMAIN,
    ML_VERSION,
    Operators,
    import_onnx,
)
from sumwise.export.onnx.trees import TreeWriter
from sumwise.export.portable import (
    Affine,
    Curve,
    Link,
    Median,
    Node,
    PortableModel,
    Share,
    TreeSum,
    Vote,
    describe,
    refuse_large_labels,
)

_MOST_BYTES = 2**31 - 1  # of a message of protobuf


def to_onnx(
    model: Any, *, path: Target | None = None, dtype: Any = "float64", inputs: str = "auto"
) -> Any:
    """Return a fitted model as an ONNX graph. Needs the extra ``sumwise[onnx]``.

    Rows take the same branches as in sumwise: at thresholds, with missing and infinite values, and
    with unknown categories. Sums may be added in another order, so predictions differ by rounding.

    Parameters
    ----------
    model : fitted estimator
    path : path or binary file, optional
        Where to write the model.
    dtype : {"float64", "float32"}, default="float64"
        Precision of inputs, of the arithmetic and of the outputs. With "float32", thresholds are
        rounded down, so that every float32 value takes the branch that it takes in sumwise; the
        sums of leaf values have single precision.
    inputs : {"auto", "matrix", "columns"}, default="auto"
        "matrix": one input ``X`` of shape (n_rows, n_features), in which NaN is missing. "columns":
        one input of shape (n_rows, 1) per feature, named after it. Features with text categories
        are then strings, "" being missing, and those with whole numbers as categories are int64,
        the smallest int64 number being missing. "auto": a matrix, unless categories are text.

    Returns
    -------
    onnx.ModelProto
        Regressors have the output ``variable``, of shape (n_rows, n_targets). Classifiers have the
        outputs ``label``, of shape (n_rows,), and ``probabilities``, of shape (n_rows, n_classes);
        with several targets ``label_0``, ``probabilities_0``, ``label_1`` and so on. The metadata
        have the names of the ``features`` as a JSON list, in the order of the matrix.

    Examples
    --------
    >>> import numpy as np
    >>> import sumwise
    >>> from sumwise.export import to_onnx
    >>> X = np.arange(40.0).reshape(20, 2)
    >>> model = sumwise.GradientBoostingRegressor(n_estimators=5).fit(X, X[:, 0])
    >>> graph = to_onnx(model).graph
    >>> [i.name for i in graph.input], [o.name for o in graph.output]
    (['X'], ['variable'])
    """
    portable = describe(model, nested=True)
    precision = _check_dtype(dtype)
    if inputs not in ("auto", "matrix", "columns"):
        raise ParameterError(f"inputs must be 'auto', 'matrix' or 'columns', not {inputs!r}")
    made = _GraphWriter(portable, precision, inputs).write()
    if made.ByteSize() > _MOST_BYTES:
        raise ExportError("the model is larger than 2 GB, which ONNX files cannot be; use to_json")
    if path is not None:
        write_bytes(path, made.SerializeToString())
    return made


def _check_dtype(dtype: Any) -> np.dtype:
    try:
        precision = np.dtype(dtype)
    except TypeError:
        precision = np.dtype(object)
    if precision not in (np.float64, np.float32):
        raise ParameterError(f"dtype must be 'float64' or 'float32', not {dtype!r}")
    return precision


class _GraphWriter:
    """Writes one model; each node of the portable model becomes a few operators."""

    def __init__(self, model: PortableModel, dtype: np.dtype, form: str) -> None:
        self._onnx = import_onnx()
        refuse_large_labels(model, "ONNX (int64)")
        self._model = model
        self._ops = Operators(dtype)
        self._columns = Columns(self._ops, model.inputs, form, self._compute)
        self._trees = TreeWriter(self._ops, self._columns)
        self._outputs: list[Any] = []
        self._known: dict[int, str] = {}  # results of nodes, by their identity

    def write(self) -> Any:
        helper = self._onnx.helper
        inputs = [self._declare(*declared) for declared in self._columns.list_inputs()]
        self._taken = {made.name for made in inputs}
        result = self._compute(self._model.output)
        if self._model.is_classifier:
            self._write_classes(result)
        else:
            self._write_output("variable", result, self._ops.dtype, [self._model.n_outputs])
        graph = helper.make_graph(
            self._ops.nodes, self._model.estimator, inputs, self._outputs, self._ops.constants
        )
        opsets = [("", CORE_VERSION), (ML_DOMAIN, ML_VERSION)]
        made = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid(*opset) for opset in opsets],
            ir_version=IR_VERSION,
            producer_name="sumwise",
        )
        names = [known.name for known in self._model.inputs]
        about = {"estimator": self._model.estimator, "features": json.dumps(names)}
        helper.set_model_props(made, about)
        return made

    def _declare(self, name: str, dtype: np.dtype, width: int) -> Any:
        element = self._ops.element_type(dtype)
        return self._onnx.helper.make_tensor_value_info(name, element, ["n_rows", width])

    def _write_output(self, name: str, result: str, dtype: np.dtype, shape: list[int]) -> None:
        while name in self._taken:  # a feature has the name of an output
            name += "_"
        self._ops.rename(result, name)
        element = self._ops.element_type(dtype)
        made = self._onnx.helper.make_tensor_value_info(name, element, ["n_rows", *shape])
        self._outputs.append(made)

    def _write_classes(self, result: str) -> None:
        """Write the label and the probabilities of each target."""
        first = 0
        for k, classes in enumerate(self._model.classes):
            number = "" if len(self._model.classes) == 1 else f"_{k}"
            own = self._slice(result, first, first + classes.size)
            labels = _list_labels(classes)
            place = self._ops.add("ArgMax", own, axis=1, keepdims=0)
            label = self._ops.add("Gather", self._ops.constant(labels), place, axis=0)
            self._write_output(f"label{number}", label, labels.dtype, [])
            self._write_output(f"probabilities{number}", own, self._ops.dtype, [classes.size])
            first += classes.size

    def _slice(self, result: str, start: int, stop: int) -> str:
        if (start, stop) == (0, self._model.n_outputs):
            return result
        return self._ops.add("Gather", result, self._ops.constant(np.arange(start, stop)), axis=1)

    # --- nodes: each returns the name of its outputs, of shape (n_rows, n_outputs) ---

    def _compute(self, node: Node) -> str:
        if id(node) not in self._known:  # a node may be part of several others
            self._known[id(node)] = self._compute_new(node)
        return self._known[id(node)]

    def _compute_new(self, node: Node) -> str:
        if isinstance(node, TreeSum):
            return self._trees.write_sum(node)
        if isinstance(node, Median):
            return self._find_median(node)
        if isinstance(node, Affine):
            return self._combine(node)
        if isinstance(node, Vote):
            return self._count_votes(node)
        of = self._compute(node.of)
        if isinstance(node, Link):
            return self._apply_link(node, of)
        return self._share(node, of) if isinstance(node, Share) else self._interpolate(node, of)

    def _combine(self, node: Affine) -> str:
        # Gemm, not MatMul: onnxruntime would merge a division before that into a float32 factor.
        ops = self._ops
        total = ops.numbers(node.intercept)
        if node.of:
            joined = ops.join([self._compute(child) for child in node.of])
            total = ops.add("Gemm", joined, ops.numbers(node.coefficient.T), total)
        if node.columns:
            matrix, places = self._columns.gather(node.columns, [None] * len(node.columns))
            matrix = ops.add("Gather", matrix, ops.constant(places), axis=1)
            known = ops.add("Where", ops.add("IsNaN", matrix), ops.numbers(0.0), matrix)
            assert node.column_coefficient is not None
            total = ops.add("Gemm", known, ops.numbers(node.column_coefficient.T), total)
        if not node.of and not node.columns:
            return self._repeat(total, node.n_outputs)
        return total

    def _repeat(self, row: str, width: int) -> str:
        """Return one copy of a row for each row of the inputs."""
        ops = self._ops
        n_rows = ops.add("Shape", self._columns.list_inputs()[0][0], start=0, end=1)
        shape = ops.add("Concat", n_rows, ops.constant(np.array([width])), axis=0)
        return ops.add("Expand", row, shape)

    def _find_median(self, node: Median) -> str:
        ops = self._ops
        values = self._trees.write_each(node.of)
        ascending, order = self._sort(values, node.of.n_trees)
        so_far = ops.add("Gather", ops.numbers(node.weights), order, axis=0)
        so_far = ops.add("CumSum", so_far, ops.constant(np.int64(1)))
        half = ops.numbers(0.5 * node.weights.sum())
        is_enough = ops.cast(ops.add("GreaterOrEqual", so_far, half), np.int64)
        place = ops.add("ArgMax", is_enough, axis=1, keepdims=1)
        return ops.add("GatherElements", ascending, place, axis=1)

    def _sort(self, values: str, n_values: int) -> tuple[str, str]:
        """Return the values of each row in ascending order, and the order."""
        count = self._ops.constant(np.array([n_values]))
        return self._ops.add_pair("TopK", values, count, axis=1, largest=0, sorted=1)

    def _count_votes(self, node: Vote) -> str:
        ops = self._ops
        classes = ops.constant(np.arange(node.n_outputs))
        votes = []
        for child, weight in zip(node.of, node.weights, strict=True):
            place = ops.add("ArgMax", self._compute(child), axis=1, keepdims=1)
            is_chosen = ops.add("Equal", place, classes)
            votes.append(ops.add("Where", is_chosen, ops.numbers(weight), ops.numbers(0.0)))
        total = votes[0]
        for vote in votes[1:]:
            total = ops.add("Add", total, vote)
        return total

    def _share(self, node: Share, of: str) -> str:
        ops = self._ops
        positive = ops.add("Relu", of)
        total = ops.add("ReduceSum", positive, ops.constant(np.array([1])), keepdims=1)
        is_positive = ops.add("Greater", total, ops.numbers(0.0))
        shares = ops.add("Div", positive, total)
        return ops.add("Where", is_positive, shares, ops.numbers(1.0 / node.n_outputs))

    def _interpolate(self, node: Curve, of: str) -> str:
        ops = self._ops
        results = []
        for k, (x, y) in enumerate(zip(node.x, node.y, strict=True)):
            own = ops.add("Gather", of, ops.constant(np.array([k])), axis=1)
            # Interval i begins at point i - 1; the curve is constant before the first point and
            # after the last one.
            is_past = ops.add("GreaterOrEqual", own, ops.numbers(x))
            place = ops.add(
                "ReduceSum", ops.cast(is_past, np.int64), ops.constant(np.array([1])), keepdims=1
            )
            slopes = np.concatenate([[0.0], np.diff(y) / np.diff(x), [0.0]])
            starts, heights = np.append(x[0], x), np.append(y[0], y)
            slope, start, height = (
                ops.add("Gather", ops.numbers(table), place, axis=0)
                for table in (slopes, starts, heights)
            )
            rise = ops.add("Mul", slope, ops.add("Sub", own, start))
            results.append(ops.add("Add", rise, height))
        return ops.join(results)

    # --- links ---

    def _apply_link(self, node: Link, of: str) -> str:
        ops = self._ops
        if node.name == "identity":
            return of
        if node.name == "log":
            return ops.add("Exp", of)
        if node.name == "log1p":
            return self._exponential_less_one(of)
        if node.name == "sigmoid":
            return self._sigmoid(of)
        if node.name == "sorted":
            return self._sort(of, node.n_outputs)[0]
        if node.name == "softmax":
            return ops.add("Softmax", of, axis=1)
        if node.name == "half_logistic":
            of = ops.add("Mul", of, ops.numbers(2.0))
        return self._sigmoid(ops.join([ops.add("Neg", of), of]))

    def _sigmoid(self, of: str) -> str:
        """Return 1 / (1 + e^-f). The operator Sigmoid of onnxruntime is 0 from about -18 on."""
        ops = self._ops
        return ops.add(
            "Reciprocal", ops.add("Add", ops.add("Exp", ops.add("Neg", of)), ops.numbers(1.0))
        )

    def _exponential_less_one(self, of: str) -> str:
        """Return e^f - 1; near 0 as 2 t / (1 - t) with t = tanh(f / 2), which keeps all digits."""
        ops = self._ops
        one = ops.numbers(1.0)
        far = ops.add("Sub", ops.add("Exp", of), one)
        t = ops.add("Tanh", ops.add("Mul", of, ops.numbers(0.5)))
        near = ops.add("Div", ops.add("Mul", t, ops.numbers(2.0)), ops.add("Sub", one, t))
        is_near = ops.add("Less", ops.add("Abs", of), one)
        return ops.add("Where", is_near, near, far)


def _list_labels(classes: np.ndarray) -> np.ndarray:
    """Return labels as ONNX can hold them: text, integers, numbers or booleans."""
    if classes.dtype.kind == "b":
        return classes
    if classes.dtype.kind in "iu":
        return classes.astype(np.int64)
    if classes.dtype.kind == "f":
        return classes.astype(np.float64)
    labels = classes.tolist()
    if all(isinstance(label, str) for label in labels):
        return np.array(labels, dtype=object)
    kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
    raise ExportError(
        f"ONNX has no tensors for class labels of type {kinds}; train on text or integer labels"
    )
