"""Statistics of categories for one tree agree with their definition."""

import numpy as np
import pytest

from sumwise.kernels.forest.category_statistics import (
    UNSEEN,
    CategoryRows,
    StatisticColumns,
    find_statistics,
    write_statistic_bins,
)
from sumwise.kernels.runtime import random
from sumwise.tree.encoded_table import allocate_statistics, encode_rows
from tests.naive import category_statistics as naive

KEY = random.make_key(3, random.TREES, 0)
N_ROWS = 60


def draw_rows(seed=0, weighted=True):
    rng = np.random.default_rng(seed)
    places = np.stack([rng.integers(0, 4, N_ROWS), rng.integers(-1, 30, N_ROWS)])
    values = rng.normal(size=(2, N_ROWS))
    weight = rng.integers(0, 4, N_ROWS) / 2 if weighted else np.ones(N_ROWS)
    rows = CategoryRows(
        places.astype(np.int32),
        np.array([0, 4, 34]),
        values,
        weight,
        values.mean(axis=1),
        1.5,
        float(weight.sum()),
    )
    return rows, rng.random(N_ROWS) < 0.6


@pytest.mark.parametrize("weighted", [False, True])
def test_statistics_agree_with_their_definition(weighted):
    rows, is_seen = draw_rows(weighted=weighted)
    is_seen &= rows.weight > 0
    work = allocate_statistics(rows)
    find_statistics(KEY, is_seen.astype(np.uint8), rows, work)
    assert np.array_equal(work.half == UNSEEN, ~is_seen)
    assert {0, 1} <= set(work.half[is_seen].tolist())
    found = encode_rows(rows, is_seen, KEY)
    for g in range(2):
        for v in range(2):
            own = (rows.places[g], rows.values[v], rows.weight, rows.prior[v], rows.prior_weight)
            expected = [naive.find_statistic(k, work.half, *own) for k in range(N_ROWS)]
            np.testing.assert_allclose(found[g, v], expected, rtol=1e-12)


def test_bins_are_those_of_the_statistics():
    rows, is_seen = draw_rows(1)
    work = allocate_statistics(rows)
    find_statistics(KEY, is_seen.astype(np.uint8), rows, work)
    found = encode_rows(rows, is_seen, KEY)
    # Some thresholds are equal to statistics; one column has none.
    ends = [np.unique(found[0, 0])[::2], np.unique(found[0, 1])[1:3], np.empty(0), [0.0]]
    stops = np.cumsum([len(own) for own in ends])
    first = np.array([[0, stops[0], stops[1]], [stops[1], stops[2], stops[3]]])
    columns = StatisticColumns(np.array([[3, 0], [1, 4]]), first, np.concatenate(ends))
    bins = np.full((N_ROWS, 5), 77, dtype=np.uint8)
    write_statistic_bins(rows, columns, work, bins.reshape(-1), 5)
    assert (bins[:, 2] == 77).all()  # not a statistic
    for (g, v), column, own in zip(np.ndindex(2, 2), [3, 0, 1, 4], ends, strict=True):
        expected = [naive.find_bin(own, value) for value in found[g, v]]
        assert bins[:, column].tolist() == expected


def test_a_row_never_gets_its_own_target():
    rows, is_seen = draw_rows(2)
    found = encode_rows(rows, is_seen, KEY)
    for row in range(0, N_ROWS, 7):
        other = rows._replace(values=rows.values.copy())
        other.values[:, row] += 100.0
        assert np.array_equal(encode_rows(other, is_seen, KEY)[:, :, row], found[:, :, row])


def test_nothing_depends_on_the_targets_of_unseen_rows():
    rows, is_seen = draw_rows(3)
    other = rows._replace(values=np.where(is_seen, rows.values, 1e6))
    assert np.array_equal(encode_rows(other, is_seen, KEY), encode_rows(rows, is_seen, KEY))


def test_every_tree_has_other_halves():
    rows, is_seen = draw_rows(4)
    halves = []
    for number in range(2):
        work = allocate_statistics(rows)
        find_statistics(
            random.make_key(3, random.TREES, number), is_seen.astype(np.uint8), rows, work
        )
        halves.append(work.half.tolist())
    assert halves[0] != halves[1]
