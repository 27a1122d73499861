"""Core ML specifications predict what the models predict, by the rules that Apple documents."""

import io
import sys

import numpy as np
import pytest

import sumwise
from sumwise.errors import ExportError, ParameterError
from sumwise.export.coreml.model import to_coreml
from sumwise.export.portable import CATEGORY, Affine, Column, Input, Link, PortableModel, describe
from tests.export.fitted_models import (
    ENSEMBLES,
    FITTED,
    MIXED_ENSEMBLES,
    fit_ensemble,
    fit_model,
    make_frame,
    predict_outputs,
)
from tests.export.random_models import (
    COLORS,
    GRAPHS,
    MIXED,
    NUMBERS,
    SIZES,
    make_graph,
    make_lookup,
    make_rows,
    make_stump,
    make_trees,
    predict_rows,
)
from tests.naive.coreml import predict, validate

coremltools = pytest.importorskip("coremltools", reason="Core ML needs the package coremltools")

HELD = [
    "numbers",
    "no_trees",
    "one_leaf",
    "constant",
    "colors",
    "shops",
    "three_kinds",
    "targets",
    "vectors",
    "groups",
    "forest",
    "sigmoid",
    "logistic",
    "half_logistic",
    "softmax",
    "mean",
    "identity",
]
# Fitted models with parts that Core ML has no words for.
NOT_HELD = {"poisson", "log1p", "quantiles", "linear_leaves", "one_class"}
NOT_HELD |= {"ada_median", "soft_votes", "isotonic_boosting"}


def run(spec, model, rows, dtype=np.float64):
    """Return the outputs of rows, after the specification is checked."""
    validate(spec)
    names = [own.name for own in model.inputs]
    texts = {own.name for own in spec.description.input if own.type.HasField("stringType")}
    found = []
    for row in rows:
        given = dict(zip(names, row, strict=True))
        given = {k: "" if v is None and k in texts else v for k, v in given.items()}
        given = {k: np.nan if v is None else v for k, v in given.items()}
        found.append(predict(spec, given, dtype))
    return found


def check(model, spec, rows, dtype=np.float64):
    found = run(spec, model, rows, dtype)
    outputs = read_outputs(model, found)
    if model.is_classifier:
        labels = model.classes[0][outputs.argmax(axis=1)].tolist()
        assert [own["classLabel"] for own in found] == labels
    np.testing.assert_allclose(outputs, predict_rows(model, rows), rtol=1e-12, atol=1e-13)


def read_outputs(model, found):
    """Return what was predicted, one row per row and one column per output."""
    if model.is_classifier:
        return np.array([list(own["classProbability"].values()) for own in found])
    return np.array([np.atleast_1d(own["prediction"]) for own in found])


@pytest.mark.parametrize("name", HELD)
def test_graphs(name):
    model = make_graph(name)
    check(model, to_coreml(model, dtype="float64"), make_rows(model))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", HELD)
def test_float32_values_take_the_same_branches_in_both_precisions(name, dtype):
    model = make_graph(name)
    check(model, to_coreml(model), make_rows(model, dtype=np.float32), dtype)


@pytest.mark.parametrize(
    "threshold", [0.1, 1 / 3, -0.1, 1e300, -1e300, 1e-300, -1e-300, 16777217.0, np.inf]
)
def test_float32_values_near_a_threshold(threshold):
    with np.errstate(over="ignore", under="ignore"):
        near = np.float32(threshold)
        sides = np.nextafter(near, np.array([-np.inf, np.inf], dtype=np.float32))
    rows = np.array([near, *sides, 0.0, -0.0, np.inf, -np.inf, np.nan])[:, None].tolist()
    model = PortableModel("Stump", NUMBERS[:1], make_stump(Column((0,)), threshold))
    for dtype in (np.float32, np.float64):
        found = run(to_coreml(model), model, rows, dtype)
        went_left = [own["prediction"] == 1.0 for own in found]
        assert went_left == [row[0] <= threshold for row in rows]


@pytest.mark.parametrize("seed", range(4))
def test_random_trees_of_categories_and_statistics(seed):
    rng = np.random.default_rng(seed)
    inputs = (*MIXED, SIZES)
    more = [make_lookup(rng, inputs, [place]) for place in (3, 4, 5)]
    model = PortableModel("Graph", inputs, make_trees(rng, inputs, 8, more=more, depth=5))
    check(model, to_coreml(model, dtype="float64"), make_rows(model, 80, seed))


def test_sums_of_models_become_one_ensemble():
    rng = np.random.default_rng(0)
    members = (
        make_trees(rng, NUMBERS, 3, n_outputs=2, n_values=2, divisor=3.0),
        Link(make_trees(rng, NUMBERS, 4), "identity"),
    )
    node = Affine(members, rng.normal(size=(3, 3)), rng.normal(size=3))
    model = PortableModel("Graph", NUMBERS, Link(node, "softmax"), (np.array([5, 6, 7]),))
    spec = to_coreml(model, dtype="float64")
    assert spec.WhichOneof("Type") == "treeEnsembleClassifier"
    check(model, spec, make_rows(model))


