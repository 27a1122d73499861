import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.accuracy import Difference, cross_validate, encode, split_folds, tabulate
from benchmarks.rivals import SCIKIT_LEARN, Settings

DIFFERENCE = Difference("set", "31 leaves", "Rival", "RMSE", [0.9, 0.8, 1.0], [1.0, 1.0, 1.0])


def test_gains_are_relative_and_paired() -> None:
    assert DIFFERENCE.gains == pytest.approx([0.1, 0.2, 0.0])
    assert DIFFERENCE.mean_gain == pytest.approx(0.1)
    assert DIFFERENCE.standard_error == pytest.approx(0.1 / 3**0.5)


def test_a_larger_accuracy_is_a_gain() -> None:
    assert replace(DIFFERENCE, metric="accuracy").mean_gain == pytest.approx(-0.1)


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        ([0.9, 0.8, 1.0], "within noise"),
        ([0.9, 0.88, 0.9], "better"),
        ([1.1, 1.12, 1.1], "worse"),
        ([1.0, 1.0, 1.0], "within noise"),
    ],
)
def test_verdict(ours: list[float], verdict: str) -> None:
    assert replace(DIFFERENCE, ours=ours).verdict == verdict


def test_table() -> None:
    row = tabulate([replace(DIFFERENCE, informative=True)]).rows[0]
    assert row[:4] == ("set", "31 leaves", "Rival", "RMSE")
    assert row[4:8] == ("0.90000", "1.00000", "+10.000 %", "5.774 %")
    assert row[8] == "within noise (information)"


def test_encoded_difference_is_json() -> None:
    encoded = json.loads(json.dumps(encode(DIFFERENCE)))
    assert encoded["ours"] == [0.9, 0.8, 1.0]
    assert encoded["verdict"] == "within noise"


def test_folds_are_the_same_at_every_call() -> None:
    X, y = np.zeros((30, 1), np.float32), np.repeat([0, 1, 2], 10)
    first = [test for _, test in split_folds("multiclass", X, y, 5)]
    second = [test for _, test in split_folds("multiclass", X, y, 5)]
    np.testing.assert_array_equal(first, second)
    assert all(np.bincount(y[test]).tolist() == [2, 2, 2] for test in first)


def test_cross_validation_scores_each_fold() -> None:
    X = np.random.default_rng(0).random((90, 2), dtype=np.float32)
    y = (X[:, 0] > 0.5).astype(np.int64)
    scores = cross_validate(SCIKIT_LEARN, Settings(n_trees=5), X, y, 3)
    assert len(scores) == 3
    assert all(fold["AUC"] > 0.9 for fold in scores)
