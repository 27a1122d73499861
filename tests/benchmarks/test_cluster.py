import sys

import pytest

from benchmarks import cluster
from benchmarks.cluster import Fit, compare, count_loopback, load_rows, measure
from benchmarks.rivals import Settings

pytest.importorskip("distributed")


def make_fits(seconds, digest):
    return [Fit(each, 2_000_000, 3_000_000, 0.75, digest) for each in seconds]


def test_a_table_of_measurements(monkeypatch) -> None:
    def pretend(n_workers, *_):
        return {
            "sumwise": make_fits([1.0, 3.0, 1.2], "same"),
            "LightGBM": make_fits([3.0], f"of {n_workers}"),
            "XGBoost": make_fits([2.0], f"of {n_workers}"),
        }

    monkeypatch.setattr(cluster, "measure", pretend)
    table = compare([1, 2], 1000, Settings(), ["sumwise", "LightGBM", "XGBoost"], 1)
    assert [row[0] for row in table.rows][:2] == ["sumwise, 1 worker", "LightGBM, 1 worker"]
    ours = table.rows[3]
    assert ours[:4] == ["sumwise, 2 workers", "1.20 s", "0.60", "0.75000"]
    assert [row[-1] for row in table.rows] == ["same", "of 1", "of 1", "same", "of 2", "of 2"]


@pytest.mark.skipif(sys.platform != "linux", reason="memory and traffic are read from /proc")
def test_a_cluster_is_measured(monkeypatch) -> None:
    monkeypatch.setattr(cluster, "TEST_ROWS", 2_000)
    settings = Settings(n_trees=2)
    (found,) = measure(2, 4_000, settings, ["sumwise"], 1)["sumwise"]
    assert found.auc > 0.5
    assert found.sent > 0
    assert count_loopback() > found.sent


def test_rows_lie_in_partitions() -> None:
    from distributed import Client

    options = {"processes": False, "dashboard_address": None, "n_workers": 1}
    with Client(**options) as client:
        X, y = load_rows(client, 1_000, 3)
        assert X.numblocks == (3, 1)
        assert (X.shape, y.shape) == ((1_000, 28), (1_000,))
