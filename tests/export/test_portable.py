"""What many formats cannot hold is refused by the same checks."""

import numpy as np
import pytest

from sumwise.errors import ExportError
from sumwise.export import to_c, to_coreml, to_cpp, to_json, to_onnx, to_pmml, to_python, to_sql
from sumwise.export.portable import Input, PortableModel, refuse_empty_names, refuse_large_labels
from tests.export.source_cases import make_model


def label(classes):
    model = make_model(["a"], classes=[0, 1])
    return PortableModel("Trees", model.inputs, model.output, (np.array(classes),))


def require_packages(write):
    if write is to_onnx:
        pytest.importorskip("onnx", reason="ONNX models need the package onnx")
    if write is to_coreml:
        pytest.importorskip("coremltools", reason="Core ML needs the package coremltools")


@pytest.mark.parametrize("write", [to_c, to_cpp, to_coreml, to_json, to_onnx, to_pmml, to_sql])
def test_labels_beyond_64_bits_are_refused(write):
    """They would wrap around to other labels."""
    require_packages(write)
    options = {"table": "points"} if write is to_sql else {}
    with pytest.raises(ExportError, match=f"the label {2**63} is beyond the integers of"):
        write(label(np.array([1, 2**63], dtype=np.uint64)), **options)
    assert write(label([-(2**53), 2**53 - 1]), **options)


def test_python_has_integers_of_any_size():
    assert str(2**63) in to_python(label(np.array([1, 2**63], dtype=np.uint64)))


def test_integers_that_doubles_round_are_refused_in_pmml():
    with pytest.raises(ExportError, match=r"beyond the integers of PMML \(double\)"):
        to_pmml(label([0, 2**53 + 1]))


def test_other_labels_are_not_refused():
    for classes in (["a", "b"], [0.5, 1e300], [False, True]):
        refuse_large_labels(label(classes), "any format")


def test_empty_names_are_refused():
    refuse_empty_names([Input("a"), Input(" ")], "any format")
    with pytest.raises(ExportError, match="the empty name '', which any format cannot hold"):
        refuse_empty_names([Input("a"), Input("")], "any format")
