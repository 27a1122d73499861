import pytest

from sumwise.compat.conversions import UserObjective
from sumwise.compat.objectives import Objective, Objectives
from sumwise.errors import ParameterError
from sumwise.losses import Huber

OBJECTIVES = Objectives(
    (
        Objective(("l2", "mse"), '"squared_error"', lambda v: "squared_error", "l2"),
        Objective(("huber",), "`Huber(delta)`", lambda v: Huber(v["alpha"]), "huber"),
    ),
    ("binary", "multiclass"),
    {"ranking": "ranking is not supported"},
)


def find(objective, is_class=False):
    return OBJECTIVES.find_loss("Model", {"objective": objective, "alpha": 2.0}, is_class)


def test_the_first_objective_is_the_default():
    assert find(None) == find("l2") == find("mse") == ("squared_error", "l2")
    assert find(None, is_class=True) == find("multiclass", is_class=True) == ("log_loss", None)


def test_losses_have_the_values_of_parameters():
    loss, metric = find("huber")
    assert loss.delta == 2.0
    assert metric == "huber"


def test_functions_have_no_metric():
    loss, metric = find(lambda y, raw: (raw - y, 1.0))
    assert isinstance(loss, UserObjective)
    assert metric is None


@pytest.mark.parametrize(
    ("objective", "is_class", "message"),
    [
        ("ranking", False, "Model: objective='ranking': ranking is not supported"),
        ("hubr", False, "did you mean 'huber'"),
        ("l2", True, "must be one of binary, multiclass"),
        (3, False, "must be one of l2, mse, huber"),
    ],
)
def test_others_are_refused(objective, is_class, message):
    with pytest.raises(ParameterError, match=message):
        find(objective, is_class)
