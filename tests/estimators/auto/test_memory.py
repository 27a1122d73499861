"""Estimates of memory: they grow with what they depend on."""

import numpy as np
import pytest

from sumwise.estimators.auto.folds import make_folds
from sumwise.estimators.auto.memory import estimate_memory
from sumwise.estimators.auto.portfolio import BY_NAME, PORTFOLIO
from tests.estimators.auto.samples import make_classes, read


def estimate(name, n_rows=200, n_folds=4, n_beside=1):
    data = read(*make_classes(n_rows), is_class=True)
    folds = make_folds(data, n_folds, 1, False, None, 0)
    return estimate_memory(BY_NAME[name], data, folds, n_beside)


@pytest.mark.parametrize("recipe", PORTFOLIO, ids=lambda recipe: recipe.name)
def test_every_recipe_needs_something(recipe):
    need = estimate(recipe.name)
    assert need.training > 0
    assert need.kept > 0


def test_models_of_forests_and_neighbors_grow_with_the_rows():
    for name in ("forest", "neighbors"):
        few, many = estimate(name, 200), estimate(name, 2000)
        assert many.kept == pytest.approx(10 * few.kept, rel=0.02)
    boosted = estimate("leaf_quick", 2000).kept - estimate("leaf_quick", 200).kept
    assert boosted == 1800 * 2 * 8  # predictions of held-out rows alone


def test_fits_side_by_side_need_memory_each():
    assert estimate("depth", n_beside=3).training == 3 * estimate("depth").training
    assert estimate("depth", n_folds=8).kept > 1.9 * estimate("depth", n_folds=4).kept


def test_a_forest_is_as_large_as_estimated():
    from sumwise.estimators.auto.fold_fits import fit_fold
    from tests.estimators.auto.samples import make_terms

    data = read(*make_classes(400), is_class=True)
    terms = make_terms(data, n_folds=4)
    forest = fit_fold(terms, BY_NAME["extra_trees"], 0, np.inf).model.forest_
    arrays = [value for value in vars(forest).values() if isinstance(value, np.ndarray)]
    estimated = estimate_memory(BY_NAME["extra_trees"], data, terms.folds, 1).kept / 4
    assert 0.3 * estimated < sum(array.nbytes for array in arrays) < 1.5 * estimated
