"""The sets of categories of a tree that has just been grown."""

from sumwise.kernels.runtime.jit import kernel


@kernel
def collect_sets(
    feature, place, code_start, codes, node_size, node_set, set_node, set_size, set_categories
):
    """List the nodes that split by a set, the sizes of their sets, and the categories of each set.

    ``feature`` is that of each node, -1 for a leaf. ``place``, ``code_start`` and ``codes`` are of
    the table's ``Categories``, ``node_size`` and ``node_set`` of the grower's ``CategoryWork``. The
    categories of a set ascend. Returns the number of sets.
    """
    n_sets, n_listed = 0, 0
    for node in range(feature.size):
        own = place[feature[node]] if feature[node] >= 0 else -1
        if own < 0:
            continue
        begin, start = n_listed, code_start[own]
        for i in range(node_size[node]):
            code = codes[start + node_set[node, i]]
            j = n_listed
            while j > begin and set_categories[j - 1] > code:
                set_categories[j] = set_categories[j - 1]
                j -= 1
            set_categories[j] = code
            n_listed += 1
        set_node[n_sets], set_size[n_sets] = node, node_size[node]
        n_sets += 1
    return n_sets
