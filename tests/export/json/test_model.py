"""Models as JSON: the same predictions after reading, a schema that holds, and hostile text."""

import json
import math
import re
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sumwise
from sumwise.errors import ExportError, ModelFileError
from sumwise.export import JSON_SCHEMA, from_json, to_json
from sumwise.export.json.schema import check_document
from sumwise.export.portable import (
    Affine,
    Column,
    Curve,
    Input,
    Link,
    Median,
    PortableModel,
    Share,
    Vote,
)
from tests.export.random_models import MIXED, make_model, make_rows, make_trees
from tests.naive.json_model import predict_document
from tests.naive.portable import predict_row

OPTIONS = [
    {},
    {"n_outputs": 3, "n_trees": 6},
    {"n_outputs": 4, "n_values": 2},
    {"with_lookups": True},
    {"with_linear": True},
    {"n_trees": 0},
]


NO_SETS = dict.fromkeys(("set_node", "set_size", "set_categories"), np.empty(0, dtype=np.int32))


def make_graph(rng):
    """A model with every kind of node; one node is used twice."""
    one, three = make_trees(rng, MIXED), make_trees(rng, MIXED, n_outputs=3, n_values=3)
    line = Affine(
        (one, three),
        rng.normal(size=(3, 4)),
        rng.normal(size=3),
        (Column((0,)), Column((1,))),
        rng.normal(size=(3, 2)),
    )
    curve = Curve(
        Link(line, "sigmoid"),
        (np.array([0.0, 0.5, 1.0]), np.array([0.3]), np.array([0.1, 0.9])),
        (np.array([0.0, 0.1, 1.0]), np.array([0.3]), np.array([1.0, 0.0])),
    )
    vote = Vote((Share(curve), Link(three, "softmax")), np.array([0.5, 2.0]))
    median = Median(one, rng.random(one.n_trees))
    over = replace(one, columns=tuple(Column((), None, three, k % 3) for k in range(5)))
    over = replace(over, trees=replace(over.trees, **NO_SETS))
    last = Affine((vote, median, over), rng.normal(size=(2, 5)), np.zeros(2))
    return PortableModel("Graph", MIXED, last, (np.array(["no", "yes"]),))


def check_same(model):
    text = to_json(model)
    again = from_json(text)
    for row in make_rows(model, 20):
        expected = predict_row(model, row)
        np.testing.assert_array_equal(predict_row(again, row), expected)
        found = predict_document(text, row)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    assert to_json(again) == text


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("options", OPTIONS)
def test_random_trees_are_read_back(options, seed):
    model = make_model(np.random.default_rng(seed), **options)
    check_same(model)


@pytest.mark.parametrize("seed", range(3))
def test_every_node_is_read_back(seed):
    model = make_graph(np.random.default_rng(seed))
    check_same(model)
    document = json.loads(to_json(model))
    assert [node["type"] for node in document["nodes"]].count("trees") == 3  # each once


def test_a_fitted_model_is_read_back():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.choice(["a", "b", "c"], 60)
    model = sumwise.GradientBoostingClassifier(n_estimators=3).fit(X, y)
    again = from_json(to_json(model))
    assert again.classes[0].tolist() == ["a", "b", "c"]
    found = [predict_row(again, row) for row in X[:9].tolist()]
    np.testing.assert_allclose(found, model.predict_proba(X[:9]), rtol=1e-14)


def test_path(tmp_path):
    model = make_model(np.random.default_rng(0))
    text = to_json(model, path=tmp_path / "model.json")
    assert (tmp_path / "model.json").read_text(encoding="utf-8") == text
    assert to_json(from_json(tmp_path / "model.json")) == text
    assert to_json(from_json(str(tmp_path / "model.json"))) == text
    with pytest.raises(ModelFileError, match="not JSON, nor the path of a file"):
        from_json(str(tmp_path / "other.json"))
    assert to_json(from_json(text.encode())) == text


def test_documents_follow_the_schema():
    check_document(json.loads(to_json(make_graph(np.random.default_rng(0)))))
    for options in OPTIONS:
        check_document(make_document(**options))


