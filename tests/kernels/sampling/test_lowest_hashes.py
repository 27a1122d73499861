"""Rows with the lowest hashes: against the twin, by any number of threads and parts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.sampling import lowest_hashes
from sumwise.kernels.sampling.lowest_hashes import (
    EVERYTHING,
    HELD_OUT,
    Strata,
    draw_lowest,
    draw_strata,
    expect_window,
    find_bound,
    hash_numbers,
    split,
    survey,
)
from tests.naive import random as naive

examples = settings(derandomize=True, deadline=None, max_examples=60)
keys = st.integers(0, 2**64 - 1)
row_sets = st.sets(st.integers(0, 2**32 - 1), min_size=1, max_size=300)
# Small and large ones, with blocks that are full or not, and windows that leave rows out.
sizes = st.integers(1, 20) | st.integers(1, 2000)


@pytest.fixture(scope="module")
def teams():
    teams = {n_threads: Team(n_threads) for n_threads in (1, 2, 3)}
    yield teams
    for team in teams.values():
        team.__exit__(None, None, None)


@examples
@given(keys, row_sets, st.data())
def test_draw_is_its_twin(key, numbers, data):
    n_drawn = data.draw(st.integers(0, len(numbers)))
    rows = np.array(sorted(numbers), np.uint32)
    drawn = draw_lowest(np.uint64(key), rows, n_drawn)
    assert drawn.rows.tolist() == naive.draw_lowest(key, rows.tolist(), n_drawn)
    assert drawn.others.tolist() == sorted(numbers - set(drawn.rows.tolist()))
    assert drawn.rows.dtype == drawn.others.dtype == np.uint32


@examples
@given(keys, sizes, st.floats(0, 1))
def test_threads_do_not_matter(teams, key, n_rows, rate):
    rows = np.arange(n_rows, dtype=np.uint32) * np.uint32(3)
    n_drawn = round(rate * n_rows)
    expected = draw_lowest(np.uint64(key), rows, n_drawn)
    assert expected.rows.size == n_drawn
    assert np.array_equal(np.union1d(*expected), rows)
    for team in teams.values():
        for mine, theirs in zip(
            draw_lowest(np.uint64(key), rows, n_drawn, team), expected, strict=True
        ):
            assert mine.tolist() == theirs.tolist()


@examples
@given(keys, st.lists(st.integers(0, 400), min_size=1, max_size=6), st.data())
def test_parts_draw_as_the_whole(teams, key, part_sizes, data):
    """Workers or pages: each has rows from 0 on, and knows the number of its first one."""
    n_rows = sum(part_sizes)
    first = data.draw(st.sampled_from([0, 7, 2**32 - 100, 2**63, 2**64 - 1 - n_rows]))
    n_drawn = data.draw(st.integers(min(1, n_rows), n_rows))
    if n_drawn == 0:
        return
    team = teams[data.draw(st.sampled_from([1, 2, 3]))]
    offsets = [first + sum(part_sizes[:place]) for place in range(len(part_sizes))]
    parts = list(zip(offsets, part_sizes, strict=True))
    for window in (expect_window(n_drawn, n_rows), EVERYTHING):
        surveys = [survey(np.uint64(key), n, window, team, offset) for offset, n in parts]
        inside = np.concatenate([own for _, own in surveys])
        bound = find_bound(n_drawn, sum(n_below for n_below, _ in surveys), inside)
        if bound is not None:
            break
    drawn, others = [], []
    for (n_below, inside), (offset, n) in zip(surveys, parts, strict=True):
        rows, n_own = np.arange(n, dtype=np.uint32), n_below + np.count_nonzero(inside <= bound)
        own = split(np.uint64(key), rows, np.array([bound]), int(n_own), team, offset)
        drawn += [offset + row for row in own.rows.tolist()]
        others += [offset + row for row in own.others.tolist()]
    numbers = range(first, first + n_rows)
    assert drawn == naive.draw_lowest(key, numbers, n_drawn, first)
    assert sorted(drawn + others) == list(numbers)


@examples
@given(keys, st.integers(1, 300), st.integers(1, 5), st.data())
def test_strata_are_drawn_by_themselves(teams, key, n_rows, n_strata, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    rows = np.flatnonzero(rng.random(3 * n_rows) < 0.4).astype(np.uint32)
    rows = rows if rows.size else np.array([5], np.uint32)
    strata = rng.integers(0, n_strata, rows.size)
    n_drawn = np.array([rng.integers(0, n + 1) for n in np.bincount(strata, minlength=n_strata)])
    expected = naive.draw_strata(key, rows.tolist(), strata.tolist(), n_drawn.tolist())
    for team in (None, teams[1], teams[3]):
        drawn = draw_strata(np.uint64(key), rows, strata, n_drawn, team)
        assert drawn.rows.tolist() == expected
        assert drawn.others.tolist() == np.setdiff1d(rows, expected).tolist()


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("n_drawn", [1, 3_000, 50_000, 99_999, 100_000])
def test_many_rows(teams, n_threads, n_drawn):
    """So many that windows are narrow; hashes are sorted by NumPy."""
    rows, key = np.arange(100_000, dtype=np.uint32), random.make_key(0, random.ROWS, 3)
    hashes = hash_numbers(key, rows.size)
    assert hashes[:50].tolist() == [naive.extend(int(key), row) for row in range(50)]
    expected = np.sort(np.argsort(hashes)[:n_drawn])
    found = draw_lowest(key, rows, n_drawn, teams[n_threads])
    assert np.array_equal(found.rows, expected)
    assert np.array_equal(found.others, np.setdiff1d(rows, expected))


@pytest.mark.parametrize("window", [(0, 0), (0, 2**62), (2**64 - 1, 0), (2**63 + 2**62, 2**61)])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_window_that_misses_the_bound(monkeypatch, teams, window, n_threads):
    rows, key = np.arange(1000, dtype=np.uint32), random.make_key(0, random.ROWS, 0)
    expected = draw_lowest(key, rows, 500)
    missed = tuple(map(np.uint64, window))
    monkeypatch.setattr(lowest_hashes, "expect_window", lambda n_drawn, n_rows: missed)
    found = draw_lowest(key, rows, 500, teams[n_threads])
    assert found.rows.tolist() == expected.rows.tolist()
    assert found.others.tolist() == expected.others.tolist()


def test_strata_whose_windows_miss_their_bounds(monkeypatch, teams):
    rng, rows = np.random.default_rng(0), np.arange(1000, dtype=np.uint32)
    strata, n_drawn = rng.integers(0, 3, 1000), np.array([100, 0, 200])
    key = random.make_key(0, random.ROWS, 0)
    expected = draw_strata(key, rows, strata, n_drawn)
    missed = np.uint64(5), np.uint64(3)
    monkeypatch.setattr(lowest_hashes, "expect_window", lambda n_drawn, n_rows: missed)
    found = draw_strata(key, rows, strata, n_drawn, teams[2])
    assert found.rows.tolist() == expected.rows.tolist()
    assert found.others.tolist() == expected.others.tolist()


def test_nothing_is_drawn_from_an_empty_stratum():
    """Not even the row whose hash is zero: the lowest there is."""
    key = np.uint64(1)
    number = invert_extend(int(key), 0)
    rows = np.arange(3, dtype=np.uint32)
    strata = Strata(np.array([0, 1, 0], np.uint32), np.array([True, False]))
    hashes = [naive.extend(int(key), number + place) for place in range(3)]
    assert hashes[0] == 0
    bounds = np.array([0, hashes[1]], np.uint64)
    drawn = split(key, rows, bounds, 1, Team(1), number, strata)
    assert drawn.rows.tolist() == [1]
    assert drawn.others.tolist() == [0, 2]


@pytest.mark.parametrize("n_rows", [1, 2, 10, 1000, 10_000])
def test_windows_are_small_and_contain_the_bound(n_rows):
    for number in range(50):
        key = random.make_key(1, random.ROWS, number)
        hashes = hash_numbers(key, n_rows)
        ordered = np.sort(hashes).tolist()
        for n_drawn in {1, -(-n_rows // 10), -(-n_rows // 2), n_rows}:
            low, width = map(int, expect_window(n_drawn, n_rows))
            assert low <= ordered[n_drawn - 1] <= low + width < 2**64
            n_inside = np.count_nonzero((hashes >= low) & (hashes <= low + width))
            assert n_inside <= 16 * np.sqrt(n_drawn) + 30


def invert_extend(key, value):
    """The number whose hash is ``value``: each step of the hash undone, the last one first."""
    mask, z = 2**64 - 1, value
    for shift, factor in ((31, 1), (27, 0x94D049BB133111EB), (30, 0xBF58476D1CE4E5B9)):
        z = z * pow(factor, -1, 2**64) & mask if factor > 1 else z
        undone = z
        for _ in range(64 // shift):
            undone = z ^ (undone >> shift)
        z = undone
    return ((z - key) * pow(0x9E3779B97F4A7C15, -1, 2**64) - 1) & mask


@examples
@given(keys, st.integers(0, 2**64 - 1))
def test_hashes_are_never_equal(key, number):
    """Because a number can be computed from its hash."""
    assert invert_extend(key, naive.extend(key, number)) == number


def test_all_rows_and_pairs_are_equally_likely():
    n, n_drawn, n_keys = 12, 5, 4000
    rows, counts = np.arange(n, dtype=np.uint32), np.zeros((n, n))
    for number in range(n_keys):
        drawn = np.zeros(n)
        drawn[draw_lowest(random.make_key(0, random.ROWS, number), rows, n_drawn).rows] = 1
        counts += np.outer(drawn, drawn)
    for share, found in [
        (n_drawn / n, np.diag(counts)),
        (n_drawn * (n_drawn - 1) / (n * (n - 1)), counts[np.triu_indices(n, 1)]),
    ]:
        deviation = np.sqrt(n_keys * share * (1 - share))
        assert np.max(np.abs(found - n_keys * share)) < 4.5 * deviation


def test_purposes_differ():
    known = {name: value for name, value in vars(random).items() if isinstance(value, np.int64)}
    assert HELD_OUT not in known.values()
    assert len(set(known.values())) == len(known)
