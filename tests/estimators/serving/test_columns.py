"""Columns and sets of categories are stored once, however many nodes use them."""

from dataclasses import replace

import numpy as np

from sumwise import GradientBoostingRegressor
from sumwise.estimators.serving.columns import CategorySets, Columns
from sumwise.export.portable import CATEGORY, Affine, Column, Input, Lookup, PortableModel, describe

INPUTS = (Input("a"), Input("b", CATEGORY, ("x", "y")))


def look_up(*numbers, default=0.5):
    return Column((1,), Lookup((3,), np.arange(3), np.array(numbers), default))


def make_model(*columns):
    slopes = np.ones((1, len(columns)))
    return PortableModel("Any", INPUTS, Affine((), np.empty((1, 0)), np.zeros(1), columns, slopes))


def test_columns_are_numbered_after_the_inputs():
    first, second = look_up(1.0, 2.0, 3.0), look_up(4.0, 5.0, 6.0)
    columns = Columns(make_model(Column((1,)), first, second, look_up(1.0, 2.0, 3.0)))
    assert len(columns) == 4
    assert columns.find_all([Column((1,)), second, first]).tolist() == [1, 3, 2]
    # Both have the same keys: they are searched once, and each has its numbers and a default.
    lookups = columns.lookups
    assert lookups.start.tolist() == [0, 1]
    assert lookups.first_column.tolist() == [0, 2]
    assert lookups.number.tolist() == [1.0, 2.0, 3.0, 0.5, 4.0, 5.0, 6.0, 0.5]
    assert lookups.category.tolist() == [1]


def test_without_lookups_unknown_categories_are_missing_from_the_start():
    columns = Columns(make_model(Column((0,)), Column((1,))))
    assert len(columns) == 2
    assert columns.lookups.category.size == 0


def test_equal_sets_are_stored_once():
    X = np.repeat(np.arange(6.0), 40)[:, None]
    model = GradientBoostingRegressor(n_estimators=8, categorical_features=[0], max_leaves=2)
    portable = describe(model.fit(X, X[:, 0] % 2))
    sets = CategorySets(portable.output, Columns(portable))
    places = sets.find_places(portable.output)
    assert places.size == 8 > np.unique(places).size
    assert sets.words.size == 1 + np.unique(places).size
    # The bit of missing values that go left is in every set, that of categories in no set in none.
    assert all(int(sets.words[place]) & 0b111 == 0b010 for place in places)
    twice = replace(portable, output=Affine((portable.output,) * 2, np.ones((1, 2)), np.zeros(1)))
    assert CategorySets(twice.output, Columns(twice)).words.size == sets.words.size
