"""Histograms of packed and exact rows against NumPy's add.at."""

import numpy as np
import pytest

from sumwise.data.binned import BinnedData
from sumwise.kernels.grow import layout
from sumwise.kernels.grow.histogram import (
    WORDS_LENGTH,
    _add_exact_rows,
    _add_packed_rows,
    _clear_tile,
    _finish_packed_rows,
    pack_record,
)
from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.runtime.threads import Team


@kernel
def pack_records(rows, first, second, out):
    for i in range(rows.size):
        out[i] = pack_record(rows[i], first[i], second[i])


@kernel
def sum_packed(table, records, ends, words, histogram):
    for tile in range(table.tile_start.size):
        state, first = (0, True), 0
        for last in ends:
            state = _add_packed_rows(table, tile, records[first:last], state, words, histogram)
            first = last
        _finish_packed_rows(table, tile, False, words, histogram)


@kernel
def move_packed(table, records, words, histogram):
    for tile in range(table.tile_start.size):
        _add_packed_rows(table, tile, records, (0, True), words, histogram)
        _finish_packed_rows(table, tile, True, words, histogram)


@kernel
def sum_exact(table, records, gradients, hessians, words, histogram):
    for tile in range(table.tile_start.size):
        _add_exact_rows(table, tile, records, gradients, hessians, words, histogram)


@kernel
def clear(table, tile, histogram):
    _clear_tile(table, tile, histogram)


def make_table(codes, n_value_bins):
    with Team(1) as team:
        columns = np.ascontiguousarray(codes, dtype=np.uint8)
        return BinnedData.from_columns(columns, np.asarray(n_value_bins), team, min_rows=0).table


def make_records(rows, first, second):
    records = np.empty(rows.size, dtype=np.uint64)
    pack_records(
        rows.astype(np.int64), np.asarray(first, np.int64), np.asarray(second, np.int64), records
    )
    return records


def build_packed(table, rows, g, h, ends=None):
    """Histograms of rows that come in parts with the given ends."""
    words = np.zeros(WORDS_LENGTH, dtype=np.int64)
    histogram = np.full(3 * int(table.bin_start[-1]), 77, dtype=np.int64)  # as found
    ends = np.array([rows.size] if ends is None else ends)
    sum_packed(table, make_records(rows, g[rows], h[rows]), ends, words, histogram)
    assert not words[: 16 * 256].any()  # left as they were found
    return histogram


def expected_histogram(codes, n_value_bins, rows, stats):
    """Feature after feature, statistic after statistic, bin after bin."""
    parts = []
    for column, n in zip(codes, n_value_bins, strict=True):
        for values in stats:
            sums = np.zeros(n + 1, dtype=np.int64)
            np.add.at(sums, column[rows], values[rows])
            parts.append(sums)
    return np.concatenate(parts)


def random_codes(rng, n_features, n_rows):
    n_value_bins = rng.choice([1, 2, 9, 100, 254, 255], size=n_features).astype(np.int64)
    lowest = rng.integers(0, 2, n_features)  # features without missing values share bytes better
    pairs = zip(lowest, n_value_bins, strict=True)
    codes = np.stack([rng.integers(low, n + 1, n_rows) for low, n in pairs]).astype(np.uint8)
    return codes, n_value_bins


def random_packed(rng, n_rows):
    g = rng.integers(-layout.GRADIENT_LIMIT, layout.GRADIENT_LIMIT + 1, n_rows)
    return g, rng.integers(0, layout.HESSIAN_LIMIT + 1, n_rows)


def test_limits_fit_the_packed_word():
    # 26 bits of gradient with its sign, 26 of hessian, 12 of count
    assert layout.PACKED_ROWS * layout.GRADIENT_LIMIT < 2**25
    assert layout.PACKED_ROWS * layout.HESSIAN_LIMIT < 2**26
    assert layout.PACKED_ROWS < 2**12


@pytest.mark.parametrize("g", [-8191, -1, 0, 1, 8191])
@pytest.mark.parametrize("h", [0, 1, 16383, 65535])
def test_a_record_holds_its_parts(g, h):
    record = int(make_records(np.array([2**32 - 1]), [g], [h])[0])
    assert record >> 32 == 2**32 - 1
    assert np.uint16((record >> 16) & 0xFFFF).view(np.int16) == g
    assert record & 0xFFFF == h


