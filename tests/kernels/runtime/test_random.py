"""Counter-based numbers against SplitMix64 in Python integers, and what samplers promise."""

import itertools

import numpy as np
import pytest

from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.jit import kernel
from tests.naive import random as naive


@kernel
def fill_uniform(key, out):
    for i in range(out.size):
        out[i] = random.uniform(key, i)


@kernel
def mark_features(key, pool, n_chosen, chosen):
    random.choose_features(key, pool, n_chosen, chosen)


def choose_rows(key, n, n_chosen):
    chosen = np.full(n_chosen, 10**6, dtype=np.uint32)
    random.choose_rows(np.uint64(key), np.arange(n, dtype=np.uint32), chosen)
    return chosen


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**63 - 1])
@pytest.mark.parametrize("number", [0, 7, 10**6])
def test_key_is_splitmix_of_its_parts(seed, number):
    expected = naive.extend(naive.extend(naive.extend(0, seed), random.TREES), number)
    key = random.make_key(seed, random.TREES, number)
    assert int(key) == expected
    assert type(key) is np.uint64  # one compiled version of what it is passed to


def test_keys_differ_by_seed_purpose_and_number():
    purposes = [random.ROWS, random.TREES, random.COLUMNS_BY_TREE, random.COLUMNS_BY_LEVEL]
    purposes += [random.COLUMNS_BY_NODE, random.BINNING]
    keys = [
        int(random.make_key(seed, purpose, number))
        for seed, purpose, number in itertools.product(range(5), purposes, range(5))
    ]
    assert len(set(keys)) == len(keys) == 150


def test_uniform_numbers_are_splitmix_and_even():
    key = random.make_key(3, random.ROWS, 0)
    numbers = np.empty(100_000)
    fill_uniform(key, numbers)
    assert numbers[:100].tolist() == [naive.uniform(int(key), i) for i in range(100)]
    assert np.all((numbers >= 0) & (numbers < 1))
    counts, _ = np.histogram(numbers, bins=20, range=(0, 1))
    assert np.max(np.abs(counts - 5000)) < 5 * np.sqrt(5000)
    # neighbors are not correlated
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 0.02


@pytest.mark.parametrize("n", [1, 2, 10, 1000])
def test_rows_are_as_many_as_asked_for_and_in_order(n):
    for n_chosen in {0, 1, n // 2, n - 1, n}:
        for key in range(20):
            chosen = choose_rows(key, n, n_chosen)
            assert chosen.size == n_chosen
            assert np.all(np.diff(chosen.astype(int)) > 0)
            assert n_chosen == 0 or chosen.max() < n


def test_rows_follow_selection_sampling():
    key, n, n_chosen = 2**63 + 12345, 50, 20
    assert choose_rows(key, n, n_chosen).tolist() == naive.choose(key, range(n), n_chosen)


def test_all_rows_and_pairs_are_equally_likely():
    n, n_chosen, n_keys = 12, 5, 4000
    counts = np.zeros((n, n))
    for number in range(n_keys):
        key = random.make_key(0, random.ROWS, number)
        chosen = np.zeros(n)
        chosen[choose_rows(key, n, n_chosen)] = 1
        counts += np.outer(chosen, chosen)
    for share, found in [
        (n_chosen / n, np.diag(counts)),
        (n_chosen * (n_chosen - 1) / (n * (n - 1)), counts[np.triu_indices(n, 1)]),
    ]:
        deviation = np.sqrt(n_keys * share * (1 - share))
        assert np.max(np.abs(found - n_keys * share)) < 4.5 * deviation


def test_rows_are_taken_from_the_candidates_whatever_these_are():
    key = random.make_key(1, random.ROWS, 2)
    candidates = np.array([90, 3, 57, 12, 40, 8], dtype=np.uint32)
    out = np.empty(3, dtype=np.uint32)
    random.choose_rows(key, candidates, out)
    # a place in the list decides, not the row number there
    assert out.tolist() == candidates[choose_rows(key, 6, 3)].tolist()


def test_the_sample_of_a_round_does_not_depend_on_others():
    first = choose_rows(random.make_key(0, random.ROWS, 3), 100, 30).tolist()
    for number in (0, 9):
        choose_rows(random.make_key(0, random.ROWS, number), 100, 60)
    again = choose_rows(random.make_key(0, random.ROWS, 3), 100, 30).tolist()
    assert first == again != choose_rows(random.make_key(0, random.ROWS, 4), 100, 30).tolist()


@pytest.mark.parametrize("n_chosen", [0, 1, 3, 6, 99])
def test_features_come_from_the_pool(n_chosen):
    pool = np.array([1, 0, 1, 1, 0, 1, 1, 1], dtype=np.uint8)
    for number in range(50):
        chosen = np.full(8, 9, dtype=np.uint8)
        key = random.make_key(0, random.COLUMNS_BY_TREE, number)
        mark_features(key, pool, n_chosen, chosen)
        assert set(chosen.tolist()) <= {0, 1}
        assert np.all(chosen <= pool)
        assert chosen.sum() == min(n_chosen, 6)
        expected = naive.choose(key, np.flatnonzero(pool), n_chosen)
        assert np.flatnonzero(chosen).tolist() == expected


def test_features_are_equally_likely():
    pool = np.ones(10, dtype=np.uint8)
    counts, chosen = np.zeros(10), np.empty(10, dtype=np.uint8)
    for number in range(4000):
        mark_features(random.make_key(5, random.COLUMNS_BY_NODE, number), pool, 3, chosen)
        counts += chosen
    assert np.max(np.abs(counts - 1200)) < 4.5 * np.sqrt(4000 * 0.3 * 0.7)
