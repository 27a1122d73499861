"""The portfolio: names, what recipes need, and random variants."""

import re

import pytest

from sumwise.estimators.auto import portfolio
from sumwise.estimators.auto.portfolio import (
    BOOSTING,
    BY_NAME,
    CATEGORIES,
    FAST,
    MANY_CLASSES,
    PORTFOLIO,
    REGRESSION,
    TWO_CLASSES,
    choose_recipes,
    draw_variants,
    list_names,
)

TRAITS = {
    value for name, value in vars(portfolio).items() if name.isupper() and isinstance(value, str)
}


def test_names_are_unique_and_can_be_names_of_files():
    assert len(BY_NAME) == len(PORTFOLIO)
    assert all(re.fullmatch(r"\w+", name) for name in BY_NAME)


def test_the_first_member_needs_nothing():
    first = PORTFOLIO[0]
    assert first.family == BOOSTING
    assert not first.needs
    assert FAST[0] == first.name


def test_needs_are_known_traits():
    assert {need for recipe in PORTFOLIO for need in recipe.needs} <= TRAITS


def test_recipes_without_what_they_need_are_left_out():
    names = ["symmetric_ordered", "leaf_quick"]
    assert [r.name for r in choose_recipes(names, frozenset())] == ["leaf_quick"]
    assert [r.name for r in choose_recipes(names, frozenset([CATEGORIES]))] == names


@pytest.mark.parametrize("trait", [REGRESSION, TWO_CLASSES, MANY_CLASSES])
def test_the_order_depends_on_the_classes(trait):
    names = list_names(frozenset([trait]))
    assert sorted(names) == sorted(BY_NAME)
    assert names[0] == PORTFOLIO[0].name
    is_early = names.index("network_large") < names.index("depth")
    assert is_early == (trait != TWO_CLASSES)


def test_categories_bring_their_encodings_forward():
    names = list_names(frozenset([CATEGORIES, TWO_CLASSES]))
    assert sorted(names) == sorted(BY_NAME)
    assert names.index("symmetric_ordered") < names.index("symmetric")
    assert names[0] == PORTFOLIO[0].name


def test_variants_are_random_and_do_not_depend_on_their_number():
    few, many = draw_variants(3, 5, frozenset()), draw_variants(20, 5, frozenset())
    assert few == many[:3]
    assert len({str(recipe.params) for recipe in many}) == 20
    assert draw_variants(3, 6, frozenset()) != few
    assert {recipe.params["growth"] for recipe in many} == {"leaf", "depth", "symmetric"}


def test_variants_encode_categories_only_if_there_are_some():
    def count(traits):
        found = draw_variants(20, 0, frozenset(traits))
        return sum("categorical_encoding" in recipe.params for recipe in found)

    assert count([]) == 0
    assert 0 < count([CATEGORIES]) < 20
