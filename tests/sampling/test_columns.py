"""Parameters of column sampling; the draws are tested with the grower."""

import numpy as np
import pytest

from sumwise.errors import ParameterError
from sumwise.sampling import Columns


def test_defaults_draw_all():
    defaults = {"by_tree": 1.0, "by_level": 1.0, "by_node": 1.0, "weights": None}
    assert Columns().get_params() == defaults
    Columns().check()


@pytest.mark.parametrize("value", [1, 0.5, 1e-9, np.float32(0.25), np.float64(1.0)])
def test_rates_are_accepted(value):
    Columns(by_tree=value, by_level=value, by_node=value).check()


@pytest.mark.parametrize("name", ["by_tree", "by_level", "by_node"])
@pytest.mark.parametrize("value", [0, -0.5, 1.0001, np.nan, np.inf, True, "half", None, [0.5]])
def test_what_is_no_rate_is_refused(name, value):
    with pytest.raises(ParameterError, match=rf"Columns\({name}="):
        Columns(**{name: value}).check()


def test_weights_are_scaled_to_at_most_one():
    assert Columns(weights=[1, 4, 0]).weigh_features(3).tolist() == [0.25, 1.0, 0.0]
    assert Columns(weights=np.array([5.0, 2.5])).weigh_features(2).tolist() == [1.0, 0.5]


@pytest.mark.parametrize("weights", [None, [3, 3, 3], np.full(3, 1e-300)])
def test_equal_weights_are_none(weights):
    assert Columns(weights=weights).weigh_features(3).size == 0


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], r"has shape \(2,\); give one weight for each of 3 features"),
        (3.0, r"has shape \(\); give one"),
        ([1, -1, 2], "weight of feature 1 is -1; weights must be finite and not negative"),
        ([1, 2, np.nan], "weight of feature 2 is nan"),
        ([np.inf, 2, 1], "weight of feature 0 is inf"),
        ([0, 0, 0], "all weights are 0"),
    ],
)
def test_other_weights_are_refused(weights, message):
    with pytest.raises(ParameterError, match=message):
        Columns(weights=weights).weigh_features(3)


def test_parts_with_arrays_can_be_compared_and_shown():
    weights = np.array([1.0, 2.0])
    assert repr(Columns(weights=weights)) == "Columns(weights=array([1., 2.]))"
    assert Columns(weights=weights) == Columns(weights=weights.copy())
    assert Columns(weights=weights) != Columns(weights=np.ones(3))
    assert Columns(weights=weights) != Columns()