@pytest.mark.parametrize("name", [*FITTED, *MIXED_ENSEMBLES])
def test_fitted_models(name):
    model = fit_model(name)
    portable = describe(model)
    if name in NOT_HELD:
        with pytest.raises(ExportError, match=r"cannot (hold|be held)"):
            to_coreml(model)
        return
    rows = make_rows(portable, 40)
    found = run(to_coreml(model, dtype="float64"), portable, rows)
    expected = predict_outputs(model, make_frame(rows))
    np.testing.assert_allclose(read_outputs(portable, found), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ENSEMBLES)
def test_ensembles_of_members(name):
    model = fit_ensemble(name)
    X = np.random.default_rng(1).normal(size=(30, 4)).round(1)
    portable = describe(model, nested=True)
    if not name.startswith(("bagging", "ada_stumps", "ada_trees", "logistic")):
        with pytest.raises(ExportError, match=r"cannot (hold|be held)"):
            to_coreml(model)
        return
    found = run(to_coreml(model, dtype="float64"), portable, X.tolist())
    outputs = read_outputs(portable, found)
    np.testing.assert_allclose(outputs, predict_outputs(model, X), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ["numbers", "colors", "softmax", "targets"])
def test_coremltools_loads_the_specification(name, tmp_path):
    model = make_graph(name)
    spec = to_coreml(model, path=tmp_path / "model.mlmodel")
    assert coremltools.utils.load_spec(str(tmp_path / "model.mlmodel")) == spec
    loaded = coremltools.models.MLModel(spec, skip_model_load=True)
    assert loaded.get_spec() == spec
    assert list(loaded.input_description) == [own.name for own in model.inputs]


def test_files_have_the_same_bytes_each_time():
    files = [io.BytesIO(), io.BytesIO()]
    for file in files:
        spec = to_coreml(make_graph("colors"), path=file)
    assert files[0].getvalue() == files[1].getvalue() == spec.SerializeToString(deterministic=True)


def test_models_without_numbers_or_splits():
    model = PortableModel(
        "Graph", (COLORS,), make_trees(np.random.default_rng(0), (COLORS,), 1, depth=0)
    )
    check(model, to_coreml(model), [["red"], [None], ["purple"]])


def test_an_empty_name_is_refused():
    inputs = (Input(""), *NUMBERS[1:])
    with pytest.raises(ExportError, match="empty name '', which Core ML cannot hold"):
        to_coreml(PortableModel("Graph", inputs, make_graph("numbers").output))


def test_features_may_have_the_names_of_outputs():
    inputs = (Input("prediction"), *NUMBERS[1:])
    spec = to_coreml(PortableModel("Graph", inputs, make_graph("numbers").output))
    assert [own.name for own in spec.description.output] == ["prediction_"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("linear", "linear models in their leaves"),
        ("lookups", "statistics of combinations of categorical features"),
        ("median", "a weighted median of trees"),
        ("log", "the link function 'log'; use to_onnx"),
        ("log1p", "the link function 'log1p'"),
        ("sorted", "the link function 'sorted'"),
        ("votes", "shares of votes"),
        ("curves", "shares of votes"),
        ("stack", "the link function 'logistic' inside of a model|a linear function of the"),
        ("two_targets", "Core ML predicts one label"),
        ("nested", "trees of a meta-learner"),
    ],
)
def test_parts_that_core_ml_cannot_hold(name, message):
    assert set(HELD).isdisjoint([name])
    with pytest.raises(ExportError, match=message):
        to_coreml(make_graph(name))


def test_every_graph_is_held_or_refused():
    for name in set(GRAPHS) - set(HELD):
        with pytest.raises(ExportError):
            to_coreml(make_graph(name))


def test_linear_booster_is_refused():
    X = np.arange(60.0).reshape(20, 3)
    model = sumwise.GradientBoostingRegressor(n_estimators=3, booster="linear").fit(X, X[:, 0])
    with pytest.raises(ExportError, match="a linear function of the features"):
        to_coreml(model)


def test_refuses_categories_labels_and_parameters():
    graph = make_graph("logistic")
    for labels in ([0.5, 1.5], np.array([1, "a"], dtype=object)):
        with pytest.raises(ExportError, match="text and integers as class labels"):
            to_coreml(PortableModel("Graph", graph.inputs, graph.output, (np.array(labels),)))
    inputs = (Input("id", CATEGORY, (1, 2**24 + 1)),)
    trees = make_trees(np.random.default_rng(0), inputs)
    with pytest.raises(ExportError, match="16777217 of feature 'id' is not a number of single"):
        to_coreml(PortableModel("Graph", inputs, trees))
    with pytest.raises(ParameterError, match="dtype must be 'float32' or 'float64'"):
        to_coreml(graph, dtype="float16")


def test_the_extra_is_named_if_it_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "coremltools.proto", None)
    with pytest.raises(ImportError, match=r"sumwise\[coreml\]"):
        to_coreml(make_graph("numbers"))
