"""PMML documents predict in JPMML and PMML4S what they predict here."""

import io
import shutil
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import sumwise
from sumwise.errors import ExportError
from sumwise.export.pmml.document import to_pmml
from sumwise.export.portable import CATEGORY, Input, PortableModel, describe
from tests.export.fitted_models import (
    ENSEMBLES,
    FITTED,
    check_labels,
    fit_ensemble,
    fit_model,
    make_frame,
    predict_outputs,
)
from tests.export.random_models import (
    GRAPHS,
    MIXED,
    MULTIPLY,
    NUMBERS,
    SIZES,
    find_labels,
    make_graph,
    make_lookup,
    make_rows,
    make_trees,
    predict_rows,
)

needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="PMML engines need Java")


@pytest.fixture(scope="module")
def _short_lived():
    """Java runs for a few seconds: it compiles little, and one thread collects garbage."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        yield


@pytest.fixture(scope="module")
def jpmml(_short_lived, tmp_path_factory):
    """Return a function that evaluates rows by JPMML, in a Java process of its own."""
    evaluator = pytest.importorskip("jpmml_evaluator", reason="PMML is judged by jpmml_evaluator")
    from jpmml_evaluator.py4j import Py4JBackend

    backend = Py4JBackend()
    schema = make_schema(backend.gateway)
    path = tmp_path_factory.mktemp("jpmml") / "model.pmml"

    def evaluate(document, frame):
        path.write_text(document, encoding="utf-8")
        source = backend.gateway.jvm.javax.xml.transform.stream.StreamSource(str(path))
        schema.newValidator().validate(source)
        made = evaluator.make_evaluator(str(path), backend=backend).verify()
        found = made.evaluateAll(frame, parallelism=1)
        assert "errors" not in found or found["errors"].isna().all(), found["errors"].dropna()
        return found

    yield evaluate
    Py4JBackend.destroyGateway()


def make_schema(gateway):
    """Return the XML schema of PMML that JPMML comes with."""
    java = gateway.jvm.java
    resource = java.lang.ClassLoader.getSystemResource("pmml.xsd")
    factory = gateway.jvm.javax.xml.validation.SchemaFactory
    return factory.newInstance("http://www.w3.org/2001/XMLSchema").newSchema(resource)


@pytest.fixture(scope="module")
def pmml4s(_short_lived):
    """Return a function that evaluates rows by PMML4S, in a Java process of its own."""
    pypmml = pytest.importorskip("pypmml", reason="PMML is judged by pypmml")

    def evaluate(document, frame):
        model = pypmml.Model.fromString(document)
        return pd.DataFrame([dict(model.predict(row)) for row in frame.to_dict("records")])

    yield evaluate
    pypmml.Model.close()


def make_pmml_frame(model, rows):
    """Return rows with None for missing values."""
    clean = [[None if value != value else value for value in row] for row in rows]
    return pd.DataFrame(clean, columns=[own.name for own in model.inputs], dtype=object)


def check(model, found, rows):
    expected = predict_rows(model, rows)
    np.testing.assert_allclose(read_outputs(model, found), expected, rtol=1e-12, atol=1e-13)
    labels = find_labels(model, read_outputs(model, found))
    for k, own in enumerate(labels):
        name = "predicted_target" + ("" if len(labels) == 1 else f"_{k}")
        assert found[name].tolist() == own.tolist()


def read_outputs(model, found):
    if model.is_classifier:
        names = [
            f"probability{'' if len(model.classes) == 1 else f'_{k}'}({label})"
            for k, classes in enumerate(model.classes)
            for label in classes.tolist()
        ]
    elif model.n_outputs == 1:
        names = ["predicted_target"]
    else:
        names = [f"predicted_target_{k}" for k in range(model.n_outputs)]
    return found[names].to_numpy(dtype=float)


@needs_java
@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_in_jpmml(name, jpmml):
    model = make_graph(name)
    largest = 100.0 if name in MULTIPLY else np.inf
    rows = make_rows(model, 30, largest=largest)
    check(model, jpmml(to_pmml(model), make_pmml_frame(model, rows)), rows)


# PMML4S evaluates one target; of two values at half of the weight, its median is the larger one.
NOT_IN_PMML4S = {"two_targets", "equal_median"}


@needs_java
@pytest.mark.parametrize("name", [name for name in GRAPHS if name not in NOT_IN_PMML4S])
def test_graphs_in_pmml4s(name, pmml4s):
    model = make_graph(name)
    largest = 100.0 if name in MULTIPLY else np.inf
    rows = make_rows(model, 20, largest=largest)
    check(model, pmml4s(to_pmml(model), make_pmml_frame(model, rows)), rows)


@needs_java
@pytest.mark.parametrize("seed", range(1, 6))
def test_random_trees_in_jpmml(seed, jpmml):
    rng = np.random.default_rng(seed)
    inputs = (*MIXED, SIZES)
    more = [make_lookup(rng, inputs, places) for places in ([4], [3, 4])]
    model = PortableModel("Graph", inputs, make_trees(rng, inputs, 8, more=more, depth=5))
    rows = make_rows(model, 100, seed)
    check(model, jpmml(to_pmml(model), make_pmml_frame(model, rows)), rows)


@needs_java
@pytest.mark.parametrize("name", FITTED)
def test_fitted_models(name, jpmml):
    model = fit_model(name)
    portable = describe(model)
    rows = make_rows(portable, 40)
    frame = make_frame(rows)
    found = jpmml(to_pmml(model), make_pmml_frame(portable, rows))
    expected = predict_outputs(model, frame)
    np.testing.assert_allclose(read_outputs(portable, found), expected, rtol=1e-12, atol=1e-13)
    if portable.is_classifier:
        check_labels(found["predicted_target"], model, frame)


@needs_java
@pytest.mark.parametrize("name", ENSEMBLES)
def test_ensembles_of_members(name, jpmml):
    model = fit_ensemble(name)
    X = np.random.default_rng(1).normal(size=(30, 4)).round(1)
    portable = describe(model, nested=True)
    found = jpmml(to_pmml(model), make_pmml_frame(portable, X.tolist()))
    outputs = read_outputs(portable, found)
    np.testing.assert_allclose(outputs, predict_outputs(model, X), rtol=1e-12, atol=1e-13)


@needs_java
@pytest.mark.parametrize("options", [{"booster": "linear"}, {"leaves": sumwise.LinearLeaves()}])
def test_linear_booster_and_linear_leaves(options, jpmml):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = X @ [1.0, 2.0, -1.0] + (X[:, 0] > 0)
    model = sumwise.GradientBoostingRegressor(n_estimators=5, **options).fit(X, y)
    rows = X[:20].copy()
    rows[::5, 1] = np.nan
    if "leaves" in options:
        rows[3, 0], rows[4, 2] = np.inf, -np.inf
    found = jpmml(to_pmml(model), make_pmml_frame(describe(model), rows.tolist()))
    np.testing.assert_allclose(found["predicted_target"], model.predict(rows), rtol=1e-12)


@needs_java
@pytest.mark.parametrize("labels", [["b", "a", "c"], [3, -7, 5], [0.5, 1.5, 2.5], [7, 10**12, 8]])
def test_the_first_of_equal_classes_is_predicted(labels, jpmml, pmml4s):
    trees = make_trees(np.random.default_rng(0), NUMBERS, 1, n_outputs=3, n_values=3, depth=0)
    trees.trees.value[:] = [0.2, 0.4, 0.4]
    trees.base_score[:] = 0.0
    model = PortableModel("Graph", NUMBERS, trees, (np.array(labels),))
    for evaluate in (jpmml, pmml4s):
        found = evaluate(to_pmml(model), make_pmml_frame(model, make_rows(model, 2)))
        assert found["predicted_target"].tolist() == [labels[1]] * 2


@needs_java
def test_labels_may_be_booleans(jpmml):
    graph = make_graph("logistic")
    model = PortableModel("Graph", graph.inputs, graph.output, (np.array([False, True]),))
    rows = make_rows(model, 10)
    found = jpmml(to_pmml(model), make_pmml_frame(model, rows))
    expected = predict_rows(model, rows).argmax(axis=1) == 1
    assert found["predicted_target"].tolist() == expected.tolist()


@needs_java
def test_features_may_have_the_names_of_fields(jpmml):
    inputs = tuple(Input(name) for name in ("target", "trees", 'a <b> & "c"'))
    model = PortableModel("Graph", inputs, make_graph("numbers").output)
    rows = make_rows(model, 10)
    check(model, jpmml(to_pmml(model), make_pmml_frame(model, rows)), rows)


def test_writes_files(tmp_path):
    model = make_graph("colors")
    file = io.BytesIO()
    document = to_pmml(model, path=file)
    to_pmml(model, path=tmp_path / "model.pmml")
    assert (tmp_path / "model.pmml").read_bytes() == file.getvalue() == document.encode()
    root = ElementTree.fromstring(document.encode())
    assert root.tag == "{http://www.dmg.org/PMML-4_4}PMML"


def test_deep_trees_are_written():
    rng = np.random.default_rng(0)
    X = np.arange(1500.0)[:, None] ** 3
    model = sumwise.DecisionTreeRegressor().fit(X, rng.normal(size=1500) + X[:, 0] ** 2)
    ElementTree.fromstring(to_pmml(model).encode())


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ((Input("a", CATEGORY, ("",)),), "cannot hold the category ''"),
        ((Input("a", CATEGORY, ("b ",)),), "cannot hold the category 'b '"),
        ((Input("a", CATEGORY, (1, 2**60)),), "beyond 2\\*\\*53"),
        ((Input("a\0"),), "XML cannot hold the characters"),
        ((Input("a"), Input("")), "a feature has the empty name '', which PMML cannot hold"),
    ],
)
def test_names_that_xml_cannot_hold_are_refused(inputs, message):
    trees = make_trees(np.random.default_rng(0), inputs)
    with pytest.raises(ExportError, match=message):
        to_pmml(PortableModel("Graph", inputs, trees))


def test_mixed_labels_are_refused():
    graph = make_graph("logistic")
    classes = np.array([1, "a"], dtype=object)
    with pytest.raises(ExportError, match="class labels"):
        to_pmml(PortableModel("Graph", graph.inputs, graph.output, (classes,)))
