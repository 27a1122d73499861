"""Checks of parameters, and the messages they give."""

from types import SimpleNamespace

import numpy as np
import pytest

from sumwise import (
    AveragingRegressor,
    BaggingRegressor,
    Columns,
    DecisionTreeRegressor,
    Goss,
    GradientBoostingRegressor,
    MultiResponseLinear,
    RandomForestClassifier,
    Subsample,
)
from sumwise.errors import ParameterError
from sumwise.estimators.input.parameters import (
    check_choice,
    check_integer,
    check_nested,
    check_number,
    name_part,
    resolve_part,
)


def owner_of(value):
    return SimpleNamespace(size=value)


@pytest.mark.parametrize("value", [0, 0.5, 2, np.float32(1.5), np.int8(2), 2.0])
def test_number(value):
    number = check_number(owner_of(value), "size", 0, 2)
    assert number == value
    assert type(number) is float


@pytest.mark.parametrize("value", [-1e-9, 2.1, np.nan, np.inf, "1", None, True, np.True_, 1j, [1]])
def test_bad_number(value):
    with pytest.raises(ParameterError, match=r"size=.*must be a number at least 0 and at most 2"):
        check_number(owner_of(value), "size", 0, 2)


def test_number_of_an_open_range():
    assert check_number(owner_of(1e-300), "size", 0, open_low=True) == 1e-300
    with pytest.raises(ParameterError, match=r"size=0; must be a number above 0$"):
        check_number(owner_of(0), "size", 0, open_low=True)
    with pytest.raises(ParameterError, match=r"size=inf; must be finite"):
        check_number(owner_of(np.inf), "size", 0, open_low=True)


@pytest.mark.parametrize("value", [1, 7, np.int64(3), np.uint8(7)])
def test_integer(value):
    integer = check_integer(owner_of(value), "size", 1, 7)
    assert integer == value
    assert type(integer) is int


@pytest.mark.parametrize("value", [0, 8, 2.0, np.float64(2), "2", None, True, np.True_])
def test_bad_integer(value):
    rule = r"size=.*must be an integer of at least 1 and at most 7$"
    with pytest.raises(ParameterError, match=rule):
        check_integer(owner_of(value), "size", 1, 7)


def test_integer_or_none():
    assert check_integer(owner_of(None), "size", 1, optional=True) is None
    with pytest.raises(ParameterError, match=r"size=0; must be an integer of at least 1 or None"):
        check_integer(owner_of(0), "size", 1, optional=True)


def test_choice():
    assert check_choice(owner_of("a"), "size", ("a", "b")) == "a"
    assert check_choice(owner_of(False), "size", (True, False)) is False
    assert check_choice(owner_of(np.True_), "size", (True, False))


@pytest.mark.parametrize("value", ["c", "", None, 1, ["a"], {"a": 1}, np.array(["a", "b"])])
def test_bad_choice(value):
    with pytest.raises(ParameterError, match=r"must be one of 'a', 'b'"):
        check_choice(owner_of(value), "size", ("a", "b"))


def test_one_is_not_true():
    with pytest.raises(ParameterError, match="must be one of True, False"):
        check_choice(owner_of(1), "size", (True, False))


def test_messages_name_the_class():
    class Forest:
        size = "large"

    with pytest.raises(ParameterError, match=r"^Forest: size='large'; must be an integer"):
        check_integer(Forest(), "size", 1)


def test_part_by_name_or_object():
    def resolve(value, names=True):
        return resolve_part(owner_of(value), "size", [Subsample], names)

    given = Subsample(rate=0.3)
    assert resolve(given) is given
    assert resolve("subsample") == Subsample()
    assert resolve(None) is None
    for value in ("Subsample", "columns", Columns(), 0.5, Subsample):
        with pytest.raises(ParameterError, match=r"Subsample\(\.\.\.\), 'subsample' or None"):
            resolve(value)
    with pytest.raises(ParameterError, match=r"must be Subsample\(\.\.\.\) or None"):
        resolve("subsample", names=False)


def test_part_is_checked():
    with pytest.raises(ParameterError, match=r"Subsample\(rate=7\)"):
        resolve_part(owner_of(Subsample(rate=7)), "size", [Subsample], names=True)


@pytest.mark.parametrize(
    "params",
    [
        {"rate": 1},
        {"other__rate": 1},
        {"size": Subsample(), "size__rate": 1},
        {"size__rate": 1},
    ],
)
def test_nested_names_that_can_be_set(params):
    check_nested(owner_of(Subsample()), params, {"size": "Subsample"})


