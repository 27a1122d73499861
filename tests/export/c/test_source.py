"""C and C++ compute what the model computes, and compile without warnings."""

import ctypes
import math
import shutil
import subprocess

import numpy as np
import pytest

from sumwise.errors import ExportError, ParameterError
from sumwise.export import to_c, to_cpp
from sumwise.export.portable import CATEGORY, PortableModel
from tests.export.source_cases import (
    find_labels,
    fit_cases,
    make_case_of_numbers,
    make_chain_case,
    make_graph_cases,
    make_model,
)
from tests.naive.portable import predict_label, predict_row

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler (cc)")
needs_cpp = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")


@pytest.fixture(scope="module")
def cases():
    graphs = *make_graph_cases(), *make_graph_cases(seed=1)[::2]
    return [*fit_cases(), *graphs, make_chain_case(True), make_chain_case(True, n_splits=0)]


def compile_library(folder, command, source):
    """Compile a source into a shared library, with all warnings as errors."""
    target = folder / f"{source}.so"
    options = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-shared", "-fPIC"]
    subprocess.run([*command, *options, source, "-o", str(target), "-lm"], cwd=folder, check=True)
    return ctypes.CDLL(str(target))


@pytest.fixture(scope="module")
def library(cases, tmp_path_factory):
    """Compile the C sources of all cases."""
    folder = tmp_path_factory.mktemp("c")
    for case in cases:
        to_c(case.model, name=case.name, path=folder / f"{case.name}.c")
    (folder / "all.c").write_text("".join(f'#include "{case.name}.c"\n' for case in cases))
    return compile_library(folder, ["cc", "-std=c99"], "all.c")


def name_feature(case, k):
    return case.model.inputs[k].name.replace(" ", "_")


def encode(library, case, k, value):
    """Return what ``x`` holds for a value."""
    own = case.model.inputs[k]
    value = math.nan if value is None else value
    if own.kind != CATEGORY:
        return float(value)
    function = getattr(library, f"{case.name}_encode_{name_feature(case, k)}")
    function.restype = ctypes.c_double
    if not isinstance(own.categories[0], str):
        return function(ctypes.c_double(value))
    return function(ctypes.c_char_p(None if value != value else value.encode()))


def predict(library, case):
    """Return the outputs of all rows."""
    found = np.empty_like(case.outputs)
    for row, out in zip(case.rows, found, strict=True):
        x = np.array([encode(library, case, k, value) for k, value in enumerate(row)])
        pointers = (ctypes.c_void_p(array.ctypes.data) for array in (x, out))
        getattr(library, f"{case.name}_predict")(*pointers)
    return found


def check_outputs(found, case):
    if case.is_exact:
        np.testing.assert_array_equal(found, case.outputs, err_msg=case.name)
    else:
        np.testing.assert_allclose(found, case.outputs, rtol=1e-13, atol=1e-300, err_msg=case.name)


@needs_cc
def test_c_computes_the_outputs(library, cases):
    for case in cases:
        check_outputs(predict(library, case), case)


LABEL_TYPES = {"U": ctypes.c_char_p, "O": ctypes.c_char_p, "i": ctypes.c_int64}
LABEL_TYPES |= {"f": ctypes.c_double, "b": ctypes.c_int}


@needs_cc
def test_c_finds_the_labels(library, cases):
    classifiers = [case for case in cases if case.model.classes]
    assert len(classifiers) > 10
    for case in classifiers:
        several = len(case.model.classes) > 1
        for target, labels in enumerate(case.model.classes):
            function = getattr(library, f"{case.name}_label" + (f"_{target}" if several else ""))
            function.restype = LABEL_TYPES[labels.dtype.kind]
            found = [function(ctypes.c_void_p(out.ctypes.data)) for out in case.outputs]
            found = [f.decode() if isinstance(f, bytes) else f for f in found]
            assert found == [each[target] for each in find_labels(case)], case.name
            assert several or not case.labels or found == case.labels


# --- C++ ---

CPP_CASES = ["leaf_wise", "encoded", "linear_leaves", "forest_3"]
CPP_CASES += ["graph_linear_0", "graph_stack_0", "graph_two_targets_0"]


@pytest.fixture(scope="module")
def cpp_cases(cases):
    return [case for case in cases if case.name in CPP_CASES]


@pytest.fixture(scope="module")
def cpp_library(cpp_cases, tmp_path_factory):
    """Compile C++ sources, with functions of C that call them."""
    folder = tmp_path_factory.mktemp("cpp")
    lines = []
    for case in cpp_cases:
        name = case.name
        to_cpp(case.model, name=name, path=folder / f"{name}.cpp")
        to_cpp(case.model, name=name, path=folder / f"{name}.hpp", header=True)
        lines += [f'#include "{name}.cpp"', f'#include "{name}.hpp"', 'extern "C" {']
        call = f"{name}::predict(x, out);"
        lines.append(f"void {name}_predict(const double *x, double *out) {{ {call} }}")
        for k, own in enumerate(case.model.inputs):
            if own.kind == CATEGORY:
                kind = "const char *" if isinstance(own.categories[0], str) else "double "
                feature = name_feature(case, k)
                lines += [
                    f"double {name}_encode_{feature}({kind}value)",
                    f"{{ {name}::Row row; row.{feature} = value;",
                    f"  double x[{name}::n_inputs]; row.fill(x); return x[{k}]; }}",
                ]
        lines.append("}")
    (folder / "all.cpp").write_text("\n".join(lines))
    return compile_library(folder, ["g++", "-std=c++11"], "all.cpp")


