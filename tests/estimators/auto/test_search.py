"""The search: what is trained, what is left out, and why."""

import threading

import numpy as np
import pytest

from sumwise.estimators.auto import search as search_module
from sumwise.estimators.auto.checkpoint import Checkpoint
from sumwise.estimators.auto.fold_fits import FoldFit, TooSlowError
from sumwise.estimators.auto.memory import MemoryNeed
from sumwise.estimators.auto.portfolio import BY_NAME, choose_recipes
from sumwise.estimators.auto.search import MEMORY, TIME, Candidate
from tests.estimators.auto.samples import FakeClock, make_classes, make_frame, make_search, read

FEW = choose_recipes(["leaf_quick", "linear", "extra_trees"], frozenset())


def make(limit=None, clock=None, **options):
    return make_search(read(*make_frame()), limit=limit, clock=clock, **options)


@pytest.fixture
def fake_fits(monkeypatch):
    """Fits that take as many seconds of a fake clock as their member says; 1 by default."""
    durations = {}

    def fit(terms, recipe, fold_idx, seconds, must=False):
        needed = durations.get(recipe.name, 1.0)
        if isinstance(needed, Exception):
            raise needed
        taken = min(needed, seconds)
        terms.clock.now += taken
        test = terms.folds.test[fold_idx]
        return FoldFit(recipe.name, terms.data.y[test] + 0.0, taken, 9, taken < needed)

    monkeypatch.setattr(search_module, "fit_fold", fit)
    return durations


def reasons(search):
    return {each.recipe.name: each.reason for each in search.candidates}


def test_all_members_predict_all_rows():
    search = make()
    search.try_all(FEW)
    assert [each.recipe.name for each in search.complete] == [recipe.name for recipe in FEW]
    for candidate in search.complete:
        predicted = candidate.gather(search.folds)
        assert predicted.shape == (120,)
        assert np.isfinite(predicted).all()
        assert candidate.n_done == 3
        assert search.score(candidate) == pytest.approx(
            -np.sqrt(np.mean((predicted - search.data.y) ** 2))
        )


def test_probabilities_have_columns():
    search = make_search(read(*make_classes(), is_class=True))
    search.try_all(FEW[:1])
    predicted = search.complete[0].gather(search.folds)
    np.testing.assert_allclose(predicted.sum(axis=1), 1.0)


def test_folds_side_by_side_give_the_same_result(teams):
    alone, beside = make(n_jobs=1), make(n_jobs=3)
    assert beside.n_threads == 3
    for search in (alone, beside):
        search.try_all(FEW)
    for first, second in zip(alone.complete, beside.complete, strict=True):
        np.testing.assert_array_equal(first.gather(alone.folds), second.gather(beside.folds))


def test_a_member_that_would_not_finish_is_not_started(fake_fits):
    clock = FakeClock()
    search = make(limit=10.0, clock=clock)
    fake_fits["depth"] = 100.0
    search.try_all([BY_NAME[name] for name in ("leaf_quick", "leaf_slow", "depth", "linear")])
    # Of 9.5 seconds, the first two take 3 each; the first fold of the third may take 3.5 / 3.
    assert reasons(search) == {"leaf_quick": "", "leaf_slow": "", "depth": TIME, "linear": TIME}
    assert clock.now == pytest.approx(6.0 + 3.5 / 3 + 3.5 * 2 / 9)


def test_members_of_a_family_that_is_too_slow_are_not_tried(fake_fits):
    clock = FakeClock()
    search = make(limit=10.0, clock=clock)
    fake_fits["leaf_quick"] = fake_fits["depth"] = 1.8
    search.try_all([BY_NAME["leaf_quick"], BY_NAME["depth"]])
    assert reasons(search) == {"leaf_quick": "", "depth": TIME}
    assert clock.now == pytest.approx(5.4)  # nothing of the second was trained
    search.try_all([BY_NAME["linear"]])
    assert reasons(search)["linear"] == ""


def test_the_first_member_is_finished_whatever_the_time(fake_fits):
    fake_fits["leaf_quick"] = 1000.0
    clock = FakeClock()
    search = make(limit=10.0, clock=clock)
    search.try_all(FEW)
    assert search.complete[0].recipe.name == "leaf_quick"
    assert all(fit.was_cut for fit in search.complete[0].fits.values())
    assert clock.now <= 10.0


