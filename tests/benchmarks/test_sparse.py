import sys

import pytest

from benchmarks.sparse import load, main


def test_one_hot_columns() -> None:
    X, y = load("tiny")
    assert (X.sum(axis=1) == 2).all()
    assert 0.2 < y.mean() < 0.8


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_a_tiny_run(capsys, monkeypatch) -> None:
    # Peaks are measured in another process, which takes seconds to start.
    monkeypatch.setattr("benchmarks.sparse.measure_peak_memory", lambda *_: 1_000_000)
    main(["--sets", "tiny", "--trees", "2", "--repeat", "1", "--models", "sumwise", "XGBoost"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2].startswith("XGBoost") or lines[-1].startswith("XGBoost")
    assert "1.00" in lines[-2]
