"""The choice of the combination: by rows that have not seen the weights, with a guard."""

import numpy as np
import pytest

from sumwise.estimators.auto import combination
from sumwise.estimators.auto.combination import (
    BEST,
    GREEDY,
    KINDS,
    STACKING,
    WEIGHTS,
    Average,
    HeldOut,
    choose_combination,
    take_members,
)
from sumwise.estimators.auto.metrics import resolve_metric
from sumwise.estimators.auto.pooling import LinearPool, LogPool

N_ROWS = 400


def make_numbers(noise, seed=0, groups=None, metric=None):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=N_ROWS)
    predictions = np.stack([y + size * rng.normal(size=N_ROWS) for size in noise])
    return HeldOut(predictions, y, None, resolve_metric(metric, None, None), groups)


def make_shares(noise, seed=0, metric=None):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, N_ROWS)
    scores = np.stack([4 * y - 2 + size * rng.normal(size=N_ROWS) for size in noise])
    positive = 1 / (1 + np.exp(-scores))
    classes = np.array(["no", "yes"])
    predictions = np.stack([1 - positive, positive], axis=2)
    return HeldOut(predictions, y, None, resolve_metric(metric, None, classes))


@pytest.mark.parametrize("kind", ["auto", GREEDY, WEIGHTS, STACKING])
@pytest.mark.parametrize("make", [make_numbers, make_shares])
def test_members_with_independent_errors_are_combined(make, kind):
    held_out = make([1.0, 1.1, 1.2] if make is make_numbers else [3.0, 3.1, 3.2])
    choice = choose_combination(held_out, kind, seed=0)
    assert choice.kind in (KINDS[1:] if kind == "auto" else [kind])
    assert choice.score > held_out.score_members().max()
    assert choice.std_error > 0
    assert (choice.weights > 0.1).all()
    assert choice.weights.sum() == pytest.approx(1.0)
    predicted = choice.combined.combine(held_out.predictions)
    assert held_out.score(predicted) >= choice.score


@pytest.mark.parametrize("make", [make_numbers, make_shares])
@pytest.mark.parametrize("kind", [WEIGHTS, STACKING])
def test_members_of_little_weight_are_not_needed(make, kind):
    noise = [1.0, 1.0, 9.0] if make is make_numbers else [3.0, 3.0, 60.0]
    weights = choose_combination(make(noise), kind, seed=0).weights
    assert weights[2] == 0.0
    assert weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("kind", ["auto", GREEDY, STACKING, BEST])
def test_the_best_member_is_the_model_if_no_combination_beats_it(kind):
    held_out = make_numbers([0.1, 3.0, 3.0])
    held_out.predictions[1:] = 9.0  # nothing can be learned from the others
    choice = choose_combination(held_out, kind, seed=0)
    if choice.kind != BEST:  # stacking may shrink
        assert choice.score > held_out.score_members().max()
    else:
        assert choice.weights.tolist() == [1.0, 0.0, 0.0]
        assert isinstance(choice.combined, Average)


def test_the_guard_judges_the_best_member_as_the_combinations(monkeypatch):
    """The largest of many scores is too good; on rows that did not choose it, it is not."""
    held_out = make_numbers([1.0] * 20)
    fit, asked = combination._fit, []

    def spy(own, kind):
        asked.append((kind, own.y.size))
        return fit(own, kind)

    monkeypatch.setattr(combination, "_fit", spy)
    choose_combination(held_out, GREEDY, seed=0)
    learned = [n_rows for kind, n_rows in asked if kind == BEST]
    assert learned == [320] * 5


def test_the_score_is_that_of_unseen_rows():
    """Members of pure noise: weights that have seen a row would predict it better."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    held_out = HeldOut(rng.normal(size=(40, 60)), y, None, resolve_metric(None, None, None))
    choice = choose_combination(held_out, GREEDY, seed=0)
    seen = held_out.score(choice.combined.combine(held_out.predictions))
    assert choice.score < seen


def test_parts_keep_groups_together():
    groups = np.repeat(np.arange(40), 10)
    parts = combination._split(make_numbers([1.0], groups=groups), seed=1)
    assert all(np.unique(parts[groups == g]).size == 1 for g in range(40))
    assert np.bincount(parts).tolist() == [80] * 5


def test_one_member_and_one_row():
    choice = choose_combination(make_numbers([1.0]), "auto", seed=0)
    assert (choice.kind, choice.weights.tolist()) == (BEST, [1.0])
    single = HeldOut(np.zeros((2, 1)), np.ones(1), None, resolve_metric(None, None, None))
    assert choose_combination(single, "auto", seed=0).kind == BEST


def test_the_metric_decides():
    """The first member ranks rows well, and its probabilities are bad; the second the opposite."""
    held_out = make_shares([0.5, 3.0], metric="roc_auc")
    held_out.predictions[0] = 0.5 + (held_out.predictions[0] - 0.5) * 1e-3
    assert choose_combination(held_out, BEST, seed=0).weights.tolist() == [1.0, 0.0]
    by_loss = HeldOut(
        held_out.predictions,
        held_out.y,
        None,
        resolve_metric("log_loss", None, np.array(["no", "yes"])),
    )
    assert choose_combination(by_loss, BEST, seed=0).weights.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy"])
def test_any_metric(metric):
    choice = choose_combination(make_shares([1.5, 1.5, 1.5], metric=metric), "auto", seed=0)
    assert np.isfinite(choice.score)


def test_kinds_that_there_is_no_time_for_are_left_out():
    choice = choose_combination(make_numbers([1.0, 1.0]), "auto", seed=0, is_over=lambda: True)
    assert choice.kind == BEST


def test_only_good_members_are_looked_at_if_there_are_many(monkeypatch):
    monkeypatch.setattr(combination, "_MOST_MEMBERS", 2)
    choice = choose_combination(make_numbers([2.0, 1.0, 3.0, 1.0]), "auto", seed=0)
    assert (choice.weights[[0, 2]] == 0.0).all()
    assert (choice.weights[[1, 3]] > 0.0).all()


def test_many_rows_are_thinned_out(monkeypatch):
    monkeypatch.setattr(combination, "_MOST_NUMBERS", 200)
    held_out = make_numbers([1.0, 1.0])
    assert combination._thin_out(held_out).y.size == 100
    assert choose_combination(held_out, "auto", seed=0).kind != BEST


def test_members_that_are_not_needed_are_taken_out():
    predictions = np.random.default_rng(0).dirichlet(np.ones(2), (3, 5))
    pools = [
        Average(np.array([0.0, 0.4, 0.6])),
        LogPool(np.array([0.0, 0.4, 0.7]), np.array([0.1, -0.1])),
    ]
    for pool in pools:
        found = take_members(pool, [1, 2]).combine(predictions[1:])
        np.testing.assert_allclose(found, pool.combine(predictions))
    linear = take_members(LinearPool(np.array([0.0, 2.0]), 3.0), [1])
    assert linear.combine(np.ones((1, 2))).tolist() == [5.0, 5.0]


def test_the_same_choice_every_time():
    held_out = make_shares([1.0, 2.0, 2.0])
    first, second = (choose_combination(held_out, "auto", seed=4) for _ in range(2))
    np.testing.assert_array_equal(first.combined.coef, second.combined.coef)
    assert set(KINDS) >= {first.kind}
