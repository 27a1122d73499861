from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.on_gpu import contestants, explaining
from benchmarks.on_gpu.contestants import OURS, OURS_ON_CPU, train_sumwise


def test_a_tiny_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contestants, "has_cupy", lambda: False)
    monkeypatch.setattr(explaining, "_N_TRAIN", 500)
    monkeypatch.setitem(contestants.CONTESTANTS, OURS, partial(train_sumwise, "cpu"))
    outcome = explaining.time_explanations(["leaf"], 200, 2, 2, [OURS, OURS_ON_CPU])
    assert not outcome.problems
    assert [table.title.split(":")[0] for table in outcome.tables] == [
        "explain 31 leaves, 200 rows, 2 trees",
        "interactions of 31 leaves, 20 rows, 2 trees",
    ]
    assert [len(each["seconds"]) for each in outcome.content] == [2] * 4


def test_a_failure_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explaining, "_N_TRAIN", 500)
    monkeypatch.setitem(contestants.CONTESTANTS, OURS, lambda settings, X, y: 1 / 0)
    outcome = explaining.time_explanations(["depth"], 200, 2, 1, [OURS])
    assert outcome.problems[0].endswith("sumwise: ZeroDivisionError: division by zero")


def test_differences_are_told() -> None:
    def explanation(value: float) -> SimpleNamespace:
        values = np.full((2, 3), value)
        return SimpleNamespace(values=values, base_values=np.zeros(2), interactions=None)

    found = {OURS: explanation(1.0), OURS_ON_CPU: explanation(1.0)}
    assert explaining.compare("here", found) == []
    found[OURS] = explanation(1.0 + 2**-52)
    assert explaining.compare("here", found) == ["here, sumwise: values differ from the CPU's"]
