"""Combinations are chosen greedily if they explain more than their features."""

import numpy as np
import pytest

from sumwise import TargetStatistics
from sumwise.data.categories.combinations import choose_combinations, cut
from sumwise.kernels.runtime.threads import Team

N_ROWS = 4000


def make_table(kind, seed=0):
    rng = np.random.default_rng(seed)
    codes = {f: rng.integers(0, 4, N_ROWS) for f in range(4)}
    if kind == "pair":
        effect = (codes[0] + codes[2]) % 2
    elif kind == "triple":
        effect = (codes[0] % 2) ^ (codes[1] % 2) | (codes[3] % 2) & (codes[0] // 2)
    else:
        effect = codes[1] / 3.0
    target = (rng.random(N_ROWS) < 0.2 + 0.6 * effect).astype(np.float64)
    return codes, target


def choose(codes, values, n_threads=1, **params):
    rows = np.arange(N_ROWS, dtype=np.uint32)
    with Team(n_threads) as team:
        return choose_combinations(
            TargetStatistics(greedy_rows=0, native_limit=0, **params),
            codes,
            np.full(4, 4),
            values,
            rows,
            0,
            team,
        )


def test_a_pair_that_tells_more_is_found():
    codes, target = make_table("pair")
    assert choose(codes, target[None, :])[0] == (0, 2)


def test_a_combination_may_be_extended():
    codes, target = make_table("triple")
    assert (0, 1, 3) in choose(codes, target[None, :])
    assert all(len(f) == 2 for f in choose(codes, target[None, :], max_combined=2))


def test_additive_effects_need_next_to_none():
    codes, target = make_table("additive")
    assert len(choose(codes, target[None, :])) <= 2


def test_the_number_is_limited():
    codes, target = make_table("triple")
    assert len(choose(codes, target[None, :], combinations=1)) == 1
    assert choose(codes, target[None, :], combinations=0) == []
    assert choose(codes, target[None, :], max_combined=1) == []
    assert choose({0: codes[0]}, target[None, :]) == []


@pytest.mark.parametrize("kind", ["pair", "triple"])
def test_several_classes_and_threads(kind):
    codes, target = make_table(kind)
    values = np.stack([target == 0, target == 1]).astype(np.float64)
    chosen = choose(codes, values)
    assert chosen
    assert choose(codes, values, n_threads=3) == chosen


def test_identifiers_are_not_chosen():
    codes, target = make_table("additive")
    codes[0] = np.arange(N_ROWS)
    with Team(1) as team:
        chosen = choose_combinations(
            TargetStatistics(greedy_rows=0, native_limit=0),
            codes,
            np.array([N_ROWS, 4, 4, 4]),
            target[None, :],
            np.arange(N_ROWS, dtype=np.uint32),
            0,
            team,
        )
    assert all(0 not in features for features in chosen)


def test_one_feature_must_be_too_large_for_sets():
    codes, target = make_table("pair")
    with Team(1) as team:
        chosen = [
            choose_combinations(
                TargetStatistics(greedy_rows=0, native_limit=limit),
                codes,
                np.array([4, 4, n_categories, 4]),
                target[None, :],
                np.arange(N_ROWS, dtype=np.uint32),
                0,
                team,
            )
            for limit, n_categories in ((4, 4), (4, 5))
        ]
    assert chosen[0] == []
    assert chosen[1][0] == (0, 2)


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("n_rows", [1, 2, 31, 33, 1000, 2500])
@pytest.mark.parametrize("decimals", [1, 12])
def test_bins_equal_those_of_quantiles(n_rows, decimals, n_threads):
    rng = np.random.default_rng(n_rows)
    statistics = rng.normal(size=(3, 2, n_rows)).round(decimals)  # with zeros of both signs
    with Team(n_threads) as team:
        bins = cut(statistics, team)
    for own, found in zip(statistics.reshape(6, -1), bins.reshape(6, -1), strict=True):
        ends = np.quantile(own, np.arange(1, 32) / 32, method="lower")
        assert np.searchsorted(np.unique(ends), own, side="left").tolist() == found.tolist()
