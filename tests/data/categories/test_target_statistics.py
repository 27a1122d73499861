"""Target statistics, compared with a transcription of the article, and its two properties."""

import numpy as np
import pytest

from sumwise import TargetStatistics
from sumwise.data.categories.groups import Group
from sumwise.data.categories.target_statistics import (
    CategorySums,
    find_places,
    find_prior,
    permute_rows,
    split_holdout,
)
from sumwise.errors import ParameterError
from sumwise.kernels.runtime.threads import Team
from tests.naive import target_statistics as naive

N_ROWS = 60


def make_rows(seed, n_rows=N_ROWS):
    """Codes of two features (one with missing values), targets and weights with exact sums."""
    rng = np.random.default_rng(seed)
    codes = {0: rng.integers(0, 6, n_rows), 1: rng.integers(-1, 4, n_rows)}
    codes[1][codes[1] < 0] = 4  # missing
    return codes, rng.integers(-8, 9, n_rows) / 8.0, rng.integers(1, 5, n_rows) / 4.0


@pytest.fixture(params=[1, 3], ids=["one thread", "three threads"])
def team(request):
    with Team(request.param) as team:
        yield team


@pytest.fixture(params=[False, True], ids=["plain", "weighted"])
def table(request, team):
    codes, target, weight = make_rows(7)
    n_categories = np.array([6, 4])
    groups = [
        Group.of_feature(0, 6),
        Group.of_feature(1, 4),
        Group.of_rows((0, 1), n_categories, codes, np.arange(N_ROWS)),
    ]
    categories = [codes[0], codes[1], 100 * codes[0] + codes[1]]
    weight = weight if request.param else np.empty(0)
    return groups, codes, categories, target, weight


def sum_up(table, rows, team, prior=0.25, prior_weight=2.0):
    groups, codes, _, target, weight = table
    places = find_places(groups, codes)
    sizes = [group.n_places for group in groups]
    values = target[None, :]
    sums = CategorySums.of_rows(
        places, sizes, rows, values, weight, np.array([prior]), prior_weight, team
    )
    return places, sums


def expect(table, group, rows_of, rows, prior=0.25, prior_weight=2.0):
    _, _, categories, target, weight = table
    weight = weight if weight.size else np.ones(N_ROWS)
    return naive.statistics(rows_of, rows, categories[group], target, weight, prior_weight, prior)


ALL = np.arange(N_ROWS, dtype=np.uint32)


@pytest.mark.parametrize("group", range(3))
def test_greedy_is_the_formula(table, group, team):
    places, sums = sum_up(table, ALL, team)
    found = sums.greedy(group, 0, places[group])
    np.testing.assert_array_equal(found, expect(table, group, naive.greedy_rows, ALL))


@pytest.mark.parametrize("group", range(3))
def test_leave_one_out_is_the_formula(table, group, team):
    places, sums = sum_up(table, ALL, team)
    target, weight = table[3], table[4] if table[4].size else 1.0
    found = sums.leave_one_out(group, 0, places[group], target, weight)
    np.testing.assert_array_equal(found, expect(table, group, naive.leave_one_out_rows, ALL))


@pytest.mark.parametrize("group", range(3))
def test_holdout_is_the_formula(table, group, team):
    held = split_holdout(TargetStatistics("holdout", holdout=0.4), ALL, 3)
    assert held.size == 24
    places, sums = sum_up(table, held, team)
    found = sums.greedy(group, 0, places[group])
    np.testing.assert_array_equal(found, expect(table, group, naive.holdout_rows(held), ALL))


@pytest.mark.parametrize("group", range(3))
@pytest.mark.parametrize("rows", [ALL, ALL[::2]], ids=["all", "some"])
def test_ordered_is_the_formula(table, group, rows, team):
    order = permute_rows(rows, 5, 1)
    places, sums = sum_up(table, rows, team)
    out = np.full((3, 1, N_ROWS), np.nan)
    sums.ordered(places, order, table[3][None, :], table[4], out, team)
    expected = expect(table, group, naive.ordered_rows(order.tolist()), rows)
    np.testing.assert_array_equal(out[group, 0, rows], expected)
    assert np.isnan(np.delete(out[group, 0], rows)).all()


def test_categories_that_are_not_known_take_the_prior(table, team):
    _, sums = sum_up(table, ALL[:10], team, prior=0.75)
    unknown = np.array([-1, -1], dtype=np.int32)
    np.testing.assert_array_equal(sums.greedy(2, 0, unknown), [0.75, 0.75])
    np.testing.assert_array_equal(sums.count(2, unknown), [0.0, 0.0])


