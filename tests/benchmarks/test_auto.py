import numpy as np
import pandas as pd
import pytest

from benchmarks import auto
from benchmarks.auto import OURS, STACK, find_losses, list_contestants, main, tabulate_rivals
from benchmarks.contestants import DEFAULTS
from benchmarks.pinned import Outcome
from benchmarks.suite import Key, Result, Store


def make_frame(name, task, max_rows):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "number": rng.normal(size=90).astype(np.float32),
            "category": pd.Categorical(rng.choice(["a", "b"], 90)),
        }
    )
    X.loc[::9, "category"] = None
    y = X["number"].to_numpy(np.float64) + rng.normal(size=90)
    return X, y if task == "regression" else (y > 0).astype(np.int64)


def test_ours_comes_first_and_all_defaults_take_part():
    names = list(list_contestants(1.0))
    assert names[:2] == [OURS, STACK]
    assert set(DEFAULTS) < set(names)


def test_the_stack_gets_as_many_rounds_as_fit(monkeypatch):
    asked = []

    class Stack:
        def fit(self, X, y):
            now[0] += 2.0
            return self

    def make(task, X, n_rounds, n_jobs):
        asked.append(n_rounds)
        return Stack()

    now = [0.0]
    monkeypatch.setattr(auto, "_make_stack", make)
    monkeypatch.setattr(auto.time, "perf_counter", lambda: now[0])
    auto.fit_stack(12.0, "binary", None, None, 1)
    assert asked == [1, 20, 80]


def call_here(function, arguments, n_processes, n_own, limits):
    for number, own in enumerate(arguments):
        try:
            yield number, Outcome(function(*own), "")
        except ValueError as error:
            yield number, Outcome(None, str(error))


def fail(task, X, y, n_jobs):
    raise ValueError("no luck")


def test_a_tiny_run_is_continued(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(auto, "read_frame", make_frame)
    monkeypatch.setattr(auto, "call_all", call_here)
    ready = []
    monkeypatch.setattr(auto, "compile_kernels", lambda source, rows: ready.append(source))
    monkeypatch.setattr(auto, "_PROBED_ROUNDS", 2)
    monkeypatch.setattr(auto, "_MOST_ROUNDS", 3)
    own = list_contestants(0.2)
    few = {name: own[name] for name in (OURS, STACK, "LightGBM")}
    few["CatBoost"] = fail
    monkeypatch.setattr(auto, "list_contestants", lambda seconds, preset: few)
    options = ["--time", "0.2", "--only", "titanic", "abalone", "--jobs", "1"]
    options += ["--results", str(tmp_path / "results.jsonl")]
    main(options)
    said = capsys.readouterr()
    assert "titanic" in said.out
    assert "2 data sets" in said.out
    assert "CatBoost, abalone, fold 0 FAILED: no luck" in said.out
    assert "abalone fold 0 CatBoost: no luck" in said.err
    assert ready == ["titanic", "abalone"]
    for known in (OURS, STACK, "LightGBM"):
        few[known] = fail  # they are known already
    main(options)
    assert capsys.readouterr().out.splitlines()[:8] == said.out.splitlines()[:8]
    assert len(ready) == 2  # nothing of ours is missing


@pytest.mark.parametrize("fold", [0, 3])
def test_libraries_are_taken_from_the_suite(monkeypatch, tmp_path, capsys, fold):
    monkeypatch.setattr(auto, "read_frame", make_frame)
    monkeypatch.setattr(auto, "call_all", call_here)
    own, suite = tmp_path / "auto.jsonl", tmp_path / "suite.jsonl"
    result = Result({"AUC": 0.9, "log loss": 0.25}, 1.0, 1.0)
    Store(own, "60 s, 50000 rows, 5 folds").add(Key(OURS, "titanic", fold), result)
    Store(suite, "50000 rows, 5 folds").add(
        Key("CatBoost", "titanic", fold), result._replace(metrics={"AUC": 0.9, "log loss": 0.5})
    )
    names = ["--contestants", OURS, "CatBoost", "--only", "titanic", "--first-fold", str(fold)]
    main([*names, "--results", str(own), "--suite", str(suite)])
    assert "-50.00 %" in capsys.readouterr().out
    assert "CatBoost" not in own.read_text()


def test_rivals_are_compared_where_they_have_a_result():
    results = {
        Key(name, source, 0): Result({"RMSE": loss}, 1.0, 1.0)
        for name, source, loss in [
            (OURS, "a", 1.0),
            ("XGBoost", "a", 2.0),
            ("LightGBM", "a", 0.8),
            (OURS, "b", 1.0),
            ("XGBoost", "b", 2.0),
            ("XGBoost", "c", 2.0),
        ]
    }
    names = [OURS, "XGBoost", "LightGBM"]
    losses = find_losses(results, names, ["a", "b", "c"], [0])
    assert list(losses) == ["a", "b"]
    rows = {row[0]: row[1:] for row in tabulate_rivals(losses, names).rows}
    assert rows["XGBoost"] == ["2 : 0", "100 %", "-50.00 %", "-50.00 %"]
    assert rows["LightGBM"][0] == "0 : 1"
    assert rows["best of the defaults"][:2] == ["1 : 1", "50 %"]


def test_other_contestants_are_refused():
    with pytest.raises(SystemExit, match="unknown contestants"):
        main(["--contestants", "nobody"])
