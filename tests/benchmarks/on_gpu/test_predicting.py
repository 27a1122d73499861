from functools import partial

import pytest

from benchmarks.on_gpu import contestants, predicting
from benchmarks.on_gpu.contestants import OURS, QUANTILE, train_sumwise


def test_a_tiny_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contestants, "has_cupy", lambda: False)
    for name in (OURS, QUANTILE):
        monkeypatch.setitem(contestants.CONTESTANTS, name, partial(train_sumwise, "cpu"))
    outcome = predicting.time_prediction(500, 2, 2, [OURS, QUANTILE])
    assert not outcome.problems
    assert [table.title.split(":")[0] for table in outcome.tables] == [
        "predict depth 6, 500 rows, 2 trees",
        "predict 31 leaves, 500 rows, 2 trees",
    ]
    assert [len(each["seconds"]) for each in outcome.content] == [2] * 4


def test_a_failure_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(contestants.CONTESTANTS, OURS, lambda settings, X, y: 1 / 0)
    outcome = predicting.time_prediction(500, 2, 1, [OURS])
    assert len(outcome.problems) == 2
    assert outcome.problems[0].endswith("sumwise: ZeroDivisionError: division by zero")
