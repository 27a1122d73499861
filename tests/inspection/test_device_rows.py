"""Rows that a device explains, batch by batch."""

import pytest

from sumwise.data.device_reading import read_device_matrix
from sumwise.inspection import device_rows
from sumwise.inspection.device_values import ValueExplainer
from sumwise.inspection.tree_walks import TreeWalks
from tests.cuda.arrays import FakeArray
from tests.inspection.test_device_values import assert_same_values
from tests.tree.test_device_predictor import draw_many

pytestmark = pytest.mark.usefixtures("emulated")


@pytest.mark.parametrize(
    "limits", [("_CODE_BYTES",), ("_RESULT_BYTES", "_BUSY_THREADS"), ("_MOST_BYTES",)]
)
def test_rows_in_batches(device, monkeypatch, limits):
    for limit in limits:
        monkeypatch.setattr(device_rows, limit, 1)
    ensemble, X = draw_many(29, 2, 600)
    assert_same_values(device, ensemble, X, X)
    assert_same_values(device, ensemble, X, read_device_matrix(FakeArray(X)))


def test_batches_fit_in_memory(emulated):
    ensemble, _ = draw_many(29, 2, 1)
    with emulated(memory_limit=1 << 20) as device:
        explainer = ValueExplainer(device, TreeWalks(ensemble))
        batch_bytes = 8 * 4 * 2 * device_rows._choose_batch(explainer)
        assert 1 << 16 < batch_bytes < 1 << 18
