import numpy as np
import pandas as pd
import pytest

from benchmarks import contestants
from benchmarks.contestants import CONTESTANTS, hold_out, to_codes, to_strings
from benchmarks.metrics import predict, score

N_ROWS = 120


def make_rows(task):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=N_ROWS).astype(np.float32)})
    X.loc[3, "a"] = np.nan
    X["color"] = pd.Categorical(rng.choice(["red", "green", "blue"], N_ROWS))
    X.loc[5, "color"] = None
    total = X["a"].fillna(0) + (X["color"] == "red")
    cuts = {"binary": [0.5], "multiclass": [0.0, 1.0]}
    y = total if task == "regression" else np.digitize(total, cuts[task])
    return X, np.asarray(y)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("name", CONTESTANTS)
def test_contestants_learn(name, task, monkeypatch) -> None:
    monkeypatch.setitem(contestants.BUDGET, "n_rounds", 20)
    X, y = make_rows(task)
    model = CONTESTANTS[name](task, X, y, 1)
    metrics = score(task, y, predict(model, X, task))
    assert metrics["RMSE"] < 1.2 * y.std() if task == "regression" else metrics["log loss"] < 1.2


def test_held_out_rows_have_all_classes() -> None:
    X, y = make_rows("multiclass")
    assert set(hold_out("multiclass", X, y)[3]) == set(y)
    y = np.append(y[:-1], 9)  # a class of one row
    assert len(hold_out("multiclass", X, y)[3]) == 12


def test_missing_categories() -> None:
    X, _ = make_rows("binary")
    assert np.isnan(to_codes(X)["color"][5])
    assert to_strings(X)["color"][5] == "(missing)"