def test_a_member_once_begun_is_finished_with_fewer_rounds(fake_fits, monkeypatch):
    """Its third fold takes longer than the first two have promised."""
    clock = FakeClock()
    search = make(limit=20.0, clock=clock)
    search.try_all([BY_NAME["leaf_quick"]])
    own = search_module.fit_fold

    def fit(terms, recipe, fold_idx, seconds, must=False):
        fake_fits["depth"] = 50.0 if fold_idx == search.fold_order[2] else 1.0
        return own(terms, recipe, fold_idx, seconds, must)

    monkeypatch.setattr(search_module, "fit_fold", fit)
    search.try_all([BY_NAME["depth"]])
    depth = search.complete[1]
    assert [depth.fits[fold].was_cut for fold in search.fold_order] == [False, False, True]
    assert clock.now <= 20.0


def test_time_is_left_for_refits(fake_fits):
    clock = FakeClock()
    search = make(limit=100.0, clock=clock, refits=True)
    search.try_all(FEW)
    assert search.budget.reserved == 3.0


def test_members_that_fail_are_left_out(fake_fits):
    fake_fits["linear"] = ValueError("no line here")
    fake_fits["extra_trees"] = TooSlowError()
    search = make(clock=FakeClock())
    search.try_all(FEW)
    assert reasons(search) == {
        "leaf_quick": "",
        "linear": "failed: ValueError: no line here",
        "extra_trees": TIME,
    }
    assert isinstance(search.candidates[1].error, ValueError)


def test_if_the_first_member_fails_the_next_one_is_the_first(fake_fits):
    fake_fits["leaf_quick"] = ValueError("bad day")
    fake_fits["linear"] = 1000.0
    search = make(limit=10.0, clock=FakeClock())
    search.try_all(FEW[:2])
    assert [each.recipe.name for each in search.complete] == ["linear"]


def test_members_that_need_too_much_memory_are_left_out(monkeypatch):
    needs = {"leaf_quick": MemoryNeed(10, 50), "linear": MemoryNeed(60, 0)}
    monkeypatch.setattr(
        search_module, "estimate_memory", lambda recipe, *_: needs.get(recipe.name, (1, 1))
    )
    search = make(memory=100)
    search.try_all(FEW[:2])
    assert reasons(search) == {"leaf_quick": "", "linear": MEMORY}
    search = make(memory=5)
    search.try_all(FEW[:1])
    assert len(search.complete) == 1  # one is always trained


def test_finished_fits_come_from_the_checkpoint(tmp_path, fake_fits):
    def run(clock):
        checkpoint = Checkpoint(tmp_path / "fits")
        checkpoint.open("same", 0)
        search = make(clock=clock, checkpoint=checkpoint)
        search.try_all(FEW)
        return search

    first, clock = run(FakeClock()), FakeClock()
    fake_fits["leaf_quick"] = ValueError("not to be fitted again")
    (kept,) = (tmp_path / "fits").glob("linear-*-1.pickle")
    kept.unlink()
    second = run(clock)
    assert clock.now == 1.0  # the fold that was missing
    for one, other in zip(first.complete, second.complete, strict=True):
        np.testing.assert_array_equal(one.gather(first.folds), other.gather(second.folds))


def test_an_interrupt_ends_all_fits(monkeypatch):
    """The other fits of its wave end at their next round."""
    begun = threading.Event()

    def fit(terms, recipe, fold_idx, seconds, must=False):
        if fold_idx == 0:
            assert begun.wait(30)
            raise KeyboardInterrupt
        begun.set()
        while not terms.is_over():
            stopped.wait(0.01)
        raise ValueError("stopped")

    stopped = threading.Event()
    monkeypatch.setattr(search_module, "fit_fold", fit)
    search = make()
    search.n_threads = 3
    with pytest.raises(KeyboardInterrupt):
        search.try_all(FEW[:1])


def test_progress_tells_the_score_or_the_reason(fake_fits):
    states = []
    fake_fits["linear"] = ValueError("no line here")
    search = make(clock=FakeClock(), report=states.append)
    search.try_all(FEW[:2])
    assert [state.name for state in states] == ["leaf_quick", "linear"]
    assert states[0].result == "rmse 0"
    assert "no line here" in states[1].result
    assert states[1].elapsed == 3.0


def test_predictions_of_some_folds_are_gathered():
    search = make()
    candidate = Candidate(FEW[0])
    test = search.folds.test[1]
    candidate.add(1, FoldFit("model", np.ones(test.size), 1.0, 3, False))
    predicted = candidate.gather(search.folds)
    assert np.isnan(predicted).sum() == 120 - test.size
    assert candidate.n_rounds == 3