def test_the_schema_is_json_and_its_references_resolve():
    text = json.dumps(JSON_SCHEMA)
    for name in set(re.findall(r'"#/\$defs/(\w+)"', text)):
        assert name in JSON_SCHEMA["$defs"]


def test_the_example_of_the_documentation():
    page = Path(__file__).parents[3] / "docs" / "model_schema.md"
    blocks = re.findall(r"```json\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    inputs = [json.loads(line) for line in blocks[0].splitlines()]
    trees = {
        **TREES,
        "columns": [{"inputs": [0]}, {"inputs": [1]}],
        "trees": [json.loads(blocks[-1])],
    }
    document = {**make_document(), "inputs": inputs, "nodes": [trees], "output": 0}
    model = from_json(json.dumps(document))
    rows = [
        [1.0, "blue"],
        [1.0, "red"],
        [1.0, None],
        [1.0, "white"],
        [2.5, "green"],
        [3.0, "green"],
    ]
    rows.append([math.nan, "green"])
    expected = [-0.4, -0.4, -0.4, -0.4, 0.3, -0.2, -0.2]
    assert [predict_row(model, row)[0] for row in rows] == expected
    assert [predict_document(to_json(model), row)[0] for row in rows] == expected


def test_labels_and_categories_that_json_cannot_hold_are_refused():
    trees = make_trees(np.random.default_rng(0), MIXED, n_outputs=2)
    dates = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]").astype(object)
    with pytest.raises(ExportError, match="is a date, which JSON cannot hold"):
        to_json(PortableModel("Trees", MIXED, Link(trees, "softmax"), (dates,)))
    inputs = (Input("a", "category", (1.5, np.inf)),)
    with pytest.raises(ExportError, match="feature 'a' has the category inf"):
        to_json(PortableModel("Line", inputs, Affine((), np.zeros((1, 0)), np.ones(1))))


# --- documents that are wrong ---


def make_document(**options):
    return json.loads(to_json(make_model(np.random.default_rng(1), "identity", **options)))


def change(path, value):
    """Return a function that sets a part of a document."""

    def apply(document):
        place = document
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return apply


TREE = ("nodes", 0, "trees", 1)
WRONG = [
    (("format",), "other", "not a model of sumwise"),
    (("version",), 2, "install a newer sumwise"),
    (("version",), "1", "model.version must be 1"),
    (("output",), 1, "model.output is not the number of a node"),
    (("extra",), 1, "model has 'extra'"),
    (("inputs", 0, "kind"), "text", "model.inputs\\[0\\].kind must be"),
    (("inputs", 3, "categories"), ["b", "a"], "must be ascending"),
    (("inputs", 3, "categories"), ["a", 1], "must be strings or numbers"),
    (("inputs", 0, "categories"), ["a"], "only for kind 'category'"),
    (("classes",), [["a", "b"]], "model.classes must be 1 in all"),
    (("classes",), [["a", 1]], "must be of one type"),
    (("nodes",), [], "must have at least 1"),
    (("nodes", 0, "type"), "forest", "must be one of trees, median"),
    (("nodes", 0, "divisor"), 0, "must be positive"),
    (("nodes", 0, "base_score"), ["inf"], "must be a finite number"),
    (("nodes", 0, "base_score"), [10**400], "must be a finite number"),
    (("nodes", 0, "columns", 0, "inputs"), [99], "must be numbers of inputs"),
    (("nodes", 0, "columns", 0, "inputs"), [0, 1], "must be one, without a lookup"),
    ((*TREE, "left"), [0], "must have"),
    ((*TREE, "left", 0), 0, "is not a tree"),
    ((*TREE, "left", 0), 10**12, "not there"),
    ((*TREE, "left", 0), -1, "is not a tree"),
    ((*TREE, "column", 0), 10**6, "not there"),
    ((*TREE, "column", 0), True, "must be of type integer"),
    ((*TREE, "threshold", 0), "nan", "must not be NaN"),
    ((*TREE, "threshold", 0), "big", "must be 'inf'"),
    ((*TREE, "threshold", 0), None, "must be"),
    ((*TREE, "value", 0), [1.0, 2.0], "must have rows of"),
    ((*TREE, "value", 0), [], "rows of"),
    ((*TREE, "rows", 0), 1 << 70, "64 bits"),
    ((*TREE, "missing_left", 0), 1, "must be of type boolean"),
]


