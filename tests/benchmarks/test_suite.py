import json

import numpy as np
import pandas as pd
import pytest

from benchmarks import accuracy, suite
from benchmarks.suite import (
    Key,
    Result,
    Store,
    average,
    find_complete,
    list_missing,
    tabulate_ranks,
    tabulate_sets,
)

NAMES = ["ours", "theirs"]


def make_result(loss):
    return Result({"RMSE": loss}, 2.0, 3.0)


def fill(store, ours, theirs):
    for k, pair in enumerate(zip(ours, theirs, strict=True)):
        for name, loss in zip(NAMES, pair, strict=True):
            store.add(Key(name, f"set {k}", 0), make_result(loss))


def test_results_outlive_the_process(tmp_path) -> None:
    path = tmp_path / "folder" / "results.jsonl"
    fill(Store(path, "a"), [1.0], [2.0])
    assert Store(path, "a").results[Key("theirs", "set 0", 0)] == make_result(2.0)
    assert Store(path, "b").results == {}


def test_only_complete_folds_count(tmp_path) -> None:
    store = Store(tmp_path / "results.jsonl", "")
    fill(store, [1.0, 1.0], [2.0, 3.0])
    store.add(Key("ours", "half", 0), make_result(1.0))
    store.add(Key("ours", "set 0", 1), make_result(9.0))
    assert find_complete(store.results, NAMES, "set 0", 2) == [0]
    losses = average(store.results, NAMES, ["set 0", "set 1", "half"], 2)
    assert losses == {
        "set 0": {"ours": 1.0, "theirs": 2.0},
        "set 1": {"ours": 1.0, "theirs": 3.0},
    }


def test_ranks_wins_and_gaps(tmp_path) -> None:
    store = Store(tmp_path / "results.jsonl", "")
    fill(store, [1.0, 1.0, 2.2], [2.0, 3.0, 2.0])
    sources = [f"set {k}" for k in range(3)]
    losses = average(store.results, NAMES, sources, 1)
    ours, theirs = tabulate_ranks(losses, store.results, NAMES, 1).rows
    assert ours[:2] == ["ours", "1.33"]
    assert theirs[:4] == ["theirs", "1.67", "2 : 1", "-50.00 %"]
    assert theirs[-2:] == ["9.00 s", "1.00"]
    rows = tabulate_sets(losses, store.results, NAMES, 1).rows
    assert [row[-1] for row in rows] == ["-50.00 %", "-66.67 %", "+10.00 %"]
    assert [row[1] for row in rows] == ["1", "1", "1"]


def test_all_sets_have_their_first_fold_before_any_has_two(tmp_path) -> None:
    store = Store(tmp_path / "results.jsonl", "")
    fill(store, [1.0], [2.0])
    missing = list(list_missing(store, NAMES, ["set 0", "set 1"], 2))
    assert [(fold.source, fold.number) for fold in missing] == [
        ("set 1", 0),
        ("set 0", 1),
        ("set 1", 1),
    ]


@pytest.fixture
def data(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(90, 2)), columns=["a", "b"])
    X["target"] = X["a"] + rng.normal(size=90)
    X.to_parquet(tmp_path / "abalone.parquet")
    monkeypatch.setenv("SUMWISE_DATA", str(tmp_path))
    return tmp_path


class Mean:
    def __init__(self, y):
        self.mean = y.mean()

    def predict(self, X):
        return np.full(len(X), self.mean)


def test_one_fold_can_be_run_alone(data, capsys, monkeypatch) -> None:
    def fit(task, X, y, n_jobs):
        return Mean(y)

    monkeypatch.setattr(suite, "CONTESTANTS", {"ours": fit})
    monkeypatch.setattr(suite, "GROUPS", {"defaults": {"ours": fit}})
    path = data / "results.jsonl"
    run = ["--suite", "--only", "abalone", "--folds", "3", "--results", str(path)]
    accuracy.main([*run, "--fold", "2"])
    assert [key.fold for key in Store(path, "50000 rows, 3 folds").results] == [2]
    assert "fold 2 of 3 shuffled folds" in capsys.readouterr().out
    accuracy.main([*run, "--fold", "1"])
    abalone = capsys.readouterr().out.splitlines()[3].split()
    assert abalone[:2] == ["abalone", "1"]  # the result of fold 2 is left out


def test_an_interrupted_run_goes_on(data, capsys, monkeypatch) -> None:
    calls = []

    def fit(task, X, y, n_jobs):
        calls.append(len(X))
        if len(calls) == 4:
            raise KeyboardInterrupt
        return Mean(y)

    monkeypatch.setattr(suite, "CONTESTANTS", {"ours": fit, "theirs": fit})
    monkeypatch.setattr(suite, "GROUPS", {"defaults": {"ours": fit, "theirs": fit}})
    path = str(data / "results.jsonl")
    run = ["--suite", "--only", "abalone", "kin8nm", "--folds", "3", "--results", path]
    with pytest.raises(KeyboardInterrupt):
        accuracy.main(run)
    accuracy.main([*run, "--json", str(data / "suite.json")])
    assert len(calls) == 7
    out = capsys.readouterr().out
    assert "kin8nm SKIPPED: SUMWISE_DATA holds no kin8nm.parquet" in out
    assert "1 data sets" in out
    assert list(json.loads((data / "suite.json").read_text())["losses"]) == ["abalone"]
