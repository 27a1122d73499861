import numpy as np
import pandas as pd

from benchmarks import auto
from benchmarks.auto import OURS, STACK, list_contestants, main
from benchmarks.contestants import DEFAULTS


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
    assert asked == [20, 100]


def test_a_tiny_run_is_continued(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(auto, "read_frame", make_frame)
    monkeypatch.setattr(auto, "_PROBED_ROUNDS", 2)
    monkeypatch.setattr(auto, "_MOST_ROUNDS", 3)
    own = list_contestants(0.2)
    few = {name: own[name] for name in (OURS, STACK, "LightGBM")}
    monkeypatch.setattr(auto, "list_contestants", lambda seconds: few)
    options = ["--time", "0.2", "--only", "titanic", "abalone", "--jobs", "1"]
    options += ["--results", str(tmp_path / "results.jsonl")]
    main(options)
    text = capsys.readouterr().out
    assert "titanic" in text
    assert "2 data sets" in text

    def refuse(*arguments):
        raise AssertionError("it is known already")

    monkeypatch.setattr(auto, "run_fold", refuse)
    main(options)
    assert capsys.readouterr().out.splitlines()[:8] == text.splitlines()[:8]
