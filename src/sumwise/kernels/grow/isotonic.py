"""Project the leaves of a symmetric tree onto what monotone constraints allow.

Level d of a tree of depth D decides bit D - 1 - d of a leaf's place. The levels that split on one
feature, sorted by bin, give a *chain* of patterns of their bits: values in the lowest cell have
none of them set, those in the next cell have the bits of the lowest split, and so on::

    levels 0 and 2 split a feature after bins 7 and 3, level 1 splits another one:
    bins 1..3 -> 0b000, bins 4..7 -> 0b001, bins 8.. -> 0b101

So the places ``base | pattern``, for any base without bits of these levels, must be in order. Other
patterns of these bits are reached by missing values only, or by nothing, and are in no chain of
this feature; nor is the side of a split of all values against the missing ones.

One constrained feature: pooling adjacent violators of each chain, weighted by the leaves' hessians,
is the projection. Several: chains of different features cross; Dykstra's algorithm (Dykstra and
Robertson 1982) projects onto one feature's chains after the other, each time without the step that
this feature's last projection took, and converges to the projection. In the end a running maximum
along the chains of each feature in turn makes the order exact: it keeps the order along the chains
of the features before, because a maximum of ordered values is ordered.
"""

import numpy as np

from sumwise.kernels.runtime.jit import ZERO, kernel, routine, verb

# Rows of ``chains``; a tree has at most 16 levels.
FIRST, MASK, SIGN, PATTERN = range(4)
CHAINS_SHAPE = (4, 40)
# Rows of ``pools``.
_MEAN, _WEIGHT, _LENGTH = range(3)
POOLS_SHAPE = (3, 20)
# Beyond all bins and ranks.
_NO_BIN = 1 << 32
_MOST_CYCLES = 50
_TOLERANCE = 1e-12


@routine
def _next_bin(nodes, depth, feature, after):
    """The lowest bin beyond ``after`` that a level splits a feature at, and the levels' bits."""
    lowest, bits = _NO_BIN, 0
    for d in range(depth):
        root = (1 << d) - 1
        split_bin = np.int64(nodes[root].split_bin)
        if nodes[root].feature == feature and after < split_bin <= lowest:
            if split_bin < lowest:
                lowest, bits = split_bin, 0
            bits |= 1 << (depth - 1 - d)
    return lowest, bits


@routine
def _find_chains(direction, n_value_bins, nodes, depth, chains):
    """Write the chains of all constrained features; return how many features have one."""
    n_chains, n_patterns = 0, 0
    for d in range(depth):
        f = nodes[(1 << d) - 1].feature
        is_new = direction[f] != 0
        for e in range(d):
            is_new &= nodes[(1 << e) - 1].feature != f
        if not is_new:
            continue
        first, mask, pattern = n_patterns, 0, 0
        chains[PATTERN, n_patterns] = 0
        split_bin, bits = _next_bin(nodes, depth, f, 0)
        while split_bin < _NO_BIN:
            mask |= bits
            if split_bin < n_value_bins[f]:  # otherwise no value lies beyond
                pattern |= bits
                n_patterns += 1
                chains[PATTERN, n_patterns] = pattern
            split_bin, bits = _next_bin(nodes, depth, f, split_bin)
        if n_patterns > first:
            n_patterns += 1
            chains[FIRST, n_chains] = first
            chains[FIRST, n_chains + 1] = n_patterns
            chains[MASK, n_chains] = mask
            chains[SIGN, n_chains] = direction[f]
            n_chains += 1
    return n_chains


@routine
def _pool_chain(patterns, sign, base, value, weight, shift, pools):
    """Pool adjacent violators of one chain, starting from values plus shifts; note new shifts."""
    n_pools = 0
    for j in range(patterns.size):
        place = base | patterns[j]
        mean, mass, length = sign * (value[place] + shift[place]), weight[place], 1
        while n_pools > 0 and pools[_MEAN, n_pools - 1] > mean:
            n_pools -= 1
            before, mass_before = pools[_MEAN, n_pools], pools[_WEIGHT, n_pools]
            mean = (mass_before * before + mass * mean) / (mass_before + mass)
            mass = mass_before + mass
            length += np.int64(pools[_LENGTH, n_pools])
        pools[_MEAN, n_pools] = mean
        pools[_WEIGHT, n_pools] = mass
        pools[_LENGTH, n_pools] = length
        n_pools += 1
    j, change = 0, 0.0
    for i in range(n_pools):
        pooled = sign * pools[_MEAN, i]
        for _ in range(np.int64(pools[_LENGTH, i])):
            place = base | patterns[j]
            start = value[place] + shift[place]
            change = max(change, abs(pooled - value[place]))
            shift[place] = start - pooled
            value[place] = pooled
            j += 1
    return change


@routine
def _order_chain(patterns, sign, base, value):
    """Replace the values of a chain by their running maximum."""
    for j in range(1, patterns.size):
        before, place = base | patterns[j - 1], base | patterns[j]
        if sign * value[place] < sign * value[before]:
            value[place] = value[before]


@routine
def _project(direction, n_value_bins, nodes, n_nodes, chains, pools, scratch, value):
    """Project the values of a symmetric tree's leaves, the last ``(n_nodes + 1) / 2`` of ``value``.

    ``scratch`` has a row of weights and one of shifts for each chain; see the module.
    """
    n_leaves = (n_nodes + 1) >> 1
    depth = 0
    while 1 << depth < n_leaves:
        depth += 1
    n_chains = _find_chains(direction, n_value_bins, nodes, depth, chains)
    leaves = value[n_leaves - 1 : n_nodes]
    # Leaves without weight count a little, so that every pool has a mean.
    least = 1e-12 * nodes[0].weight if nodes[0].weight > 0.0 else 1.0
    weight, largest = scratch[0], 0.0
    for place in range(n_leaves):
        weight[place] = max(nodes[n_leaves - 1 + place].weight, least)
        largest = max(largest, abs(leaves[place]))
        for c in range(n_chains):
            scratch[1 + c, place] = 0.0
    for _ in range(_MOST_CYCLES if n_chains > 1 else n_chains):
        change = 0.0
        for c in range(n_chains):
            patterns = chains[PATTERN, chains[FIRST, c] : chains[FIRST, c + 1]]
            mask, sign, shift = chains[MASK, c], chains[SIGN, c], scratch[1 + c]
            for base in range(n_leaves):
                if base & mask == 0:
                    moved = _pool_chain(patterns, sign, base, leaves, weight, shift, pools)
                    change = max(change, moved)
        if change <= _TOLERANCE * largest:
            break
    for c in range(n_chains):
        patterns = chains[PATTERN, chains[FIRST, c] : chains[FIRST, c + 1]]
        for base in range(n_leaves):
            if base & chains[MASK, c] == 0:
                _order_chain(patterns, chains[SIGN, c], base, leaves)


@kernel
def project_leaf_values(direction, n_value_bins, nodes, n_nodes, chains, pools, scratch, value):
    """Project the leaves of a finished tree, for Python."""
    _project(direction, n_value_bins, nodes, n_nodes, chains, pools, scratch, value)


@verb
def project_leaves(job, n_nodes):
    """Project the leaves of the tree that is being grown."""
    rules = job.constraints
    buffers = (rules.chains, rules.pools, rules.scratch, job.work.value[:, 0])
    _project(rules.direction, job.table.n_value_bins, job.nodes, n_nodes, *buffers)
    return ZERO
