from collections.abc import Iterator

import pytest

from benchmarks.on_gpu import memory

CPU = "cpu"


def test_growth_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    done = []
    for name in ("fail", "interrupt", "fit_many"):
        monkeypatch.setattr(memory, name, lambda *arguments, name=name: done.append(name))
    monkeypatch.setattr(memory, "fit_concurrently", lambda device: ["other bytes"])
    used: Iterator[int] = iter([0, 10**6, 0, 10**8, 0, 0, 0, 0, 0, 0])
    outcome = memory.run(7, CPU, lambda: next(used))
    assert done == ["fit_many", "fit_many", "fail", "interrupt", "fit_many"]
    assert outcome.problems == [
        "a fit that fails: 100 MB of device memory were not freed",
        "other bytes",
    ]
    (table,) = outcome.tables
    assert table.rows[0] == ("7 fits", "0 MB", "+1.0 MB")


def test_a_fit_fails() -> None:
    memory.fail(CPU)


def test_a_fit_is_interrupted() -> None:
    memory.interrupt(CPU, seconds=0.5)


def test_threads_fit_at_once() -> None:
    assert memory.fit_concurrently(CPU, n_repeats=1, n_rows=300) == []
