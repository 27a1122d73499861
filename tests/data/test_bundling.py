"""Bundles compared with the algorithms of the paper, and their tables with plain tables."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise.data.binned import BinnedData
from sumwise.data.bundling import Bundling, Codes, bundle_columns, find_bundles
from sumwise.data.sparse.binning import SparseBins
from sumwise.errors import ParameterError
from sumwise.kernels.grow.storage.bundled import find_left_codes
from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.runtime.threads import Team
from tests.naive import bundling as naive


@kernel
def left_codes(coding, n_value_bins, split_bin, missing_left, out):
    skip, bound = find_left_codes(coding, n_value_bins, split_bin, missing_left)
    for code in range(256):
        out[code] = np.uint8(np.uint8(code) - skip) <= bound


def make_bins(dense, default, n_train=None):
    """Return the SparseBins of a matrix of bins (n_rows, n_features)."""
    dense, default = np.asarray(dense), np.asarray(default)
    places = [np.flatnonzero(dense[:, f] != default[f]) for f in range(dense.shape[1])]
    start = np.cumsum([0, *(p.size for p in places)])
    train = dense[:n_train]
    return SparseBins(
        start,
        np.concatenate(places).astype(np.uint32),
        np.concatenate([dense[p, f] for f, p in enumerate(places)]).astype(np.uint8),
        default.astype(np.int64),
        train.min(axis=0) < train.max(axis=0),
        dense.shape[0],
    )


def random_bins(rng, n_rows, n_features, density, most_bins=4):
    n_value_bins = rng.integers(1, most_bins + 1, n_features)
    default = rng.integers(0, n_value_bins + 1)
    dense = np.tile(default, (n_rows, 1))
    for f in range(n_features):
        rows = np.flatnonzero(rng.random(n_rows) < density * rng.random())
        dense[rows, f] = rng.integers(0, n_value_bins[f] + 1, rows.size)
    return dense, default, n_value_bins.astype(np.int64)


def find_missing(dense):
    return (dense == 0).any(axis=0).astype(np.int64)


@pytest.mark.parametrize("limit", [0, 3, 20])
@pytest.mark.parametrize("seed", range(4))
def test_bundles_are_those_of_the_paper(limit, seed):
    rng = np.random.default_rng(seed)
    dense, default, n_value_bins = random_bins(rng, 200, 25, 0.15)
    bins, missing = make_bins(dense, default), find_missing(dense)
    n_codes = n_value_bins - (default > 0) * (1 - missing)
    features = np.flatnonzero(bins.usable)
    with Team(2) as team:
        codes = Codes.of(bins, n_value_bins, team)
        found, rest = find_bundles(codes, features, limit, team, 10, 0)
    assert codes.n_codes.tolist() == n_codes.tolist()
    first = codes.first_code
    is_entry = dense != default
    expected = naive.greedy_bundling(
        is_entry, features.tolist(), dict(enumerate(n_codes.tolist())), limit, 10
    )
    # The first round is that of the paper; further rounds bundle the remaining features.
    several = [members for members in expected if len(members) > 1]
    assert [plan.features for plan in found][: len(several)] == several
    assert sorted([*rest.tolist(), *(f for plan in found for f in plan.features)]) == sorted(
        features.tolist()
    )
    for plan in found:
        codes, meaning = naive.merge_features(dense, default.tolist(), n_value_bins, plan.features)
        assert plan.column.tolist() == codes.tolist()
        starts = [min(c for c, (g, _) in meaning.items() if g == f) for f in plan.features]
        assert first[plan.features].tolist() == starts
        clashes = [
            naive.count_conflicts(is_entry, f, plan.features[:k])
            for k, f in enumerate(plan.features)
            if k
        ]
        assert sum(clashes) <= limit


def test_conflicts_are_counted_by_bundle():
    """The pseudo-code of the paper is wrong here: three features, each conflicts with the next."""
    dense = np.ones((12, 3), dtype=int)
    dense[0:3, 0], dense[2:5, 1], dense[4:7, 2] = 2, 2, 2
    bins = make_bins(dense, [1, 1, 1])
    expected = {0: [[1], [0, 2]], 1: [[1, 0], [2]], 2: [[1, 0, 2]]}
    for limit, bundles in expected.items():
        codes = Codes.of(bins, np.array([2, 2, 2]), Team(1))
        found, _ = find_bundles(codes, np.arange(3), limit, Team(1), fewest=0)
        assert [plan.features for plan in found] == [b for b in bundles if len(b) > 1]


@pytest.mark.parametrize("default", range(5))
@pytest.mark.parametrize("has_missing", [0, 1])
def test_what_goes_left_is_one_range_of_codes(default, has_missing):
    n_value_bins, first = 4, 7
    others = [*range(default + 1, 5), *[0] * has_missing, *range(1, default)]
    if default == 0:
        others = [1, 2, 3, 4]
    bin_of = np.full(256, default)
    bin_of[first : first + len(others)] = others
    coding = np.array([0, first, default, has_missing])
    out = np.zeros(256, dtype=np.bool_)
    for split_bin in range(1, n_value_bins + 1):
        for missing_left in (False, True):
            left_codes(coding, n_value_bins, split_bin, missing_left, out)
            goes_left = (bin_of <= split_bin) & ((bin_of > 0) | missing_left)
            assert out.tolist() == goes_left.tolist()


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32),
    n_rows=st.integers(1, 300),
    n_features=st.integers(1, 40),
    density=st.sampled_from([0.02, 0.1, 0.5, 1.0]),
    most_bins=st.sampled_from([1, 3, 60]),
    n_threads=st.integers(1, 3),
    few=st.sampled_from([0, 8]),
)
def test_every_bin_can_be_read_back(seed, n_rows, n_features, density, most_bins, n_threads, few):
    rng = np.random.default_rng(seed)
    dense, default, n_value_bins = random_bins(rng, n_rows, n_features, density, most_bins)
    bins = make_bins(dense, default)
    with Team(n_threads) as team, mock.patch("sumwise.data.bundling._FEW_COLUMNS", few):
        found = bundle_columns(bins, n_value_bins, Bundling(), team)
    bundles = found.bundles
    seen = set(bundles.members.tolist())
    for column, contents in zip(found.columns, found.contents, strict=True):
        for f, bin_of in contents:
            assert bin_of[column].tolist() == dense[:, f].tolist()
            assert f not in seen
            seen.add(f)
    assert seen == set(np.flatnonzero(bins.usable).tolist())
    for k, f in enumerate(bundles.members):
        read = np.full(n_rows, default[f])
        for row in range(n_rows):
            own = bundles.entries[bundles.row_start[row] : bundles.row_start[row + 1]]
            own = own.astype(np.int64)
            own = own[(own >= bundles.place[k]) & (own <= bundles.place[k] + n_value_bins[f])]
            assert own.size <= 1
            if own.size:
                read[row] = own[0] - bundles.place[k]
        assert read.tolist() == dense[:, f].tolist()
        entries = slice(bundles.start[f], bundles.start[f + 1])
        assert bundles.rows[entries].tolist() == np.flatnonzero(dense[:, f] != default[f]).tolist()


def test_memory_is_bounded_by_what_is_stored():
    """Random features with many conflicts get no columns."""
    rng = np.random.default_rng(0)
    n_rows, n_features = 2000, 3000
    start = np.arange(n_features + 1) * 40
    rows = np.concatenate([np.sort(rng.choice(n_rows, 40, False)) for _ in range(n_features)])
    shape = np.ones(n_features, dtype=np.int64)
    bins = SparseBins(
        start, rows.astype(np.uint32), np.full(rows.size, 2, np.uint8), shape, shape > 0, n_rows
    )
    with Team(2) as team:
        data = BinnedData.from_sparse(bins, 2 * shape, team, Bundling())
        assert data.table.columns.size + data.table.bundles.entries.nbytes < 10 * rows.size
        off = BinnedData.from_sparse(bins, 2 * shape, team, None)
    assert off.table.columns.shape == (n_features, n_rows)


@pytest.mark.parametrize("rate", [-0.1, 1.1, "no", True, None, np.nan])
def test_rates_are_checked(rate):
    with pytest.raises(ParameterError, match="max_conflict_rate="):
        Bundling(rate).check()
    Bundling(0.5).check()
