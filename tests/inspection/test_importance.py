"""Importances by hand."""

import numpy as np
import pytest

from sumwise.errors import ParameterError
from sumwise.inspection.importance import importance
from sumwise.tree import TreeEnsemble


def make_ensemble(feature, gain, n_features=4):
    n = len(feature)
    return TreeEnsemble(
        start=np.array([0, n]),
        feature=np.array(feature, dtype=np.int32),
        threshold=np.zeros(n),
        missing_left=np.zeros(n, dtype=np.uint8),
        left=np.full(n, -1, dtype=np.int32),
        value=np.zeros(n),
        gain=np.array(gain),
        n_rows=np.zeros(n, dtype=np.int64),
        weight=np.zeros(n),
        base_score=np.zeros(1),
        link="identity",
        n_features=n_features,
    )


ENSEMBLE = make_ensemble([2, 0, -1, -1, 2, -1, -1], [5.0, 2.0, 0.0, 0.0, 1.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("kind", "normalize", "expected"),
    [
        ("gain", False, [2.0, 0.0, 6.0, 0.0]),
        ("gain", True, [0.25, 0.0, 0.75, 0.0]),
        ("count", False, [1.0, 0.0, 2.0, 0.0]),
        ("count", True, [1 / 3, 0.0, 2 / 3, 0.0]),
    ],
)
def test_by_hand(kind, normalize, expected):
    found = importance(ENSEMBLE, kind, normalize)
    assert found.tolist() == expected
    assert found.dtype == np.float64


def test_gain_is_the_default():
    assert importance(ENSEMBLE).tolist() == importance(ENSEMBLE, "gain", True).tolist()


@pytest.mark.parametrize("kind", ["gains", "", None])
def test_other_kinds_are_refused(kind):
    with pytest.raises(ParameterError, match="must be 'gain' or 'count'"):
        importance(ENSEMBLE, kind)


@pytest.mark.parametrize("kind", ["gain", "count"])
def test_no_split_means_no_importance(kind):
    found = importance(make_ensemble([-1], [0.0]), kind)
    assert found.tolist() == [0.0] * 4


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("largest", [1e308, np.finfo(np.float64).max, np.inf])
def test_gains_whose_sum_is_infinite(largest):
    ensemble = make_ensemble([2, 0, 2, -1], [largest, largest, largest, 0.0])
    assert importance(ensemble).tolist() == pytest.approx([1 / 3, 0.0, 2 / 3, 0.0])
    assert np.isinf(importance(ensemble, normalize=False)[2])
