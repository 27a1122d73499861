import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sumwise.compat import conversions as c
from sumwise.errors import ParameterError


def test_seeds_and_threads():
    assert c.find_seed(None) == 0
    assert c.find_seed(7) == 7
    assert c.find_seed(np.random.default_rng(0)) == c.find_seed(np.random.default_rng(0))
    assert [c.find_threads(n) for n in (None, 0, -1, 3)] == [None, None, None, 3]
    assert c.find_threads(-2) >= 1


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("(1,-1)", [1, -1]),
        ("1, 0", [1, 0]),
        ((0, 1), [0, 1]),
        ({"a": 1}, {"a": 1}),
        ("a:1,b:-1", {"a": 1, "b": -1}),
    ],
)
def test_directions(given, expected):
    found = c.read_names(given)
    assert (found if isinstance(found, dict) else found.tolist()) == expected


def test_directions_by_number_are_refused():
    with pytest.raises(ParameterError, match="pass a list of directions"):
        c.read_names("0:1,2:-1")


@pytest.mark.parametrize("given", [[[0, 1], [2]], "[[0, 1], [2]]", "[0, 1], [2]"])
def test_groups(given):
    assert c.read_groups(given) == [[0, 1], [2]]


def test_groups_must_be_lists():
    with pytest.raises(ParameterError, match="must be lists of features"):
        c.read_groups("0 and 1")


def test_the_rest_of_the_features():
    assert c.list_rest([[0, 2]], None, 4) == [1, 3]
    assert c.list_rest([["a", "c"]], ["a", "b", "c"], 3) == [1]


@pytest.mark.parametrize("kind", [pd.DataFrame, pa.table])
def test_columns_of_frames(kind):
    table = kind({"a": [1, 2], "b": [3, 4]})
    assert c.list_columns(table) == ["a", "b"]
    assert c.count_columns(table) == 2


def test_columns_of_arrays():
    assert c.list_columns(np.zeros((2, 3))) is None
    assert c.count_columns([[1, 2, 3]]) == 3


def test_objectives_get_no_weights():
    seen = []

    def objective(y, raw, weight):
        seen.append(weight)
        return raw - y, np.ones_like(y)

    gradient, hessian = c.UserObjective("Model", objective)(np.ones(2), np.zeros(2))
    assert (gradient.tolist(), hessian.tolist(), seen) == ([-1.0, -1.0], [1.0, 1.0], [None])
    with pytest.raises(ParameterError, match="takes 1 arguments"):
        c.UserObjective("Model", lambda y: y)


def test_weights_of_classes():
    y = np.array(["a", "b", "b"])
    assert c.weigh_classes(None, {"a": 2.0}, y).tolist() == [2.0, 1.0, 1.0]
    assert c.weigh_classes([1, 2, 3], {"b": 2.0}, y).tolist() == [1.0, 4.0, 6.0]
    assert c.find_classes(y).tolist() == ["a", "b"]
    assert c.find_classes(None) is None