@pytest.mark.parametrize(("path", "value", "message"), WRONG)
def test_wrong_documents_are_refused(path, value, message):
    document = make_document()
    assert document["nodes"][0]["trees"][1]["left"][0] == 1
    change(path, value)(document)
    with pytest.raises(ModelFileError, match=message):
        from_json(json.dumps(document))


ONE = {"type": "affine", "of": [], "coefficient": [[]], "intercept": [1.0]}
TREES = {"type": "trees", "base_score": [0.0], "divisor": 1.0, "trees": []}


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([{"type": "share", "of": 0}], "earlier nodes"),
        ([ONE, {**TREES, "columns": [{"node": 1, "output": 0}]}], "earlier nodes"),
        ([ONE, {**TREES, "columns": [{"node": 0, "output": 1}]}], "number of an output"),
        (
            [ONE, {**ONE, "columns": [{"node": 0, "output": 0}], "column_coefficient": [[1.0]]}],
            "must be of inputs",
        ),
        ([{"type": "median", "of": 0, "weights": [1]}], "earlier nodes"),
        ([{"type": "vote", "of": [], "weights": []}], "at least 1"),
        ([{"type": "affine", "of": [], "coefficient": [[]], "intercept": []}], "per output"),
        ([{"type": "affine", "of": [], "coefficient": [], "intercept": [1]}], "per output"),
    ],
)
def test_nodes_that_do_not_fit_are_refused(nodes, message):
    document = {**make_document(), "nodes": nodes, "output": 0}
    with pytest.raises(ModelFileError, match=message):
        from_json(json.dumps(document))


def test_a_graph_that_grows_without_bound_is_refused():
    """Each node uses the one before twice: written out, there would be 2^80 of them."""
    nodes = [ONE] + [
        {"type": "affine", "of": [k, k], "coefficient": [[0.5, 0.5]], "intercept": [0.0]}
        for k in range(80)
    ]
    document = {**make_document(), "nodes": nodes, "output": 80}
    with pytest.raises(ModelFileError, match="too many nodes"):
        from_json(json.dumps(document))


@pytest.mark.parametrize(
    "text", ["", "[", "[" * 100_000, "NaN", '{"format": "sumwise-model", "version": NaN}', b"\xff"]
)
def test_what_is_not_json_is_refused(text):
    with pytest.raises(ModelFileError):
        from_json(text)


def test_damaged_documents_are_refused_or_read():
    """Whatever a document says, nothing else is raised, and memory stays near its size."""
    rng = np.random.default_rng(0)
    text = to_json(make_graph(rng))
    values = [0, -1, 1 << 40, 1.5, "inf", "x", None, [], {}, True, [[]]]
    tracemalloc.start()
    n_refused = 0
    for _ in range(150):
        document = json.loads(text)
        place, parent, key = document, None, None
        while isinstance(place, (list, dict)) and place and (parent is None or rng.random() < 0.8):
            parent = place
            key = (
                rng.choice(list(place))
                if isinstance(place, dict)
                else int(rng.integers(len(place)))
            )
            place = place[key]
        parent[key] = values[int(rng.integers(len(values)))]
        try:
            from_json(json.dumps(document))
        except ModelFileError:
            n_refused += 1
    assert tracemalloc.get_traced_memory()[1] < 100 * len(text)
    tracemalloc.stop()
    assert n_refused > 100


def test_the_check_reads_the_schema():
    check_document(make_document())
    with pytest.raises(ModelFileError, match="model has no 'nodes'"):
        check_document({k: v for k, v in make_document().items() if k != "nodes"})
