"""Successive halving: rungs, costs, and who goes on."""

import numpy as np
import pytest

from sumwise.estimators.auto import search as search_module
from sumwise.estimators.auto.fold_fits import FoldFit
from sumwise.estimators.auto.halving import WEAK, count_fits, halve_all, plan_rungs
from sumwise.estimators.auto.portfolio import BY_NAME, draw_variants
from sumwise.estimators.auto.search import TIME
from tests.estimators.auto.samples import FakeClock, make_frame, make_search, read

VARIANTS = draw_variants(24, 0, frozenset())


@pytest.mark.parametrize("n_variants", [1, 2, 3, 12, 24])
@pytest.mark.parametrize("n_folds", [2, 3, 8, 15])
def test_rungs_have_fewer_variants_and_more_folds(n_variants, n_folds):
    rungs = plan_rungs(n_variants, n_folds)
    kept = [n_variants, *(rung.n_kept for rung in rungs)]
    folds = [rung.n_folds for rung in rungs]
    assert kept == sorted(set(kept), reverse=True)
    assert folds == sorted(set(folds))
    assert all(n < n_folds for n in folds)
    assert kept[-1] >= 1
    fits = count_fits(n_variants, n_folds)
    assert n_folds <= fits <= n_variants * n_folds


@pytest.fixture
def fits(monkeypatch):
    """Fake fits of one second whose errors grow with the number of the variant."""
    done = []

    def fit(terms, recipe, fold_idx, seconds, must=False):
        done.append((recipe.name, fold_idx))
        number = int(recipe.name.rpartition("_")[2]) if "variant" in recipe.name else 0
        taken = min(slow.get(recipe.name, 1.0), seconds)
        terms.clock.now += taken
        output = terms.data.y[terms.folds.test[fold_idx]] + number
        return FoldFit("model", output, taken, 5, taken < slow.get(recipe.name, 1.0))

    slow = {}
    monkeypatch.setattr(search_module, "fit_fold", fit)
    fit.done, fit.slow = done, slow
    return fit


def make(limit=None):
    search = make_search(read(*make_frame()), n_folds=8, limit=limit, clock=FakeClock())
    search.try_all([BY_NAME["leaf_quick"]])
    return search


def names(candidates):
    return [each.recipe.name for each in candidates]


def test_the_best_variants_see_all_folds(fits):
    search = make()
    halve_all(search, VARIANTS[:12])
    assert names(search.complete) == ["leaf_quick", "variant_1", "variant_2"]
    assert [each.reason for each in search.candidates[3:]] == [WEAK] * 10
    done = [name for name, _ in fits.done]
    n_fits = [done.count(f"variant_{k}") for k in range(1, 13)]
    assert n_fits == [8, 8, 4, 2, 2, 2, *[1] * 6]
    assert sum(n_fits) == count_fits(12, 8)


def test_all_variants_of_a_rung_see_the_same_folds(fits):
    search = make()
    halve_all(search, VARIANTS[:6])
    first = [fold for name, fold in fits.done[8:14]]
    assert first == [search.fold_order[0]] * 6


def test_there_are_several_brackets(fits):
    search = make()
    halve_all(search, VARIANTS)
    assert names(search.complete)[1:] == ["variant_1", "variant_2", "variant_13", "variant_14"]


def test_with_little_time_fewer_variants_compete(fits):
    search = make(limit=36.0)
    halve_all(search, VARIANTS[:12])
    n_tried = len(search.candidates) - 1
    assert 3 <= n_tried < 12
    assert search.budget.elapsed <= 35.0
    assert len(search.complete) > 1


def test_with_very_little_time_none_do(fits):
    search = make(limit=12.0)
    halve_all(search, VARIANTS)
    assert len(search.candidates) == 1


def test_a_variant_that_takes_much_longer_is_stopped(fits):
    search = make(limit=200.0)
    fits.slow["variant_1"] = 1000.0
    halve_all(search, VARIANTS[:12])
    assert search.candidates[1].reason == TIME
    assert names(search.complete)[1:] == ["variant_2", "variant_3"]
    assert search.budget.elapsed < 60.0


def test_real_variants():
    search = make_search(read(*make_frame()), n_folds=2)
    halve_all(search, VARIANTS[:3])
    assert len(search.complete) == 1
    assert np.isfinite(search.score(search.complete[0]))
