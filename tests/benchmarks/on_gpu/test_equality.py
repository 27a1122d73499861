from typing import Any

import numpy as np
import pytest

from benchmarks.on_gpu import equality
from benchmarks.on_gpu.settings import LIMITS, SETTINGS
from sumwise.errors import DeviceError

NAME = "leaf-squared_error-numbers-all-free"


def test_the_cpu_equals_itself() -> None:
    outcome = equality.run(["dart", "loss-fair"], [300], ["cpu"], n_rounds=2)
    assert not outcome.problems
    must, may = outcome.tables
    n_chosen = sum("dart" in name for name in SETTINGS)
    assert must.rows[0][:5] == ["300 rows, cpu", str(n_chosen), "0", "0", "0"]
    assert may.rows[0][1] == "1"
    assert len(outcome.content) == n_chosen + 1


def judge(monkeypatch: pytest.MonkeyPatch, own: Any, name: str = NAME) -> equality.Comparison:
    """Compare a setting on a device where ``own`` replaces the fit."""
    fit = equality.fit

    def pretend(setting: Any, n_rows: int, n_rounds: int, device: str) -> Any:
        model = fit(setting, n_rows, n_rounds, "cpu")
        return model if device == "cpu" else own(model)

    monkeypatch.setattr(equality, "fit", pretend)
    settings = {**SETTINGS, **LIMITS}
    (found,) = equality.compare(name, settings[name], 300, ["cuda"], 2)
    return found


def refuse(model: Any) -> Any:
    raise DeviceError("no; device='cpu' gives the same model")


def test_other_trees_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def change(model: Any) -> Any:
        return model.set_params(n_estimators=1).fit(np.arange(40.0)[:, None], np.arange(40))

    found = judge(monkeypatch, change)
    assert (found.verdict, found.is_good) == ("different", False)
    assert "node 0" in equality.describe(found)


def test_other_predictions_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    predict = equality.predict

    def shift(model: Any, setting: Any, n_rows: int) -> Any:
        on_device = model.device == "cuda"
        model.device = "cpu"
        found = predict(model, setting, n_rows)
        return {name: own + 1.0 for name, own in found.items()} if on_device else found

    monkeypatch.setattr(equality, "predict", shift)
    found = judge(monkeypatch, lambda model: model)
    assert found.verdict == "different"
    assert found.reason.startswith("CPU's model, predict, row 0: ")


def test_only_limits_may_be_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    found = judge(monkeypatch, refuse)
    assert (found.verdict, found.is_good) == ("refused", False)


def test_a_limit_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judge(monkeypatch, refuse, "loss-fair").is_good


def test_an_error_that_tells_no_way_out_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(model: Any) -> Any:
        raise DeviceError("no")

    assert judge(monkeypatch, fail, "loss-fair").verdict == "failed"


def test_any_other_error_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    found = judge(monkeypatch, lambda model: 1 / 0)
    assert (found.verdict, found.is_good) == ("failed", False)
    assert found.reason.startswith("ZeroDivisionError: division by zero (test_equality.py:")


def test_sizes() -> None:
    assert [equality.count_rounds(n_rows) for n_rows in equality.ROWS] == [10, 5, 3]
    assert list(equality.select(["loss-fair", "splits-exact"])) == ["loss-fair", "splits-exact"]
    assert len(equality.select([""])) == len(SETTINGS) + len(LIMITS)
