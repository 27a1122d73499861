import numpy as np
import pytest

from benchmarks.metrics import score


def test_regression() -> None:
    assert score("regression", np.array([0.0, 0.0]), np.array([3.0, 3.0])) == {"RMSE": 3.0}


def test_binary() -> None:
    prediction = np.array([[0.8, 0.2], [0.4, 0.6], [0.5, 0.5]])
    metrics = score("binary", np.array([0, 1, 0]), prediction)
    assert metrics["AUC"] == 1.0
    assert metrics["log loss"] == pytest.approx(-np.log([0.8, 0.6, 0.5]).mean())


def test_multiclass_without_every_class_in_the_test_part() -> None:
    prediction = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]], dtype=np.float32)
    metrics = score("multiclass", np.array([0, 0]), prediction)
    assert metrics["accuracy"] == 0.5
    assert metrics["log loss"] == pytest.approx(-np.log([0.5, 0.1]).mean(), rel=1e-6)
