"""ONNX models predict in onnxruntime what they predict here."""

import io
import sys

import numpy as np
import pytest

import sumwise
from sumwise.errors import ExportError, ParameterError
from sumwise.export.onnx.columns import MISSING_INTEGER
from sumwise.export.onnx.graph import to_onnx
from sumwise.export.portable import CATEGORY, Column, Input, PortableModel, describe
from tests.export.fitted_models import (
    ENSEMBLES,
    FITTED,
    MIXED_ENSEMBLES,
    check_labels,
    fit_ensemble,
    fit_model,
    make_frame,
    predict_outputs,
)
from tests.export.random_models import (
    GRAPHS,
    MULTIPLY,
    NUMBERS,
    find_labels,
    make_graph,
    make_rows,
    make_stump,
    make_trees,
    predict_rows,
)

onnx = pytest.importorskip("onnx", reason="ONNX models need the package onnx")
ort = pytest.importorskip("onnxruntime", reason="ONNX models are judged by onnxruntime")


def start(graph):
    """Return a session, after ONNX has checked the model."""
    onnx.checker.check_model(graph, full_check=True)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(
        graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def run(graph, rows):
    """Return the outputs of rows by name."""
    session = start(graph)
    return run_session(session, rows)


def run_session(session, rows):
    inputs = session.get_inputs()
    if [own.name for own in inputs] == ["X"]:
        dtype = np.float32 if inputs[0].type == "tensor(float)" else np.float64
        feeds = {inputs[0].name: np.array(rows, dtype=object).astype(dtype)}
    else:
        feeds = {
            own.name: make_column([row[k] for row in rows], own.type)
            for k, own in enumerate(inputs)
        }
    names = [own.name for own in session.get_outputs()]
    return dict(zip(names, session.run(None, feeds), strict=True))


def make_column(values, kind):
    if kind == "tensor(string)":
        return np.array([[value or ""] for value in values], dtype=object)
    if kind == "tensor(int64)":
        return np.array([[MISSING_INTEGER if v is None or v != v else int(v)] for v in values])
    return np.array(values, dtype=np.float32 if kind == "tensor(float)" else np.float64)[:, None]


def check(model, graph, rows, rtol=1e-12, atol=1e-13):
    """Compare outputs and labels with those of the naive twin."""
    found, expected = run(graph, rows), predict_rows(model, rows)
    if not model.is_classifier:
        np.testing.assert_allclose(found["variable"], expected, rtol=rtol, atol=atol)
        return
    names = [name for name in found if name.startswith("probabilities")]
    outputs = np.column_stack([found[name] for name in names])
    np.testing.assert_allclose(outputs, expected, rtol=rtol, atol=atol)
    labels = [found[name] for name in found if name.startswith("label")]
    for own, others in zip(labels, find_labels(model, outputs), strict=True):
        assert own.tolist() == others.tolist()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", GRAPHS)
def test_graphs(name, seed):
    model = make_graph(name, seed)
    # The rounding of large numbers would change the differences that softmax takes.
    largest = 100.0 if name in MULTIPLY else np.inf
    check(model, to_onnx(model), make_rows(model, largest=largest))


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_in_single_precision_take_the_same_branches(name):
    model = make_graph(name)
    largest = 100.0 if name in MULTIPLY else np.inf
    rows = make_rows(model, dtype=np.float32, largest=largest)
    # Each wrong branch would change a sum by far more than rounding does.
    rtol = 1e-3 if name in MULTIPLY else 2e-5
    check(model, to_onnx(model, dtype=np.float32), rows, rtol=rtol, atol=2e-5)


@pytest.mark.parametrize("name", [*FITTED, *MIXED_ENSEMBLES])
def test_fitted_models(name):
    model = fit_model(name)
    portable = describe(model)
    rows = make_rows(portable, 80)
    frame, found = make_frame(rows), run(to_onnx(model), rows)
    outputs = found["probabilities" if portable.is_classifier else "variable"]
    np.testing.assert_allclose(outputs, predict_outputs(model, frame), rtol=1e-12, atol=1e-13)
    if portable.is_classifier:
        check_labels(found["label"], model, frame)


@pytest.mark.parametrize("name", ENSEMBLES)
def test_ensembles_of_members(name):
    model = fit_ensemble(name)
    X = np.random.default_rng(1).normal(size=(30, 4)).round(1)
    found = run(to_onnx(model), X.tolist())
    outputs = found["probabilities" if describe(model, nested=True).is_classifier else "variable"]
    np.testing.assert_allclose(outputs, predict_outputs(model, X), rtol=1e-12, atol=1e-13)


def test_linear_booster_and_linear_leaves():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = X @ [1.0, 2.0, -1.0] + (X[:, 0] > 0)
    rows = X[:20].copy()
    rows[::5, 1], rows[3, 0], rows[4, 2] = np.nan, np.inf, -np.inf
    for options in ({"booster": "linear"}, {"leaves": sumwise.LinearLeaves()}):
        model = sumwise.GradientBoostingRegressor(n_estimators=5, **options).fit(X, y)
        found = run(to_onnx(model), rows.tolist())["variable"][:, 0]
        np.testing.assert_allclose(found, model.predict(rows), rtol=1e-12)


@pytest.mark.parametrize(
    "threshold", [0.1, 1 / 3, -0.1, 1e300, -1e300, 1e-300, -1e-300, 16777217.0, 1e-45, np.inf]
)
def test_every_float32_number_near_a_threshold_takes_its_branch(threshold):
    with np.errstate(over="ignore", under="ignore"):
        near = np.float32(threshold)
        sides = np.nextafter(near, np.array([-np.inf, np.inf], dtype=np.float32))
    x = np.array([near, *sides, 0.0, -0.0, np.inf, -np.inf, np.nan])
    model = PortableModel("Stump", NUMBERS[:1], make_stump(Column((0,)), threshold))
    rows = x[:, None].tolist()
    found = run(to_onnx(model, dtype="float32"), rows)["variable"][:, 0]
    assert (found == 1.0).tolist() == [row[0] <= threshold for row in rows]


def test_large_sets_of_categories():
    rng = np.random.default_rng(0)
    inputs = (Input("id", CATEGORY, tuple(range(500))), *NUMBERS[:1])
    model = PortableModel("Graph", inputs, make_trees(rng, inputs, 3, depth=4))
    check(model, to_onnx(model), make_rows(model, 300))


def test_one_row_and_many_rows_and_threads():
    model = make_graph("numbers")
    session = start(to_onnx(model))
    several = ort.InferenceSession(
        to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    rows = make_rows(model, 400)
    expected = predict_rows(model, rows)
    for own in (session, several):
        single = [run_session(own, [row])["variable"][0] for row in rows[:20]]
        np.testing.assert_allclose(single, expected[:20], rtol=1e-12)
        np.testing.assert_allclose(run_session(own, rows)["variable"], expected, rtol=1e-12)


def test_a_matrix_holds_numbers_as_categories():
    model = make_graph("shops")
    rows = [[-0.0, 1.0, 0.25], [4.0, np.nan, -0.5], [4.5, 0.0, 7.0]]
    graph = to_onnx(model)
    assert [own.name for own in graph.graph.input] == ["X"]
    check(model, graph, rows)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["shops", "numbers", "three_kinds"])
def test_one_input_per_feature(name, dtype):
    model = make_graph(name)
    graph = to_onnx(model, inputs="columns", dtype=dtype)
    assert [own.name for own in graph.graph.input] == [own.name for own in model.inputs]
    rows = make_rows(model, dtype=np.dtype(dtype).type)
    rtol = 1e-12 if dtype == "float64" else 2e-5
    check(model, graph, rows, rtol=rtol, atol=rtol)


def test_large_integers_as_categories():
    known = Input("id", CATEGORY, (2**53, 2**53 + 1, 2**62))
    model = PortableModel("Graph", (known,), make_trees(np.random.default_rng(1), (known,), 5))
    rows = [[2**53], [2**53 + 1], [2**62], [2**62 + 1], [np.nan]]
    check(model, to_onnx(model), rows)
    with pytest.raises(ExportError, match="'id' does not fit into a matrix of float64"):
        to_onnx(model, inputs="matrix")
    huge = PortableModel("Graph", (Input("id", CATEGORY, (1, 2**63 + 1)),), model.output)
    with pytest.raises(ExportError, match="beyond the integers of ONNX"):
        to_onnx(huge)


@pytest.mark.parametrize("labels", [["a", "b"], [3, -7], [False, True], [0.5, 1.5]])
def test_labels_keep_their_type(labels):
    graph = make_graph("logistic")
    model = PortableModel("Graph", graph.inputs, graph.output, (np.array(labels),))
    found = run(to_onnx(model), make_rows(model))["label"].tolist()
    assert set(found) == set(labels)
    assert type(found[0]) is type(labels[0])


def test_labels_of_other_types_are_refused():
    graph = make_graph("logistic")
    classes = np.array([1, "a"], dtype=object)
    with pytest.raises(ExportError, match="class labels of type int, str"):
        to_onnx(PortableModel("Graph", graph.inputs, graph.output, (classes,)))


def test_a_feature_may_have_the_name_of_an_output():
    model = make_graph("numbers")
    inputs = (Input("variable"), *model.inputs[1:])
    graph = to_onnx(PortableModel("Graph", inputs, model.output), inputs="columns")
    assert [own.name for own in start(graph).get_outputs()] == ["variable_"]


def test_an_empty_name_is_refused_as_an_input():
    model = make_graph("numbers")
    model = PortableModel("Graph", (Input(""), *model.inputs[1:]), model.output)
    assert [own.name for own in start(to_onnx(model)).get_inputs()] == ["X"]
    with pytest.raises(ExportError, match="empty name '', which ONNX cannot hold"):
        to_onnx(model, inputs="columns")


def test_metadata_name_the_features():
    about = start(to_onnx(make_graph("numbers"))).get_modelmeta().custom_metadata_map
    assert about == {"estimator": "Graph", "features": '["x0", "x1", "x2"]'}


def test_writes_files(tmp_path):
    model = make_graph("numbers")
    file = io.BytesIO()
    made = to_onnx(model, path=file)
    to_onnx(model, path=tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").read_bytes() == file.getvalue() == made.SerializeToString()
    assert onnx.load(tmp_path / "model.onnx") == made


def test_refuses_other_parameters():
    with pytest.raises(ParameterError, match="dtype must be 'float64' or 'float32', not 'float16'"):
        to_onnx(make_graph("numbers"), dtype="float16")
    with pytest.raises(ParameterError, match="inputs must be"):
        to_onnx(make_graph("numbers"), inputs="frame")


def test_the_extra_is_named_if_it_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"sumwise\[onnx\]"):
        to_onnx(make_graph("numbers"))