@needs_cpp
def test_cpp_computes_the_outputs(cpp_library, cpp_cases):
    for case in cpp_cases:
        check_outputs(predict(cpp_library, case), case)


MAIN = """
#include "stack.hpp"
#include "two_targets.hpp"
#include <cstdio>
#include <string>
int main()
{
    stack::Row row;
    row.size = 0.25;
    row.color = std::string("green");
    row.shop = 7;
    const std::string label = stack::predict(row);
    two_targets::Row other;
    other.color = nullptr;
    bool first = two_targets::predict_0(other);
    double second = two_targets::predict_1(other);
    std::printf("%s %.17g %d %g\\n", label.c_str(), stack::predict_proba(row)[1], first, second);
}
"""


@needs_cpp
def test_a_program_of_cpp_predicts_rows(cpp_cases, tmp_path):
    by_name = {case.name: case.model for case in cpp_cases}
    stack, two_targets = by_name["graph_stack_0"], by_name["graph_two_targets_0"]
    for name, model in (("stack", stack), ("two_targets", two_targets)):
        to_cpp(model, name=name, path=tmp_path / f"{name}.cpp")
        to_cpp(model, name=name, path=tmp_path / f"{name}.hpp", header=True)
    (tmp_path / "main.cpp").write_text(MAIN)
    sources = ["main.cpp", "stack.cpp", "two_targets.cpp"]
    options = ["-std=c++11", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    subprocess.run(["g++", *options, *sources, "-o", "main"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "main"], check=True, capture_output=True, text=True)
    label, probability, first, second = done.stdout.split()
    row = [0.25, None, "green", 7, None]
    outputs = predict_row(stack, row)
    assert label == predict_label(stack, row)
    assert float(probability) == pytest.approx(outputs[1], rel=1e-14)
    others = predict_row(two_targets, [None] * 5)
    assert bool(int(first)) == (others[1] > others[0])
    assert float(second) == 0.5 + int(np.argmax(others[2:]))


# --- names, strings, errors ---


@needs_cc
@pytest.mark.parametrize("language", ["c", "c++", "c as c++"])
def test_any_names_compile(language, tmp_path):
    names = [
        "class",
        "a*/b",
        "/*",
        "N_INPUTS",
        "x\\",
        "größe",
        "Größe",
        "",
        "1",
        "a b",
        "a_b",
        "\n",
    ]
    names += ["double", "A B", "missing", "fill", "Row", "??/", "code", "categories", "x"]
    names += ["NULL", "NAN", "errno", "linux"]
    model = make_model(names, categories=["a", "??/", "*/"], classes=["*/", "/*\n"])
    write = to_cpp if language == "c++" else to_c
    (tmp_path / "names").write_text(write(model))
    compiler = ["cc", "-std=c99", "-x", "c"]
    if "++" in language:
        compiler = ["g++", "-std=c++11", "-x", "c++"]
        if shutil.which("g++") is None:
            pytest.skip("there is no g++")
    options = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"]
    subprocess.run([*compiler, *options, "names"], cwd=tmp_path, check=True)


@needs_cc
def test_integers_beyond_double_precision(tmp_path):
    kept = [-(2**63), -1, 2**53 + 1, 2**63 - 1]
    model = make_model(["id"], categories=kept)
    big = make_model(["id"], categories=[1, 2**64 - 1])
    to_c(model, name="signed_", path=tmp_path / "a.c")
    to_c(big, name="unsigned_", path=tmp_path / "b.c")
    (tmp_path / "all.c").write_text('#include "a.c"\n#include "b.c"\n')
    library = compile_library(tmp_path, ["cc", "-std=c99"], "all.c")
    library.signed__encode_id.restype = library.unsigned__encode_id.restype = ctypes.c_double
    codes = [library.signed__encode_id(ctypes.c_int64(value)) for value in [*kept, 0, 2**53]]
    assert codes == [0, 1, 2, 3, -1, -1]
    codes = [library.unsigned__encode_id(ctypes.c_uint64(v)) for v in [1, 2**64 - 1, 2**64 - 2]]
    assert codes == [0, 1, -1]


@needs_cc
def test_sets_of_numbers_are_sets_of_whole_numbers(tmp_path):
    """Models of other libraries know categories as plain numbers."""
    case = make_case_of_numbers()
    to_c(case.model, name=case.name, path=tmp_path / "a.c")
    library = compile_library(tmp_path, ["cc", "-std=c99"], "a.c")
    check_outputs(predict(library, case), case)


def test_the_header_is_the_start_of_the_source():
    model = make_model(["a", "b"])
    for write in (to_c, to_cpp):
        assert write(model).startswith(write(model, header=True))


@pytest.mark.parametrize("name", ["", "1a", "a b", "class", "größe", "_x"])
def test_names_that_are_no_identifiers_are_refused(name):
    with pytest.raises(ParameterError, match="not an identifier"):
        to_c(make_model(["a"]), name=name)


def test_what_c_cannot_hold_is_refused():
    with pytest.raises(ExportError, match="zero byte"):
        to_c(make_model(["a"], categories=["a\0b"]))
    with pytest.raises(ExportError, match="UTF-8"):
        to_c(make_model(["a"], categories=["\ud800"]))
    mixed = make_model(["a"], classes=["x", "y"])
    mixed = PortableModel("Tree", mixed.inputs, mixed.output, (np.array(["x", 1], dtype=object),))
    with pytest.raises(ExportError, match="labels of several types"):
        to_c(mixed)
    model = make_model(["a"])
    model.output.trees.value[:] = np.nan
    with pytest.raises(ExportError, match="NaN"):
        to_c(model)