@pytest.mark.parametrize("value", [None, "subsample"])
def test_nested_names_that_cannot_be_set(value):
    message = rf"cannot set size__rate, because size={value!r} .* size=Subsample\(rate=\.\.\.\)"
    for owner, params in [
        (owner_of(value), {"size__rate": 0.5}),
        (owner_of(Subsample()), {"size": value, "size__rate": 0.5}),
    ]:
        with pytest.raises(ParameterError, match=message):
            check_nested(owner, params, {"size": "Subsample"})


def test_errors_are_value_errors():
    with pytest.raises(ValueError, match="size"):
        check_integer(owner_of(None), "size", 1)


def test_the_part_that_has_a_parameter():
    kinds = (Subsample, Columns)
    assert name_part("sampler", kinds, {"sampler__by_tree": 1}) == "Columns"
    assert name_part("sampler", kinds, {"sampler__rate": 1, "other__by_tree": 2}) == "Subsample"
    assert name_part("sampler", kinds, {"sampler__unheard_of": 1}) == "Subsample"
    assert name_part("sampler", kinds, {"sampler__by_tre": 1}) == "Columns"


# Misspelled names


def test_estimators_name_themselves_and_the_parameter_that_was_meant():
    for make, message in [
        (
            lambda: GradientBoostingRegressor(n_estimator=3),
            r"^GradientBoostingRegressor has no parameter 'n_estimator'; did you mean "
            r"'n_estimators'\?",
        ),
        (
            lambda: RandomForestClassifier(max_feature=1),
            "^RandomForestClassifier has no .*'max_features'",
        ),
        (
            lambda: BaggingRegressor(DecisionTreeRegressor(), n_estimator=3),
            "^BaggingRegressor has no parameter .*'n_estimators'",
        ),
        (lambda: MultiResponseLinear(nonnegativ=True), "^MultiResponseLinear has no .*'nonneg"),
        (lambda: RandomForestClassifier(unheard_of=1), "'unheard_of'; it has n_estimators, "),
        (lambda: GradientBoostingRegressor(3), "takes 0 parameters by position, and 1 were given"),
    ]:
        with pytest.raises(TypeError, match=message):
            make()


@pytest.mark.parametrize(
    ("model", "name", "message"),
    [
        (
            GradientBoostingRegressor(),
            "max_leafs",
            "GradientBoostingRegressor has no parameter 'max_leafs'; did you mean 'max_leaves'",
        ),
        (
            GradientBoostingRegressor(sampler=Goss()),
            "sampler__top_rat",
            "Goss has no parameter 'top_rat'; did you mean 'top_rate'",
        ),
        (
            GradientBoostingRegressor(),
            "sampler__top_rat",
            r"cannot set sampler__top_rat, because sampler=None .* sampler=Goss\(top_rate=\.\.\.\)",
        ),
        (
            GradientBoostingRegressor(),
            "loss__delt",
            r"because loss='auto' .* loss=Huber\(delta=\.\.\.\)",
        ),
        (
            BaggingRegressor(DecisionTreeRegressor()),
            "estimator__max_dept",
            "DecisionTreeRegressor has no parameter 'max_dept'; did you mean 'max_depth'",
        ),
        (
            AveragingRegressor([("tree", DecisionTreeRegressor())]),
            "tre__max_depth",
            "AveragingRegressor has no parameter 'tre'; did you mean 'tree'",
        ),
        (
            AveragingRegressor([("tree", DecisionTreeRegressor())]),
            "weights__power",
            "AveragingRegressor: cannot set weights__power, because weights='uniform' has no param",
        ),
    ],
)
def test_misspelled_names_that_are_set(model, name, message):
    with pytest.raises(ParameterError, match=message):
        model.set_params(**{name: 1})


def test_members_can_be_set_by_name():
    model = AveragingRegressor([("tree", DecisionTreeRegressor())])
    assert model.set_params(tree__max_depth=3).estimators[0][1].max_depth == 3


def test_subclasses_may_take_anything():
    class Own(GradientBoostingRegressor):
        def __init__(self, **params):
            super().__init__(**params)

    assert Own(n_estimators=3).n_estimators == 3
    with pytest.raises(TypeError, match="n_estimator"):
        Own(n_estimator=3)
