from typing import Any

import numpy as np
import pytest

from benchmarks.on_gpu.differences import describe_difference, describe_predictions
from benchmarks.on_gpu.settings import classify, dump, fit
from sumwise.export.native import dump_model, parse_model


@pytest.fixture(scope="module")
def content() -> bytes:
    return dump(fit(classify(), 300, 3, "cpu"))


def change(content: bytes, **arrays: Any) -> bytes:
    """Return a file whose model has other values in some arrays, by name and index."""
    model, about = parse_model(content)
    for name, (place, value) in arrays.items():
        array = getattr(model, name).copy()
        array[place] = value
        object.__setattr__(model, name, array)
    return dump_model(model, about)


def test_equal_files_have_no_difference(content: bytes) -> None:
    assert describe_difference(content, bytes(content)) is None


def test_the_first_node_is_named(content: bytes) -> None:
    model, _ = parse_model(content)
    start, value = int(model.start[1]), model.value
    other = change(content, value=(start + 2, value[start + 2] + 1), gain=(start, 0.5))
    found = describe_difference(content, other)
    assert found is not None
    assert found.startswith("tree 1 of 3, node 0, gain: 0.5 (0x1.0000000000000p-1) instead of ")


def test_a_bit_is_a_difference(content: bytes) -> None:
    model, _ = parse_model(content)
    other = change(content, value=(1, np.nextafter(model.value[1], 9)))
    found = describe_difference(content, other)
    assert found is not None
    assert found.startswith("tree 0 of 3, node 1, value: ")


def test_base_score_and_header(content: bytes) -> None:
    found = describe_difference(content, change(content, base_score=(0, 0.25)))
    assert found is not None
    assert found.startswith("base_score[0]: 0.25 ")
    model, about = parse_model(content)
    about["estimator"] = "Other"
    found = describe_difference(content, dump_model(model, about))
    assert found == "header.about.estimator: 'Other' instead of 'GradientBoostingClassifier'"


def test_fewer_trees(content: bytes) -> None:
    found = describe_difference(content, dump(fit(classify(), 300, 2, "cpu")))
    assert found is not None
    assert found.startswith("tree 2 of 3, node 0, feature: nothing instead of ")


def test_predictions() -> None:
    expected = np.array([[0.0, 1.0], [2.0, np.nan]])
    assert describe_predictions(expected, expected.copy()) is None
    found = describe_predictions(expected, np.array([[0.0, 1.0], [2.5, np.nan]]))
    assert found is not None
    assert found.startswith("row 1: 2.5 ")
    assert found.endswith("; 1 of 4 differ")
    assert describe_predictions(expected, np.array([[-0.0, 1.0], [2.0, np.nan]])) is not None
    found = describe_predictions(expected, expected.astype(np.float32))
    assert found == "float32(2, 2) instead of float64(2, 2)"
