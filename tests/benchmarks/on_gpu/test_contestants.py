import numpy as np
import pytest

from benchmarks.on_gpu import contestants
from benchmarks.on_gpu.contestants import (
    COPIED,
    OURS_ON_CPU,
    OURS_ON_GPU,
    XGBOOST_ON_GPU,
    list_missing,
)
from benchmarks.rivals import Settings


def test_our_model_is_trained() -> None:
    X = np.arange(200, dtype=np.float32)[:, None]
    trained = contestants.CONTESTANTS[OURS_ON_CPU](Settings(n_trees=2), X, X[:, 0] > 99)
    assert trained.predict(X).shape == (200, 2)
    assert trained.construction == 0.0
    assert trained.seconds == trained.training > 0


def test_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contestants, "has_cupy", lambda: False)
    assert {COPIED, OURS_ON_GPU, XGBOOST_ON_GPU} <= set(list_missing())


def test_xgboost_must_not_train_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    xgboost = pytest.importorskip("xgboost")
    train = xgboost.train
    monkeypatch.setattr(
        xgboost,
        "train",
        lambda params, *arguments: train({**params, "device": "cpu"}, *arguments),
    )
    X = np.arange(200, dtype=np.float32)[:, None]
    with pytest.raises(RuntimeError, match="XGBoost trained on cpu: it found no GPU"):
        contestants.train_xgboost("QuantileDMatrix", Settings(n_trees=2), X, X[:, 0] > 99)
