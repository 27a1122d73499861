"""The buffers that trees of a fit are grown with, and how threads share the features.

All types are the same for every table, so that kernels are compiled once: what a table does not
need has no length.
"""

import numpy as np

from sumwise.data.binned import BinnedData
from sumwise.errors import ParameterError
from sumwise.kernels.grow import layout
from sumwise.kernels.grow.histogram import WORDS_LENGTH
from sumwise.kernels.grow.layout import N_STATS, BundleWork, CategoryWork, PresortedWork

# Histograms beyond this much memory are summed again instead of kept.
_POOL_BYTES = 1 << 29
_SYMMETRIC_POOL_BYTES = 1 << 33


def count_slots(options: layout.GrowthOptions, n_rows: int, n_bytes: int) -> int:
    """Histograms that may be alive at once: one for each leaf that can still be split."""
    alive = min(options.max_leaves, n_rows // (2 * options.min_samples_leaf)) + 1
    if options.growth == layout.SYMMETRIC:
        if alive * n_bytes > _SYMMETRIC_POOL_BYTES:
            raise ParameterError(
                f"symmetric growth to max_depth={options.max_depth} would keep "
                f"{alive * n_bytes / 2**30:.1f} GiB of histograms; lower max_depth or "
                "max_bins, or raise min_samples_leaf"
            )
        return alive
    return min(alive, max(1, _POOL_BYTES // max(1, n_bytes)))


def allocate_workspace(
    data: BinnedData, options: layout.GrowthOptions, n_rows: int, n_sums: int, n_threads: int
) -> layout.Workspace:
    """Return the buffers of trees that are grown on at most ``n_rows`` rows of a table.

    ``n_sums`` is the number of integers of a histogram.
    """
    n_nodes = 2 * options.max_leaves - 1
    is_symmetric = options.growth == layout.SYMMETRIC
    return layout.Workspace(
        control=np.zeros(layout.CONTROL_LENGTH, dtype=np.int64),
        records=np.empty((2, n_rows), dtype=np.uint64),
        leaf=np.empty(data.n_rows, dtype=np.uint32),
        first=np.empty((n_threads, n_nodes), dtype=np.int64),
        last=np.empty((n_threads, n_nodes), dtype=np.int64),
        totals=np.empty((n_nodes, N_STATS), dtype=np.int64),
        left_totals=np.empty((n_nodes, N_STATS), dtype=np.int64),
        sums=np.empty((n_threads, n_nodes, N_STATS), dtype=np.int64),
        value=np.empty((n_nodes, 1)),
        heap=np.empty(options.max_leaves + 1, dtype=np.int32),
        **allocate_histograms(options, n_rows, n_sums, n_threads),
        packed=np.zeros((n_threads, WORDS_LENGTH), dtype=np.int64),
        prefix=np.empty((n_threads, N_STATS, 256), dtype=np.int64),
        gains=np.empty((n_threads, 4, 256)),
        candidates=np.zeros((2, data.n_features), dtype=layout.CANDIDATE),
        **share_features(data, n_threads),
        categories=_allocate_category_work(data, n_nodes, n_threads),
        bundles=_allocate_bundle_work(data, n_threads),
        presorted=_allocate_presorted_work(data, n_rows, n_nodes, is_symmetric, n_threads),
    )


def allocate_histograms(
    options: layout.GrowthOptions, n_rows: int, n_sums: int, n_threads: int
) -> dict[str, np.ndarray]:
    """Return the pool of histograms, and what threads sum aside."""
    n_slots = count_slots(options, n_rows, 8 * n_sums)
    return {
        # Pages that are never touched cost no memory.
        "histograms": np.empty((n_slots + 2, n_sums), dtype=np.int64),
        "free_slots": np.empty(n_slots, dtype=np.int32),
        "partial": np.empty((2 * n_threads, n_sums), dtype=np.int64),
    }


def share_features(data: BinnedData, n_threads: int) -> dict[str, np.ndarray]:
    """Return which features can be split on, and which thread sums and scores each of them."""
    n_features, n_tiles = data.n_features, data.table.tile_start.size
    # Tiles that do not divide evenly among the threads are summed by all, a part of rows each.
    n_whole = n_tiles - n_tiles % n_threads
    tile_owner = np.where(np.arange(n_tiles) < n_whole, np.arange(n_tiles) % n_threads, -1)
    feature = np.arange(n_features)
    tile = data.find_tiles()
    # Features in no tile: the threads take turns.
    owner = np.cumsum(tile < 0) % n_threads
    owner[tile >= 0] = tile_owner[tile[tile >= 0]]
    members, n_shared = data.table.bundles.members, n_tiles - n_whole
    if members.size:  # all share the rows of entries
        owner[members] = np.arange(members.size) * n_threads // members.size
        n_shared += 1
    allowed = np.zeros((5, n_features), dtype=np.uint8)
    allowed[layout.USABLE] = data.usable
    return {
        "allowed": allowed,
        "tile_owner": tile_owner.astype(np.int64),
        "n_shared": np.array([n_shared]),
        "feature_owner": np.where(owner < 0, feature % n_threads, owner).astype(np.int64),
    }


def _allocate_bundle_work(data: BinnedData, n_threads: int) -> BundleWork:
    bundles = data.table.bundles
    is_used = bundles.coding.size > 0
    n_sums = 3 * int((data.table.n_value_bins[bundles.members] + 1).sum()) + 3
    return BundleWork(
        column=np.zeros(data.n_rows if is_used else 0, dtype=np.uint8),
        sums=np.zeros((2 * n_threads, n_sums if is_used else 0), dtype=np.int64),
    )


def _allocate_presorted_work(
    data: BinnedData, n_rows: int, n_nodes: int, is_symmetric: bool, n_threads: int
) -> PresortedWork:
    n_features, n_sorted = data.table.presorted.order.shape
    if n_features == 0:
        n_rows, n_nodes, n_marks, n_threads = -1, 0, 0, 0
    else:
        n_marks = data.n_rows
    return PresortedWork(
        lists=np.empty((2, n_features, n_rows + 1), dtype=np.uint64),
        in_tree=np.empty(n_marks, dtype=np.uint8),
        goes_left=np.empty(n_marks, dtype=np.uint8),
        first=np.zeros(n_nodes, dtype=np.int64),
        parent=np.zeros(n_nodes, dtype=np.int32),
        upper=np.zeros(n_nodes, dtype=np.uint32),
        left_sums=np.zeros((2, n_features, N_STATS), dtype=np.int64),
        rank_at=np.empty((n_threads, 256), dtype=np.int64),
        level_gains=np.empty((n_threads, 2, n_sorted if is_symmetric else 0)),
    )


def _allocate_category_work(data: BinnedData, n_nodes: int, n_threads: int) -> CategoryWork:
    categories = data.table.categories
    n_categorical = categories.n_bins.size
    n_bins = int(categories.n_bins.max(initial=0))
    longest = np.minimum(categories.max_categories, (categories.n_choices + 1) // 2)
    n_set = max(1, int(longest.max(initial=0)))
    of_one = categories.n_choices[categories.one_hot != 0]
    n_candidates = max(2 * n_set, int(of_one.max(initial=0)))
    if n_categorical == 0:
        n_nodes, n_threads = 0, 0
    return CategoryWork(
        sums=np.zeros((n_threads, 3 * n_bins), dtype=np.int64),
        words=np.zeros((n_threads, n_bins), dtype=np.int64),
        touched=np.empty((n_threads, n_bins + 1), dtype=np.int64),
        present=np.empty((n_threads, n_bins), dtype=np.int64),
        order=np.empty((n_threads, 2, n_bins), dtype=np.int64),
        ratio=np.empty((n_threads, 2, n_bins)),
        prefix=np.empty((n_threads, 3, n_bins + 1), dtype=np.int64),
        candidates=np.empty((n_threads, 3, n_candidates), dtype=np.int64),
        gains=np.empty((n_threads, n_candidates)),
        member=np.zeros((n_threads, n_bins), dtype=np.uint8),
        left_sums=np.empty((2, n_categorical, 3), dtype=np.int64),
        sets=np.empty((2, n_categorical, n_set), dtype=np.int32),
        node_size=np.zeros(n_nodes, dtype=np.int32),
        node_set=np.empty((n_nodes, n_set), dtype=np.int32),
    )
