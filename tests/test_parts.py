"""Parts: parameters, equality, repr, clone and pickle."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from sumwise import Columns, Subsample
from sumwise.errors import ParameterError
from sumwise.parts import Part, check_count, check_flag, check_number, check_rate


class Mixed(Part):
    """A part with and without defaults."""

    def __init__(self, kind, rate=0.5, inner=None):
        self.kind = kind
        self.rate = rate
        self.inner = inner


def test_parameters_are_the_arguments_of_init():
    part = Mixed("a", inner=Subsample())
    assert part.get_params() == {"kind": "a", "rate": 0.5, "inner": Subsample()}
    assert list(part.get_params(deep=False)) == ["kind", "rate", "inner"]


def test_a_part_without_init_has_no_parameters():
    class Plain(Part):
        """A part that inherits all."""

    assert Plain().get_params() == {}
    assert repr(Plain()) == "Plain()"
    assert Plain() == Plain()
    with pytest.raises(ParameterError, match="Plain has no parameter 'rate'"):
        Plain(rate=1)


def test_set_params_sets_and_returns_itself():
    part = Columns()
    assert part.set_params(by_tree=0.5, by_node=0.25) is part
    assert (part.by_tree, part.by_level, part.by_node) == (0.5, 1.0, 0.25)
    assert part.set_params() is part


def test_an_unknown_parameter_is_refused_with_the_names():
    with pytest.raises(ParameterError, match="Columns has no parameter 'rate'; it has by_tree, "):
        Columns().set_params(rate=0.5)


def test_a_misspelled_parameter_names_the_one_that_was_meant():
    message = r"Columns has no parameter 'by_tre'; did you mean 'by_tree'\?"
    with pytest.raises(ParameterError, match=message):
        Columns().set_params(by_tre=0.5)
    with pytest.raises(TypeError, match=message):
        Columns(by_tre=0.5)


def test_nothing_is_set_if_one_name_is_wrong():
    part = Columns()
    with pytest.raises(ParameterError):
        part.set_params(by_tree=0.5, by_branch=0.5)
    assert part == Columns()


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (Columns(), "Columns()"),
        (Columns(by_level=0.5), "Columns(by_level=0.5)"),
        (Mixed("a"), "Mixed(kind='a')"),
        (Mixed("a", inner=Subsample(0.5)), "Mixed(kind='a', inner=Subsample(rate=0.5))"),
    ],
)
def test_repr_shows_what_was_changed(part, text):
    assert repr(part) == text


def test_equal_if_same_kind_and_parameters():
    assert Columns(by_tree=0.5) == Columns(by_tree=0.5)
    assert Columns(by_tree=0.5) != Columns(by_tree=0.6)
    assert Columns() != Subsample()
    assert Columns() != "Columns()"


def test_parts_change_so_they_have_no_hash():
    with pytest.raises(TypeError, match="unhashable"):
        hash(Columns())


@pytest.mark.parametrize("part", [Columns(by_tree=0.5), Subsample(0.25)])
def test_clone_and_pickle_give_equal_parts(part):
    for copy in (clone(part), pickle.loads(pickle.dumps(part))):
        assert copy == part
        assert copy is not part


@pytest.mark.parametrize("value", [0.001, 1, 1.0])
def test_a_rate_is_accepted(value):
    check_rate(Subsample(value), "rate")


@pytest.mark.parametrize("value", [0, 0.0, 1.1, -1, True, False, "1", None, 1j, float("nan")])
def test_what_is_no_rate_is_refused(value):
    with pytest.raises(ParameterError, match=r"must be in \(0, 1\]"):
        check_rate(Subsample(value), "rate")


def fails(check, value, *arguments, **options):
    part = Subsample(value)
    try:
        check(part, "rate", *arguments, **options)
    except ParameterError as error:
        return str(error).startswith(f"Subsample(rate={value!r}): must be ")
    return False


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, False),
        (5, False),
        (np.int64(2), False),
        (0, True),
        (1.5, True),
        ("1", True),
        (True, True),
    ],
)
def test_counts(value, expected):
    assert fails(check_count, value, 1) is expected
    assert not fails(check_count, None, 1, optional=True)
    assert fails(check_count, None, 1)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, False),
        (np.float32(0.5), False),
        (2.0, False),
        (2.1, True),
        (-0.1, True),
        (float("nan"), True),
        (float("inf"), True),
        ("1", True),
        (None, True),
        (True, True),
    ],
)
def test_numbers(value, expected):
    assert fails(check_number, value, 0.0, 2.0) is expected
    assert fails(check_number, float("inf"), 0.0)


@pytest.mark.parametrize(
    ("value", "expected"), [(True, False), (np.False_, False), (1, True), ("yes", True)]
)
def test_flags(value, expected):
    assert fails(check_flag, value) is expected
