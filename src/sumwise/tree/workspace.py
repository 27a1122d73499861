"""The buffers that trees of a fit are grown with, and the plan by which threads share work.

All types are the same for every table, so that kernels are compiled once: what a table does not
need has no length.
"""

from typing import Any

import numpy as np

from sumwise.data.binned import BinnedData
from sumwise.errors import ParameterError
from sumwise.kernels.grow import layout, plan
from sumwise.kernels.grow.histogram import WORDS_LENGTH
from sumwise.kernels.grow.layout import N_STATS, BundleWork, CategoryWork, Plan, PresortedWork
from sumwise.kernels.table.layout import BUNDLED, DENSE, PRESORTED, Table

# Histograms beyond this much memory are summed again instead of kept.
_POOL_BYTES = 1 << 29
_SYMMETRIC_POOL_BYTES = 1 << 33
# Nodes that are split in one round at most, and fewest threads for which it pays to split nodes
# before their turn.
_MOST_FAMILIES = 32
_FEWEST_THREADS = 3
# Tasks per thread into which the rows of large nodes are cut.
_WAVES = 4


def count_families(data: BinnedData, options: layout.GrowthOptions, n_threads: int) -> int:
    """Nodes that may be split in one round.

    Threads that share the entries of rows need the whole table for one node.
    """
    if data.table.bundles.members.size:
        return 1
    if options.growth == layout.SYMMETRIC:
        return _MOST_FAMILIES
    # What is drawn for a node depends on when its turn comes. Lists of rows have no nursery.
    is_drawn = options.columns_by_node < 1.0 or options.random_splits
    is_sorted = data.table.presorted.order.shape[0] > 0
    # Many tiles keep the threads busy.
    is_wide = data.table.tile_start.size >= _WAVES * n_threads
    if n_threads < _FEWEST_THREADS or is_drawn or is_sorted or is_wide:
        return 1
    return min(_MOST_FAMILIES, options.max_leaves)


def count_nodes(options: layout.GrowthOptions, n_families: int) -> tuple[int, int]:
    """Return (nodes that a tree may have, nodes of the nursery); see nursery.py."""
    n_pairs = 0
    if options.growth != layout.SYMMETRIC and n_families > 1:
        n_pairs = min(2 * _MOST_FAMILIES, options.max_leaves)
    return 2 * options.max_leaves - 1, 2 * n_pairs


def count_slots(
    options: layout.GrowthOptions, n_rows: int, n_bytes: int, n_guesses: int = 0
) -> int:
    """Histograms that may be alive at once: one for each leaf that can still be split.

    ``n_guesses`` nodes may have one before their turn has come.
    """
    alive = min(options.max_leaves, n_rows // (2 * options.min_samples_leaf)) + 1 + n_guesses
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
    data: BinnedData,
    options: layout.GrowthOptions,
    n_rows: int,
    n_sums: int,
    n_threads: int,
    n_families: int,
) -> layout.Workspace:
    """Return the buffers of trees that are grown on at most ``n_rows`` rows of a table.

    ``n_sums`` is the number of integers of a histogram; ``n_families`` the most nodes of a round.
    """
    n_nodes, n_nursery = count_nodes(options, n_families)
    n_places = n_nodes + n_nursery
    is_symmetric = options.growth == layout.SYMMETRIC
    n_scored = _count_scored(options, n_families)
    return layout.Workspace(
        control=np.zeros(layout.CONTROL_LENGTH, dtype=np.int64),
        records=np.empty((2, n_rows), dtype=np.uint64),
        leaf=np.empty(data.n_rows, dtype=np.uint32),
        first=np.empty(n_places, dtype=np.int64),
        last=np.empty(n_places, dtype=np.int64),
        totals=np.empty((n_places, N_STATS), dtype=np.int64),
        left_totals=np.empty((n_places, N_STATS), dtype=np.int64),
        sums=np.empty((n_threads, n_nodes, N_STATS), dtype=np.int64),
        value=np.empty((n_nodes, 1)),
        heap=np.empty(options.max_leaves + 1, dtype=np.int32),
        **allocate_histograms(data, options, n_rows, n_sums, n_threads, n_families),
        packed=np.zeros((n_threads, WORDS_LENGTH), dtype=np.int64),
        prefix=np.empty((n_threads, N_STATS, 256), dtype=np.int64),
        gains=np.empty((n_threads, 4, 256)),
        candidates=np.zeros((n_scored, data.n_features), dtype=layout.CANDIDATE),
        **share_features(data, options, n_threads, n_families),
        categories=_allocate_category_work(data, n_places, n_scored, n_threads),
        bundles=_allocate_bundle_work(data, n_threads),
        presorted=_allocate_presorted_work(data, n_rows, n_nodes, is_symmetric, n_threads),
    )


def _count_scored(options: layout.GrowthOptions, n_families: int) -> int:
    """Nodes that are scored in one round; a level counts as one."""
    return 1 if options.growth == layout.SYMMETRIC else 2 * n_families


def _count_scratch(n_threads: int) -> int:
    """Histograms that are not kept."""
    return max(2, n_threads)


