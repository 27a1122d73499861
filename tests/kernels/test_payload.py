"""One name, one implementation for each payload."""

import numpy as np
import pytest

from sumwise.kernels import class_counts, gradients, payload
from sumwise.kernels.class_counts import ClassCounts
from sumwise.kernels.gradients import Gradients
from sumwise.kernels.jit import kernel

NAMES = ["load_rows", "count_stats", "add_rows", "finish_rows", "node_score"]
NAMES += [
    "split_gain",
    "fill_gains",
    "best_split",
    "best_packed_split",
    "can_pack",
    "sum_rows",
    "set_value",
]


@kernel
def count(rows):
    return payload.count_stats(rows)


@pytest.mark.parametrize("name", NAMES)
def test_every_payload_implements_every_function(name):
    assert callable(getattr(payload, name))
    for module in (gradients, class_counts):
        assert callable(getattr(module, name).py_func)


def test_the_type_of_the_payload_decides():
    counts = ClassCounts(np.zeros(1, np.uint16), np.zeros(1, np.uint16), 6)
    assert count(counts) == 7
    floats, integers = np.zeros((1, 8)), np.zeros((1, 8), dtype=np.int64)
    empty = np.zeros(0)
    exact = np.zeros(0, dtype=np.int64)
    rows = Gradients(
        *(empty, empty, exact, exact, floats, integers, np.zeros(4), 0),
        *(0.0, 0.0, 0.0, 0.0, 1.0),
    )
    assert count(rows) == 3


def test_not_for_python():
    with pytest.raises(TypeError, match="node_score is called from kernels only"):
        payload.node_score(None, None)
