from functools import partial
from typing import Any

import numpy as np
import pytest

from benchmarks.compare import Target
from benchmarks.datasets import make_higgs_like
from benchmarks.on_gpu import contestants, timing
from benchmarks.on_gpu.contestants import (
    CATBOOST_GPU,
    OURS,
    OURS_ON_CPU,
    OURS_ON_GPU,
    QUANTILE,
    XGBOOST_ON_GPU,
    Trained,
    as_probabilities,
    train_sumwise,
)
from benchmarks.on_gpu.large_tables import make_cover, make_events
from benchmarks.on_gpu.timing import CASES, Result, choose, tabulate
from benchmarks.rivals import Settings


@pytest.fixture
def _on_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let our model on the CPU stand for all contestants."""
    for name in contestants.CONTESTANTS:
        monkeypatch.setitem(contestants.CONTESTANTS, name, partial(train_sumwise, "cpu"))
    monkeypatch.setattr(contestants, "has_cupy", lambda: False)
    monkeypatch.setattr(timing, "N_TEST", 200)


def test_events_are_those_of_other_benchmarks() -> None:
    X, y = make_events(60_000)
    expected, labels = make_higgs_like(60_000)
    assert np.array_equal(X, expected)
    assert np.array_equal(y, labels)


def test_cover_types_have_seven_classes() -> None:
    X, y = make_cover(5_000)
    assert X.shape == (5_000, 54)
    assert set(y) == set(range(7))
    assert (X[:, 10:50].sum(axis=1) == 1).all()
    assert (X[:, 50:].sum(axis=1) == 1).all()


@pytest.mark.usefixtures("_on_cpu")
def test_a_tiny_run() -> None:
    chosen = [OURS, OURS_ON_CPU, QUANTILE]
    outcome = timing.time_training(["depth"], [600], 2, 2, chosen)
    assert not outcome.problems
    (table,) = outcome.tables
    assert table.title.startswith("train depth 6, 600 x 28, 2 trees: ")
    assert {line[0] for line in table.rows} == set(chosen)
    assert all(len(each["seconds"]) == 2 for each in outcome.content)
    assert len({each["metrics"]["AUC"] for each in outcome.content}) == 1


@pytest.mark.usefixtures("_on_cpu")
def test_classes_and_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(settings: Settings, X: Any, y: Any) -> Trained:
        raise MemoryError("too much")

    monkeypatch.setitem(contestants.CONTESTANTS, QUANTILE, fail)
    outcome = timing.time_multiclass(1, 1, 500, [OURS, QUANTILE])
    assert [each["contestant"] for each in outcome.content] == [OURS, OURS]
    assert "accuracy" in outcome.content[0]["metrics"]
    assert len(outcome.problems) == 2
    assert outcome.problems[0].endswith("XGBoost: MemoryError: too much")


def test_slow_contestants_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contestants, "list_missing", lambda: [])
    every = tuple(contestants.CONTESTANTS)
    assert choose(CASES["symmetric"], 10**7, every) == [
        OURS,
        OURS_ON_GPU,
        OURS_ON_CPU,
        CATBOOST_GPU,
    ]
    assert choose(CASES["symmetric"], 10**8, every) == [OURS, OURS_ON_GPU]


def test_ours_is_judged_by_the_best_rival_that_starts_from_the_host() -> None:
    seconds = {OURS: 1.0, QUANTILE: 4.0, OURS_ON_GPU: 0.5, XGBOOST_ON_GPU: 2.0}
    results = [Result("case", name, 10, [value]) for name, value in seconds.items()]
    table = tabulate("case", results, Target(0.5, 0.2))
    assert table.title == "case: 0.250 of XGBoost, reached (<= 0.5, goal 0.2)"
    ratios = {line[0]: line[4] for line in table.rows}
    assert ratios[XGBOOST_ON_GPU] == ratios[QUANTILE] == "0.250"


def test_probabilities_of_two_classes() -> None:
    second = np.array([0.25, 0.5])
    assert as_probabilities(second).tolist() == [[0.75, 0.25], [0.5, 0.5]]
    both = as_probabilities(second)
    assert as_probabilities(both) is both