@pytest.mark.parametrize("n_features", range(1, 41))
def test_packed_rows_with_any_number_of_features(n_features):
    """Tiles of one and two words, and padding in the last word."""
    rng = np.random.default_rng(n_features)
    codes, n_value_bins = random_codes(rng, n_features, 300)
    g, h = random_packed(rng, 300)
    rows = rng.permutation(300)[:200]
    table = make_table(codes, n_value_bins)
    expected = expected_histogram(codes, n_value_bins, rows, [g, h, np.ones(300, int)])
    assert build_packed(table, rows, g, h).tolist() == expected.tolist()


@pytest.mark.parametrize("n_features", [1, 8, 9, 16, 17, 23])
def test_exact_rows_with_any_number_of_features(n_features):
    rng = np.random.default_rng(n_features)
    codes, n_value_bins = random_codes(rng, n_features, 300)
    g, h = rng.integers(-(2**50), 2**50, 300), rng.integers(0, 2**50, 300)
    rows = rng.permutation(300)[:200]
    table = make_table(codes, n_value_bins)
    records = make_records(rows, np.zeros(200), np.zeros(200))
    found = np.zeros(3 * int(table.bin_start[-1]), dtype=np.int64)
    sum_exact(table, records, g, h, np.zeros(WORDS_LENGTH, dtype=np.int64), found)
    expected = expected_histogram(codes, n_value_bins, rows, [g, h, np.ones(300, int)])
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("n_rows", [1, 15, 16, 17, 4094, 4095, 4096, 4097, 65535, 65536, 65537])
@pytest.mark.parametrize("n_features", [3, 11])
def test_packed_rows_of_any_number(n_rows, n_features):
    rng = np.random.default_rng(n_rows)
    codes, n_value_bins = random_codes(rng, n_features, n_rows)
    g, h = random_packed(rng, n_rows)
    rows = np.arange(n_rows)
    table = make_table(codes, n_value_bins)
    expected = expected_histogram(codes, n_value_bins, rows, [g, h, np.ones(n_rows, int)])
    assert build_packed(table, rows, g, h).tolist() == expected.tolist()


@pytest.mark.parametrize("n_rows", [4094, 4095, 4096, 65535, 65536, 65537])
@pytest.mark.parametrize("g", [-layout.GRADIENT_LIMIT, layout.GRADIENT_LIMIT])
@pytest.mark.parametrize("code", [0, 1, 255])
def test_extreme_rows_in_one_bin_do_not_overflow(n_rows, g, code):
    codes = np.full((10, n_rows), code, dtype=np.uint8)
    table = make_table(codes, np.full(10, 255))
    ones = np.ones(n_rows, dtype=np.int64)
    found = build_packed(table, np.arange(n_rows), g * ones, layout.HESSIAN_LIMIT * ones)
    by_feature = found.reshape(10, 3, 256)
    expected = np.zeros((10, 3, 256), dtype=np.int64)
    expected[:, :, code] = n_rows * np.array([g, layout.HESSIAN_LIMIT, 1])
    assert np.array_equal(by_feature, expected)


def test_alternating_signs_do_not_leak_into_the_hessian():
    n_rows = 4095
    g = np.where(np.arange(n_rows) % 2, 8191, -8191)
    h = np.arange(n_rows) % 3
    table = make_table(np.ones((1, n_rows)), [1])
    found = build_packed(table, np.arange(n_rows), g, h).reshape(3, 2)
    assert found[:, 1].tolist() == [-8191, h.sum(), n_rows]


def test_children_add_up_to_their_parent():
    rng = np.random.default_rng(0)
    codes, n_value_bins = random_codes(rng, 19, 9000)
    g, h = random_packed(rng, 9000)
    table = make_table(codes, n_value_bins)
    is_left = codes[0] <= 3
    rows = np.arange(9000)
    parent, left, right = (
        build_packed(table, part, g, h) for part in (rows, rows[is_left], rows[~is_left])
    )
    assert np.array_equal(parent, left + right)
    # the order of the rows does not matter
    assert np.array_equal(parent, build_packed(table, rng.permutation(rows), g, h))


