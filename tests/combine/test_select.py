import numpy as np
import pytest

from sumwise.combine.select import (
    count_selected,
    order_by_orientation,
    prune_by_reduced_error,
    select_by_kappa,
    select_greedily,
    select_in_bags,
)

Y = np.array([0.0, 1.0, 2.0, 3.0])


def score(mean):
    return -float(np.mean((mean - Y) ** 2))


def test_greedy_selection_by_hand():
    # Errors 1, -2 and 9: the first alone, then with the second 2 : 1 there is no error left.
    predictions = np.stack([Y + 1.0, Y - 2.0, Y + 9.0])
    steps = select_greedily(predictions, score, n_steps=10)
    assert [step.member for step in steps] == [0, 1, 0]
    np.testing.assert_allclose([step.score for step in steps], [-1.0, -0.25, 0.0], atol=1e-12)
    np.testing.assert_allclose(count_selected([steps], 3), [2 / 3, 1 / 3, 0.0])


def test_without_replacement_no_member_comes_twice():
    predictions = np.stack([Y + 1.0, Y - 2.0, Y + 9.0])
    steps = select_greedily(predictions, score, n_steps=10, replace=False)
    assert [step.member for step in steps] == [0, 1]


def test_start_takes_the_best_single_members_as_long_as_they_help():
    predictions = np.stack([Y + 3.0, Y - 1.0, Y - 2.0])
    steps = select_greedily(predictions, score, n_steps=2, n_start=2)
    # -1 and -2 are the best two, but together worse than -1 alone.
    assert [step.member for step in steps] == [1, 0] or len(steps) == 1
    assert steps[0].member == 1


def test_greedy_is_never_worse_than_the_best_member():
    rng = np.random.default_rng(0)
    predictions = Y + rng.normal(size=(8, 4))
    best = max(map(score, predictions))
    assert select_greedily(predictions, score, 20, n_start=3)[-1].score >= best


def test_bags_are_seeded_parts_of_the_members():
    predictions = Y + np.random.default_rng(0).normal(size=(8, 4))
    bags = select_in_bags(predictions, score, 5, 1, n_bags=6, bag_fraction=0.5, seed=3)
    assert bags == select_in_bags(predictions, score, 5, 1, 6, 0.5, seed=3)
    assert len(bags) == 6
    assert all(len({step.member for step in steps}) <= 4 for steps in bags)
    assert count_selected(bags, 8).sum() == pytest.approx(1.0)


def test_reduced_error_exchanges_members():
    # Greedy takes 0 first; the best pair is 1 and 2, found by exchange.
    predictions = np.stack([Y + 1.0, Y + 2.0, Y - 2.0, Y - 7.0])
    steps = prune_by_reduced_error(predictions, score, n_keep=2)
    assert sorted(step.member for step in steps) == [1, 2]
    assert steps[-1].score == 0.0
    assert len(prune_by_reduced_error(predictions, score, n_keep=9)) == 4


def test_orientation_prefers_members_that_correct_the_ensemble():
    # All but member 2 fail on the last row.
    is_right = np.array([[1, 1, 1, 0], [1, 1, 1, 0], [0, 1, 1, 1], [1, 1, 0, 0]], dtype=bool)
    order, angles = order_by_orientation(is_right)
    assert order[0] == 2
    assert angles[2] < np.pi / 2
    signatures = np.where(is_right, 1.0, -1.0)
    ensemble = signatures.mean(axis=0)
    reference = 1.0 - ensemble.sum() / (ensemble @ ensemble) * ensemble
    assert reference @ ensemble == pytest.approx(0.0, abs=1e-12)
    expected = np.arccos(signatures @ reference / (np.linalg.norm(reference) * 2.0))
    np.testing.assert_allclose(angles, expected)


def test_orientation_of_perfect_members():
    order, angles = order_by_orientation(np.ones((3, 5), dtype=bool))
    np.testing.assert_array_equal(order, [0, 1, 2])
    np.testing.assert_allclose(angles, 0.0, atol=1e-7)


def test_kappa_pruning_takes_the_pairs_that_agree_least():
    labels = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]])
    assert select_by_kappa(labels, n_keep=2) == [0, 2]
    assert select_by_kappa(labels, n_keep=3) == [0, 2, 1]
    assert select_by_kappa(labels[:1], n_keep=1) == [0]