def test_the_prior_is_the_weighted_mean_or_as_given():
    values = np.array([[0.0, 1.0, 1.0, 4.0]])
    rows = np.array([0, 1, 3])
    part, weight = TargetStatistics(), np.array([1.0, 1.0, 1.0, 2.0])
    assert find_prior(part, values, np.empty(0), rows) == [5.0 / 3.0]
    assert find_prior(part, values, weight, rows) == [9.0 / 4.0]
    assert find_prior(TargetStatistics(prior=0.5), values, np.empty(0), rows) == [0.5]


def test_there_may_be_several_priors():
    values, rows = np.array([[0.0, 1.0, 1.0], [2.0, 5.0, 5.0]]), np.arange(3)
    found = find_prior(TargetStatistics(prior=(0, 0.5, 1)), values[:1], np.empty(0), rows)
    assert found.tolist() == [0.0, 0.5, 1.0]
    found = find_prior(TargetStatistics(), values, np.empty(0), rows)
    assert found.tolist() == [2.0 / 3.0, 4.0]
    part = TargetStatistics(prior=["mean", 9.0])
    found = find_prior(part, values, np.empty(0), rows)
    assert found.tolist() == [2.0 / 3.0, 9.0, 4.0, 9.0]


def test_each_prior_has_statistics_of_its_own(table, team):
    groups, codes, _, target, weight = table
    values, priors = np.stack([target, 1.0 - target]), [0.25, 1.0, -0.5, 2.0]
    places, sizes = find_places(groups, codes), [group.n_places for group in groups]
    options = (np.array(priors), 2.0, team)
    sums = CategorySums.of_rows(places, sizes, ALL, values, weight, *options)
    assert (sums.n_values, sums.n_priors) == (2, 2)
    order = permute_rows(ALL, 5, 1)
    out = np.empty((3, 4, N_ROWS))
    sums.ordered(places, order, values, weight, out, team)
    own_weight = weight if weight.size else 1.0
    for statistic, prior in enumerate(priors):
        own = values[statistic // 2]
        of_value = (groups, codes, table[2], own, weight)
        for group in range(3):
            expected = [
                expect(of_value, group, rows_of, ALL, prior=prior)
                for rows_of in (
                    naive.ordered_rows(order.tolist()),
                    naive.greedy_rows,
                    naive.leave_one_out_rows,
                )
            ]
            found = [
                out[group, statistic],
                sums.greedy(group, statistic, places[group]),
                sums.leave_one_out(group, statistic, places[group], own, own_weight),
            ]
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("levels", [1, 5, 16])
def test_thresholds_are_equal_steps_between_the_priors(levels):
    start, none = np.array([0, 0]), np.empty(0)
    prior = np.array([-1.0, 3.0])
    sums = CategorySums(start, none.reshape(1, 0), none, prior, 1.0)
    thresholds = sums.find_thresholds(levels)
    values = np.random.default_rng(0).uniform(-2.0, 4.0, 500)
    values = np.concatenate([values, [-1.0, 3.0]])
    level = np.clip(np.floor((values + 1.0) / 4.0 * levels), 0, levels)
    np.testing.assert_array_equal(np.searchsorted(thresholds, values), level)


def test_thresholds_are_free_without_levels_or_with_one_prior():
    start, none = np.array([0, 0]), np.empty(0)
    for prior, levels in (([0.0, 1.0], 0), ([0.5], 16), ([0.5, 0.5], 16)):
        sums = CategorySums(start, none.reshape(1, 0), none, np.array(prior), 1.0)
        assert sums.find_thresholds(levels) is None


def test_permutations_are_permutations_and_differ():
    rows = np.arange(3, 300, 3, dtype=np.uint32)
    orders = [permute_rows(rows, seed, number) for seed in range(2) for number in range(2)]
    for order in orders:
        np.testing.assert_array_equal(np.sort(order), rows)
    assert len({order.tobytes() for order in orders}) == 4
    np.testing.assert_array_equal(permute_rows(rows, 0, 0), orders[0])


def test_every_permutation_is_as_likely():
    rows = np.arange(3, dtype=np.uint32)
    found = [tuple(permute_rows(rows, seed, 0).tolist()) for seed in range(3000)]
    counts = np.unique(found, axis=0, return_counts=True)[1]
    assert counts.size == 6
    assert counts.min() > 430


# The two properties of the article. Categories do not influence the target here, so E(y) = 1/2 and
# the statistic of a test row does not depend on its target.


def find_means(method, n_rows=8, n_categories=2, n_draws=4000):
    """Return the mean statistic of a training row of y = 0 and of y = 1, and of a test row."""
    rng = np.random.default_rng(0)
    train, test = {0: [], 1: []}, []
    part = TargetStatistics(method)
    rows = np.arange(n_rows, dtype=np.uint32)
    with Team(1) as team:
        for draw in range(n_draws):
            places = rng.integers(0, n_categories, (1, n_rows + 1)).astype(np.int32)
            target = rng.integers(0, 2, n_rows + 1).astype(np.float64)
            summed = split_holdout(part, rows, draw) if method == "holdout" else rows
            prior = np.array([0.5])
            values = target[None, :]
            sums = CategorySums.of_rows(
                places, [n_categories], summed, values, np.empty(0), prior, 1.0, team
            )
            row = int(np.setdiff1d(rows, summed)[0]) if method == "holdout" else 0
            own = places[0, [row]]
            if method == "ordered":
                out = np.empty((1, 1, n_rows + 1))
                sums.ordered(places, permute_rows(rows, draw, 0), values, np.empty(0), out, team)
                found = out[0, 0, row]
            elif method == "leave_one_out":
                found = sums.leave_one_out(0, 0, own, target[[row]], 1.0)[0]
            else:
                found = sums.greedy(0, 0, own)[0]
            train[int(target[row])].append(found)
            test.append(sums.greedy(0, 0, places[0, [n_rows]])[0])
    return np.mean(train[0]), np.mean(train[1]), np.mean(test)


@pytest.mark.parametrize(
    ("method", "holds"), [("greedy", False), ("holdout", True), ("ordered", True)]
)
def test_property_1_the_same_conditional_mean_in_training_and_test(method, holds):
    of_zero, of_one, of_test = find_means(method)
    gaps = abs(of_zero - of_test), abs(of_one - of_test)
    assert (max(gaps) < 0.015) if holds else (min(gaps) > 0.05)


def test_property_1_leave_one_out_has_it_on_average_but_leaks_given_the_category():
    # If all rows have the same category, the mean of the other rows reveals the target of a row.
    of_zero, of_one, of_test = find_means("leave_one_out")
    assert max(abs(of_zero - of_test), abs(of_one - of_test)) < 0.015
    target = np.arange(20) % 2.0
    places = np.zeros((1, 20), dtype=np.int32)
    rows = np.arange(20, dtype=np.uint32)
    with Team(1) as team:
        sums = CategorySums.of_rows(
            places, [1], rows, target[None, :], np.empty(0), np.array([0.5]), 1.0, team
        )
        found = sums.leave_one_out(0, 0, places[0], target, 1.0)
        assert found[target == 1].max() < found[target == 0].min()
        out = np.empty((1, 1, 20))
        sums.ordered(places, permute_rows(rows, 0, 0), target[None, :], np.empty(0), out, team)
        assert out[0, 0][target == 1].max() > out[0, 0][target == 0].min()


# Parameters


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "mean"},
        {"prior_weight": 0},
        {"prior_weight": True},
        {"prior": "median"},
        {"prior": float("nan")},
        {"prior": []},
        {"prior": (0.5, "median")},
        {"levels": -1},
        {"permutations": 0},
        {"holdout": 1.0},
        {"counts": 1},
        {"combinations": -1},
        {"max_combined": 0},
        {"greedy_rows": -1.0},
        {"native_limit": 1.5},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_wrong_parameters_are_named(wrong):
    (name,) = wrong
    with pytest.raises(ParameterError, match=rf"TargetStatistics\({name}="):
        TargetStatistics(**wrong).check()


def test_features_of_many_rows_a_category_stay_greedy():
    n_categories = np.array([0, 2, 3, 60])
    found = TargetStatistics().find_greedy(n_categories, 1200)
    assert found.tolist() == [False, True, False, False]
    for part in (TargetStatistics(greedy_rows=0), TargetStatistics("holdout")):
        assert not part.find_greedy(n_categories, 10**9).any()


def test_defaults_are_right():
    TargetStatistics().check()
    assert repr(TargetStatistics("greedy")) == "TargetStatistics(method='greedy')"
