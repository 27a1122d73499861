"""Which features a tree, a level and a node may split on.

Sampling by level and by node saves scoring only: children need the sums of all features.
"""

import numpy as np

from sumwise.kernels.grow.layout import CHILD, LEVEL, TREE, USABLE
from sumwise.kernels.runtime.jit import kernel, routine
from sumwise.kernels.runtime.random import (
    COLUMNS_BY_LEVEL,
    COLUMNS_BY_NODE,
    COLUMNS_BY_TREE,
    choose_by_weight,
    choose_features,
    extend_key,
)


@routine
def _draw(allowed, source, target, rate, key, options):
    """Mark a share of the features marked in one row in another, at least one.

    A feature of weight zero is never drawn, even if that leaves none.
    """
    weights, pool, chosen = options.column_weights, allowed[source], allowed[target]
    n_pool = 0
    for f in range(pool.size):
        chosen[f] = pool[f]
        n_pool += pool[f]
        if weights.size > 0 and weights[f] == 0.0:
            chosen[f] = 0
    if rate < 1.0:
        n_chosen = max(1, np.int64(np.floor(rate * n_pool + 0.5)))
        if weights.size > 0:
            choose_by_weight(key, pool, weights, n_chosen, options.column_times, chosen)
        else:
            choose_features(key, pool, n_chosen, chosen)


@routine
def draw_for_tree(allowed, options, key):
    """Draw the features of a tree."""
    _draw(
        allowed,
        USABLE,
        TREE,
        options.columns_by_tree,
        extend_key(key, COLUMNS_BY_TREE),
        options,
    )


@routine
def draw_for_node(allowed, options, key, depth, number, child):
    """Draw the features of a node: a share of its level's, which are a share of the tree's."""
    level_key = extend_key(extend_key(key, COLUMNS_BY_LEVEL), depth)
    _draw(allowed, TREE, LEVEL, options.columns_by_level, level_key, options)
    node_key = extend_key(extend_key(key, COLUMNS_BY_NODE), number)
    _draw(allowed, LEVEL, CHILD + child, options.columns_by_node, node_key, options)


@kernel
def draw_tree_features(allowed, options, key):
    """Draw the features of a tree before it is grown, as it will draw them itself."""
    draw_for_tree(allowed, options, key)
