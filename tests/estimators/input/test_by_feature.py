"""Parameters with a value for each feature."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from sumwise import Columns
from sumwise.errors import ParameterError
from sumwise.estimators.input.by_feature import (
    FeatureParameter,
    check_max_bins,
    read_max_bins,
    read_weights,
)


@dataclass
class Owner:
    """Knows two features."""

    max_bins: Any = 255
    columns: Any = None
    n_features_in_: int = 2
    feature_names_in_: Any = field(default_factory=lambda: np.array(["a", "b"], dtype=object))


def check(place, value):
    return f"{place}: {value}"


def test_arrays_and_dicts_give_one_value_per_feature():
    assert FeatureParameter.of(Owner([7, 8]), "max_bins").read(0, "...", check) == ["0: 7", "1: 8"]
    by_name = FeatureParameter.of(Owner({"b": 8}), "max_bins")
    assert by_name.read(0, "...", check) == [0, "'b': 8"]


def test_features_are_found_by_name_and_index():
    parameter = FeatureParameter.of(Owner(), "max_bins")
    assert parameter.find("b") == parameter.find(np.int64(1)) == 1
    nameless = FeatureParameter.of(Owner(feature_names_in_=()), "max_bins")
    for own, feature, message in [
        (parameter, "c", "X has no feature 'c'"),
        (parameter, 2, "feature 2 is not one of 0 to 1"),
        (parameter, True, "True is not a feature"),
        (nameless, "a", "X has no feature names"),
    ]:
        with pytest.raises(ParameterError, match=message):
            own.find(feature)
    with pytest.raises(ParameterError, match="0 is not a feature"):
        parameter.find(0, by_index=False)


@pytest.mark.parametrize(
    ("max_bins", "message"),
    [
        ([4, 1], r"Owner: max_bins\[1\]=1; must be an integer of at least 2"),
        ({"b": "many"}, r"Owner: max_bins\['b'\]='many'; must be an integer"),
        ([4, 4, 4], r"for each of 2 features, not 3"),
        ({0: 4}, "0 is not a feature"),
    ],
)
def test_bad_numbers_of_bins(max_bins, message):
    check_max_bins(Owner(), max_bins)  # X may have such features
    with pytest.raises(ParameterError, match=message):
        read_max_bins(Owner(max_bins), None)


def test_numbers_of_bins():
    assert read_max_bins(Owner(7), None) == 7
    assert read_max_bins(Owner({"b": 9}), None).tolist() == [255, 9]
    for bad in (1, 2.5, "many", None):
        with pytest.raises(ParameterError, match=r"Owner: max_bins=.*must be an integer of"):
            check_max_bins(Owner(bad), bad)


def test_weights_of_columns():
    columns = Columns(by_tree=0.5, weights={"b": 0.25})
    read = read_weights(Owner(columns=columns), columns, None)
    assert (read.by_tree, list(read.weights)) == (0.5, [1.0, 0.25])
    for weights, message in [([0, 0], "all weights are 0"), ([1, -1], r"weights\[1\] is -1")]:
        columns = Columns(weights=weights)
        with pytest.raises(ParameterError, match=message):
            read_weights(Owner(columns=columns), columns, None)