def allocate_histograms(
    data: BinnedData,
    options: layout.GrowthOptions,
    n_rows: int,
    n_sums: int,
    n_threads: int,
    n_families: int,
) -> dict[str, np.ndarray]:
    """Return the pool of histograms, and those of parts of nodes."""
    n_guesses = count_nodes(options, n_families)[1] // 2
    n_slots = count_slots(options, n_rows, 8 * n_sums, n_guesses)
    n_units, waves = _count_row_units(data)
    n_partial = 0 if n_units % n_threads == 0 else -(-waves * n_threads // n_units)
    return {
        # Pages that are never touched cost no memory.
        "histograms": np.empty((n_slots + _count_scratch(n_threads), n_sums), dtype=np.int64),
        "free_slots": np.empty(n_slots, dtype=np.int32),
        "partial": np.empty((n_partial, n_sums), dtype=np.int64),
    }


def _count_row_units(data: BinnedData) -> tuple[int, int]:
    """Return the units by which the rows of large nodes are cut, and tasks per thread.

    Sums of entries take much memory, and are the most work: one part of the rows per thread.
    """
    return (1, 1) if data.table.bundles.members.size else (data.table.tile_start.size, _WAVES)


def _are_single(table: Table) -> np.ndarray:
    """Return whether features are summed one by one: wide categorical and presorted ones."""
    are_single = table.storage == PRESORTED
    place = table.categories.place
    if place.size:
        are_single |= (place >= 0) & (table.categories.wide_place[place] >= 0)
    return are_single


def share_features(
    data: BinnedData, options: layout.GrowthOptions, n_threads: int, n_families: int
) -> dict[str, Any]:
    """Return which features can be split on, and the plan of rounds."""
    table, n_features = data.table, data.n_features
    _, n_nursery = count_nodes(options, n_families)
    in_tiles, entries = table.lanes.members, table.bundles.members
    single = np.flatnonzero((data.usable != 0) & _are_single(table))
    features = np.concatenate([in_tiles, single, entries])
    n_units, waves = _count_row_units(data)
    rules = np.zeros(plan.N_RULES, dtype=np.int64)
    rules[plan.ROW_UNITS], rules[plan.WAVES] = n_units, waves
    rules[plan.N_TILED] = in_tiles.size
    rules[plan.ENTRIES_BEGIN] = in_tiles.size + single.size
    rules[plan.MOST_FAMILIES] = n_families
    rules[plan.N_SCRATCH] = _count_scratch(n_threads)
    rules[plan.ROW_UPDATES] = table.tile_first[-1] + single.size
    ends = table.lanes.first[table.tile_first]
    units = [[DENSE, tile, ends[tile], ends[tile + 1]] for tile in range(table.tile_start.size)]
    units += [
        [table.storage[f], f, place, place + 1] for place, f in enumerate(single, in_tiles.size)
    ]
    if entries.size:
        units.append([BUNDLED, 0, features.size - entries.size, features.size])
    n_scored = _count_scored(options, n_families)
    allowed = np.zeros((int(layout.CHILD) + n_scored, n_features), dtype=np.uint8)
    allowed[layout.USABLE] = data.usable
    n_items = 2 * n_families + waves * n_threads
    n_moves = n_families + n_threads
    return {
        "allowed": allowed,
        "plan": Plan(
            rules=rules,
            sizes=np.zeros(plan.N_SIZES, dtype=np.int64),
            families=np.zeros((n_families, plan.FAMILY_LENGTH), dtype=np.int64),
            moves=np.zeros((n_moves, plan.MOVE_LENGTH), dtype=np.int64),
            items=np.zeros((n_items, plan.ITEM_LENGTH), dtype=np.int64),
            units=np.array(units, dtype=np.int64).reshape(-1, plan.UNIT_LENGTH),
            features=features.astype(np.int64),
            counters=np.zeros(plan.OF_FAMILIES + 8 * n_families, dtype=np.int64),
            guess=np.zeros(layout.CONTROL_LENGTH, dtype=np.int64),
            guess_heap=np.empty(options.max_leaves + n_nursery + 1, dtype=np.int32),
            free_pairs=np.empty(n_nursery // 2, dtype=np.int32),
        ),
    }


def _allocate_bundle_work(data: BinnedData, n_threads: int) -> BundleWork:
    bundles = data.table.bundles
    is_used = bundles.coding.size > 0
    n_sums = 3 * int((data.table.n_value_bins[bundles.members] + 1).sum()) + 3
    return BundleWork(
        column=np.zeros(data.n_rows if is_used else 0, dtype=np.uint8),
        sums=np.zeros((n_threads + 1, n_sums if is_used else 0), dtype=np.int64),
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
        upper=np.zeros(n_nodes, dtype=np.uint32),
        left_sums=np.zeros((2, n_features, N_STATS), dtype=np.int64),
        rank_at=np.empty((n_threads, 256), dtype=np.int64),
        level_gains=np.empty((n_threads, 2, n_sorted if is_symmetric else 0)),
    )


def _allocate_category_work(
    data: BinnedData, n_nodes: int, n_scored: int, n_threads: int
) -> CategoryWork:
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
        left_sums=np.empty((n_scored, n_categorical, 3), dtype=np.int64),
        sets=np.empty((n_scored, n_categorical, n_set), dtype=np.int32),
        node_size=np.zeros(n_nodes, dtype=np.int32),
        node_set=np.empty((n_nodes, n_set), dtype=np.int32),
    )
