"""Walks through packed trees, bin by bin."""

import numpy as np
import pytest

from sumwise.kernels.forest.walk import (
    BY_SET,
    PackedForest,
    add_forest_values,
    allocate_scratch,
    choose_child,
    find_forest_leaves,
    is_in_bag,
    pack_nodes,
)
from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.runtime.threads import SYNC_LENGTH

ALL_BINS = np.arange(256)
NO_SYNC = np.zeros(SYNC_LENGTH, dtype=np.int64)


@kernel
def run_choose(forest, node, value_bin):
    return choose_child(forest, np.uint64(node), np.uint8(value_bin))


@kernel
def run_bag(in_bag, tree, row):
    return is_in_bag(in_bag, tree, row)


def pack(split_bins, missing_left):
    """Trees with one split each, on features 0, 1, 0, 1, ..."""
    n_trees = len(split_bins)
    start = np.arange(0, 3 * n_trees + 1, 3)
    feature, left = np.full((n_trees, 3), -1), np.full((n_trees, 3), -1)
    feature[:, 0], left[:, 0] = np.arange(n_trees) % 2, 1
    by_node = np.zeros((2, n_trees, 3), dtype=np.uint8)
    by_node[:, :, 0] = split_bins, missing_left
    words, flags = np.empty(3 * n_trees, dtype=np.uint64), np.empty(3 * n_trees, dtype=np.uint8)
    leaf = np.empty(3 * n_trees, dtype=np.int32)
    nodes = feature.reshape(-1), *by_node.reshape(2, -1), left.reshape(-1)
    pack_nodes(0, 1, NO_SYNC, start, *nodes, words, flags, leaf)
    no_sets = np.empty(0, dtype=np.int32), np.empty((0, 4), dtype=np.uint64)
    return PackedForest(start, words, flags, leaf, *no_sets)


@pytest.mark.parametrize("missing_left", [0, 1])
@pytest.mark.parametrize("split_bin", [1, 2, 100, 254, 255])
def test_every_bin_goes_its_way(split_bin, missing_left):
    forest = pack([split_bin], [missing_left])
    is_left = np.where(ALL_BINS == 0, missing_left, np.less_equal(ALL_BINS, split_bin))
    children = [run_choose(forest, 0, int(b)) for b in ALL_BINS]
    assert np.array_equal(children, np.where(is_left, 1, 2))
    for leaf in (1, 2):
        assert {run_choose(forest, leaf, int(b)) for b in ALL_BINS} == {leaf}


def test_sets_send_their_bins_left():
    forest = pack([0], [0])
    forest.flags[0] |= BY_SET
    own = np.random.default_rng(0).random(256) < 0.5
    sets = np.packbits(own, bitorder="little").view(np.uint64)[np.newaxis]
    forest = forest._replace(set_of_node=np.zeros(3, dtype=np.int32), sets=sets)
    children = [run_choose(forest, 0, int(b)) for b in ALL_BINS]
    assert np.array_equal(children, np.where(own, 1, 2))


@pytest.mark.parametrize("n_rows", [1, 8, 100, 20_000])  # the last ones: several blocks
@pytest.mark.parametrize("is_plain", [False, True])
def test_walks_of_many_rows(is_plain, n_rows):
    rng = np.random.default_rng(n_rows)
    bins = rng.integers(1 if is_plain else 0, 6, (n_rows, 2)).astype(np.uint8)
    split_bins, missing_left = rng.integers(1, 6, 5), rng.integers(0, 2, 5)
    forest = pack(split_bins, missing_left)
    own = bins[:, np.arange(5) % 2]
    leaves = np.where(np.where(own == 0, missing_left, own <= split_bins), 1, 2)
    found = np.empty((n_rows, 5), dtype=np.int64)
    scratch = allocate_scratch(1)
    find_forest_leaves(0, 1, NO_SYNC, bins.reshape(-1), is_plain, forest, scratch, found)
    assert np.array_equal(found, leaves)
    value = rng.normal(size=(10, 3))
    bags = rng.random((5, n_rows)) < 0.4
    for in_bag in (np.empty((0, 0), np.uint8), np.packbits(bags, axis=1, bitorder="little")):
        out, counts = np.zeros((n_rows, 3)), np.zeros(n_rows, dtype=np.int64)
        arguments = (bins.reshape(-1), is_plain, forest, value, in_bag, scratch, out, counts)
        add_forest_values(0, 1, NO_SYNC, *arguments)
        expected = np.zeros((n_rows, 3))
        for tree in range(5):
            is_used = ~bags[tree] if in_bag.size else np.full(n_rows, True)
            expected[is_used] += value[2 * tree + leaves[is_used, tree] - 1]
        assert np.array_equal(out, expected)
        assert not in_bag.size or np.array_equal(counts, (~bags).sum(axis=0))


def test_bits_of_bags():
    bags = np.random.default_rng(0).random((2, 21)) < 0.5
    packed = np.packbits(bags, axis=1, bitorder="little")
    found = [[run_bag(packed, tree, row) for row in range(21)] for tree in range(2)]
    assert np.array_equal(found, bags)
