"""Exported Python computes what the model computes, without any package."""

import ast
import math
import subprocess
import sys

import numpy as np
import pytest

from sumwise.errors import ExportError, ParameterError
from sumwise.export import to_python
from sumwise.export.portable import Link, PortableModel, TreeSum
from sumwise.export.python import trees as python_trees
from tests.export.random_models import make_line
from tests.export.source_cases import (
    ODD_INPUTS,
    Case,
    find_labels,
    fit_cases,
    make_case_of_numbers,
    make_chain_case,
    make_graph_cases,
    make_model,
    make_odd_trees,
)


def load(model):
    """Return the names of an exported module."""
    module = {}
    exec(compile(to_python(model), "exported", "exec"), module)
    return module


def predict(module, case):
    names = [own.name for own in case.model.inputs]
    for k, row in enumerate(case.rows):
        by_name = dict(zip(names, row, strict=True))
        yield module["_compute"](row if k % 2 else by_name)


def check_outputs(module, case):
    found = np.array(list(predict(module, case)))
    if case.is_exact:
        np.testing.assert_array_equal(found, case.outputs, err_msg=case.name)
    else:
        np.testing.assert_allclose(found, case.outputs, rtol=1e-13, atol=1e-300, err_msg=case.name)


@pytest.fixture(scope="module")
def cases():
    graphs = *make_graph_cases(), *make_graph_cases(seed=1)
    return [*fit_cases(), *graphs, make_case_of_numbers(), make_chain_case(True, n_splits=0)]


@pytest.mark.parametrize("form", ["expressions", "tables"])
def test_python_computes_the_outputs(cases, form, monkeypatch):
    if form == "tables":
        monkeypatch.setattr(python_trees, "_MOST_CODED_NODES", 0)
    for case in cases:
        module = load(case.model)
        check_outputs(module, case)
        check_results(module, case)


def check_results(module, case):
    """Compare what users see with the outputs."""
    row = case.rows[3]
    outputs = module["_compute"](row)
    if not case.model.classes:
        assert module["predict"](row) == (outputs if len(outputs) > 1 else outputs[0])
        return
    labels = [module["predict"](row) for row in case.rows]
    if case.is_exact:
        expected = find_labels(case)
        assert labels == (expected if len(expected[0]) > 1 else [own[0] for own in expected])
    shares = module["predict_proba"](row)
    if len(case.model.classes) == 1:
        assert shares == outputs
        assert not case.labels or labels == case.labels
    else:
        assert [len(own) for own in shares] == [own.size for own in case.model.classes]
        assert [x for own in shares for x in own] == outputs


def test_a_module_runs_without_packages(cases, tmp_path):
    case = next(case for case in cases if case.name == "encoded")
    to_python(case.model, name="shop", path=tmp_path / "shop.py")
    code = f"import shop, sys; print(shop.predict({case.rows[0]!r}), 'numpy' in sys.modules)"
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, '.'); {code}"]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout.split() == [case.labels[0], "False"]


def test_modules_are_valid_for_old_versions(cases):
    for case in cases:
        ast.parse(to_python(case.model), feature_version=(3, 8))


def test_functions_are_split_for_large_models(monkeypatch):
    monkeypatch.setattr(python_trees, "_NODES_PER_FUNCTION", 20)
    sums = [case for case in make_graph_cases() if isinstance(case.model.output, TreeSum)]
    large = [case for case in sums if case.model.output.trees.n_nodes > 60]
    assert len(large) > 2
    for case in large:
        assert to_python(case.model).count("def _trees") > 1
        check_outputs(load(case.model), case)


@pytest.mark.parametrize("grows_left", [True, False])
def test_a_deep_tree_becomes_a_table(grows_left):
    case = make_chain_case(grows_left)
    assert "_unpack" in to_python(case.model)
    check_outputs(load(case.model), case)


def test_a_long_linear_function_is_not_one_expression():
    """Python's compiler is recursive."""
    rng = np.random.default_rng(0)
    model = PortableModel("Line", ODD_INPUTS, make_line(rng, 1, n_terms=4_000))
    case = Case.by_twin("line", model, [[0.5, 0.25, None, None, None]])
    check_outputs(load(model), case)


def test_rows_are_checked():
    module = load(make_model(["a", "b"]))
    with pytest.raises(ValueError, match="the row has no 'b'; pass None if it is missing"):
        module["predict"]({"a": 1.0})
    with pytest.raises(ValueError, match="the row has 3 values, expected 2"):
        module["predict"]([1.0, 2.0, 3.0])
    assert module["predict"]({"b": None, "a": 1, "id": 7}) == module["predict"]([1.0, math.nan])
    assert module["FEATURES"] == ["a", "b"]


def test_any_names_can_be_written():
    names = ['"""', "\\", "größe", "\n", "a'b", "class", ""]
    module = load(make_model(names, categories=["\ud800", "\0", '"'], classes=["\n", "ü"]))
    assert module["FEATURES"] == names
    assert module["predict"](["\0", *[1.0] * 6]) in ("\n", "ü")


def test_numbers_of_other_types_are_read():
    module = load(make_model(["a"], categories=[1, 2, 3]))
    results = [module["predict"]([value]) for value in (2, 2.0, np.int64(2), np.float32(2))]
    assert len(set(results)) == 1


@pytest.mark.parametrize("name", ["", "a b", "class", "models.import"])
def test_a_name_that_is_no_module_is_refused(name):
    with pytest.raises(ParameterError, match="not the name of a module"):
        to_python(make_model(["a"]), name=name)


def test_an_unknown_link_is_refused():
    trees = make_odd_trees(np.random.default_rng(0), 2)
    model = PortableModel("Model", ODD_INPUTS, Link(trees, "probit"))
    with pytest.raises(ExportError, match="the link 'probit'"):
        to_python(model)
