"""The features that a node examines: drawn one by one, constant ones remembered."""

import numpy as np

from sumwise.kernels.runtime.jit import inlined
from sumwise.kernels.runtime.random import uniform


@inlined
def recall_constants(work, n_constant):
    """Keep the first features known to be constant: those of the node's ancestors."""
    for i in range(n_constant, work.n_constant[0]):
        work.is_constant[work.constant[i]] = 0
    work.n_constant[0] = n_constant


@inlined
def note_constant(work, f):
    """Remember a feature that is constant in a node, and so in all nodes below."""
    work.constant[work.n_constant[0]] = f
    work.n_constant[0] += 1
    work.is_constant[f] = 1


@inlined
def draw_feature(key, order, swaps, n_seen):
    """Draw one of the features that have not been drawn."""
    j = n_seen + np.int64(uniform(key, n_seen) * (order.size - n_seen))
    swaps[n_seen] = j
    order[n_seen], order[j] = order[j], order[n_seen]
    return np.int64(order[n_seen])


@inlined
def put_back(order, swaps, n_seen):
    """Undo the draws, so that those of the next node do not depend on them."""
    for i in range(n_seen - 1, -1, -1):
        order[i], order[swaps[i]] = order[swaps[i]], order[i]
