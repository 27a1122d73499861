"""Which features a tree, a level and a node may split on."""

import numpy as np

from sumwise.kernels.jit import kernel, routine
from sumwise.kernels.layout import CHILD, LEVEL, TREE, USABLE
from sumwise.kernels.random import (
    COLUMNS_BY_LEVEL,
    COLUMNS_BY_NODE,
    COLUMNS_BY_TREE,
    choose_features,
    extend_key,
)


@routine
def _draw(allowed, source, target, rate, key):
    """Mark a share of the features marked in one row in another, at least one."""
    n_pool = 0
    for f in range(allowed.shape[1]):
        allowed[target, f] = allowed[source, f]
        n_pool += allowed[source, f]
    if rate < 1.0:
        n_chosen = max(1, np.int64(np.floor(rate * n_pool + 0.5)))
        choose_features(key, allowed[source], n_chosen, allowed[target])


@routine
def draw_for_tree(allowed, options, key):
    """Draw the features of a tree."""
    _draw(
        allowed,
        USABLE,
        TREE,
        options.columns_by_tree,
        extend_key(key, COLUMNS_BY_TREE),
    )


@routine
def draw_for_node(allowed, options, key, depth, number, child):
    """Draw the features of a node: a share of its level's, which are a share of the tree's."""
    level_key = extend_key(extend_key(key, COLUMNS_BY_LEVEL), depth)
    _draw(allowed, TREE, LEVEL, options.columns_by_level, level_key)
    node_key = extend_key(extend_key(key, COLUMNS_BY_NODE), number)
    _draw(allowed, LEVEL, CHILD + child, options.columns_by_node, node_key)


@kernel
def draw_tree_features(allowed, options, key):
    """Draw the features of a tree before it is grown, as it will draw them itself."""
    draw_for_tree(allowed, options, key)