def test_no_rows_give_zeros():
    table = make_table([[1, 2, 2]], [2])
    none = np.empty(0, dtype=np.int64)
    assert build_packed(table, none, np.arange(3), np.arange(3)).tolist() == [0] * 9


def crowded_codes(rng, n_rows):
    """Even bins, one that holds nearly all rows, one that is full in some blocks only."""
    even = rng.integers(0, 256, n_rows)
    heavy = np.where(rng.random(n_rows) < 0.97, 7, even)
    by_block = np.where((np.arange(n_rows) >> 16) % 2 == 1, 255, even)
    return np.stack([even, heavy, by_block]).astype(np.uint8)


@pytest.mark.parametrize("share", [1.0, 0.3, 0.02])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("columns", [[0], [1], [2], [0, 1, 2]])
def test_extreme_rows_of_many_blocks_do_not_overflow(share, descending, columns):
    rng = np.random.default_rng(0)
    n_rows = 5 * 65536 + 123
    codes = crowded_codes(rng, n_rows)[columns]
    n_value_bins = np.full(len(columns), 255)
    g = np.full(n_rows, layout.GRADIENT_LIMIT)
    h = np.full(n_rows, layout.HESSIAN_LIMIT)
    rows = np.flatnonzero(rng.random(n_rows) < share)
    expected = expected_histogram(codes, n_value_bins, rows, [g, h, np.ones(n_rows, int)])
    if descending:
        rows = rows[::-1]
    table = make_table(codes, n_value_bins)
    for ends in ([rows.size], [rows.size // 3, rows.size // 3, rows.size // 2, rows.size]):
        assert np.array_equal(build_packed(table, rows, g, h, ends), expected)


def test_many_short_parts_do_not_overflow():
    """What a part leaves in the words counts for the next."""
    n_rows = 3 * layout.PACKED_ROWS
    table = make_table(np.ones((2, n_rows)), [1, 1])
    g = np.full(n_rows, -layout.GRADIENT_LIMIT)
    h = np.full(n_rows, layout.HESSIAN_LIMIT)
    ends = np.arange(5, n_rows + 1, 5)
    found = build_packed(table, np.arange(n_rows), g, h, ends).reshape(2, 3, 2)
    assert found[:, :, 1].tolist() == [[g.sum(), h.sum(), n_rows]] * 2


def test_clearing_a_tile_leaves_the_others():
    rng = np.random.default_rng(0)
    codes, n_value_bins = random_codes(rng, 60, 10)
    table = make_table(codes, n_value_bins)
    lanes = table.lanes
    for tile in range(table.tile_start.size):
        first, last = table.tile_first[tile], table.tile_first[tile + 1]
        own = lanes.members[lanes.first[first] : lanes.first[last]]
        histogram = np.ones(3 * int(table.bin_start[-1]), dtype=np.int64)
        clear(table, tile, histogram)
        for f in range(60):
            part = histogram[3 * table.bin_start[f] : 3 * table.bin_start[f + 1]]
            assert not part.any() if f in own else part.all()


@pytest.mark.parametrize("n_rows", [50, 3000])
def test_packed_sums_of_features_that_share_a_byte(n_rows):
    rng = np.random.default_rng(0)
    codes, n_value_bins = random_codes(rng, 50, n_rows)
    g, h = random_packed(rng, n_rows)
    table = make_table(codes, n_value_bins)
    assert np.diff(table.lanes.first).max() > 1
    words = np.zeros(WORDS_LENGTH, dtype=np.int64)
    found = np.full(3 * int(table.bin_start[-1]), 77, dtype=np.int64)
    move_packed(table, make_records(np.arange(n_rows), g, h), words, found)
    assert not words[: 16 * 256].any()
    packed = (g.astype(np.int64) << 38) + (h << 12) + 1
    expected = expected_histogram(codes, n_value_bins, np.arange(n_rows), [packed])
    for f in range(50):
        part = found[3 * table.bin_start[f] :][: n_value_bins[f] + 1]
        assert part.tolist() == expected[table.bin_start[f] : table.bin_start[f + 1]].tolist()
