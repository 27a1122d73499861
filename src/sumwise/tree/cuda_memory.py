"""The memory that a device needs to grow trees, and what kernels are told of it."""

from math import prod
from typing import Any, NamedTuple

import numpy as np

from sumwise.cuda.grow.layout import LEAF_SUMS, SET_WORDS, Job, Request
from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.bindings import SAME_MODEL
from sumwise.cuda.runtime.device import Device
from sumwise.cuda.runtime.memory import show_bytes
from sumwise.cuda.table import LANES
from sumwise.data.device_categories import DeviceCategories
from sumwise.data.device_table import DeviceTable, TableSizes
from sumwise.errors import DeviceMemoryError
from sumwise.kernels.grow import layout
from sumwise.sampling.columns import Columns
from sumwise.tree.constraints import TreeConstraints
from sumwise.tree.cuda_result import Result, count_result_bytes
from sumwise.tree.growth import GrowthSettings

CANDIDATE_BYTES, FAMILY_BYTES = 56, 80
# Guesses that may wait for their turn, and the largest trees that guess; see guess.cuh. As on the
# CPU, a step has so many families, or a share of the splits that remain.
_MOST_GUESSES, _MOST_GUESSED_LEAVES = 64, 256
_FEW_FAMILIES, _SPLITS_PER_FAMILY = 4, 6
# A node with more rows, counted once for each tile, takes longer than a step: it is not guessed.
_GUESS_ROWS = 1 << 18
# Memory that the histograms of guesses may take.
_GUESS_BYTES = 1 << 30
# What users can do.
LESS_MEMORY = (
    "lower max_bins, max_leaves or max_depth, use fewer features, or divide the rows among several "
    f"GPUs, as with device='cuda:0,1'; {SAME_MODEL}"
)


class Sizes(NamedTuple):
    """How much a tree may need."""

    n_rows: int  # of a tree, on this device
    n_nodes: int
    n_slots: int
    n_families: int  # of a step
    n_steps: int
    n_guesses: int  # nodes that may be split before their turn
    n_places: int  # of nodes while the tree grows

    @classmethod
    def find(cls, options: layout.GrowthOptions, n_rows: int, n_sums: int = 0) -> "Sizes":
        """Return the sizes for what a policy allows; a histogram has ``n_sums`` integers."""
        leaves, depth = options.max_leaves, min(options.max_depth, 40)  # no more leaves than 2**40
        # A family needs room for a further leaf, and its children one for a further level.
        most_slots = max(1, min(leaves - 1, 1 << max(0, depth - 1)))
        n_guesses = 0
        if options.growth == layout.LEAF_WISE:
            n_families, n_steps = 1, max(1, leaves - 1)
            if _may_guess(options) and 8 * n_sums * min(_MOST_GUESSES, leaves) <= _GUESS_BYTES:
                n_guesses = min(_MOST_GUESSES, leaves)
                n_families = min(_MOST_GUESSES, max(_FEW_FAMILIES, leaves // _SPLITS_PER_FAMILY))
                most_slots = min(most_slots + n_guesses + 1, 1 << max(0, depth - 1))
        else:
            n_steps = max(1, min(options.max_depth, leaves - 1))
            n_families = max(1, min(leaves // 2, 1 << max(0, depth - 2)))
        if options.growth == layout.SYMMETRIC:  # nodes without histograms are families, too
            n_families = max(1, leaves // 4)
        n_nodes = 2 * leaves - 1
        n_places = n_nodes + 2 * (n_guesses + 1) if n_guesses else n_nodes
        return cls(n_rows, n_nodes, most_slots, n_families, n_steps, n_guesses, n_places)


def _may_guess(options: layout.GrowthOptions) -> bool:
    """Whether nodes may be split before their turn.

    What is drawn for a node depends on when its turn comes. Large trees have enough to do.
    """
    is_drawn = min(options.columns_by_level, options.columns_by_node) < 1.0 or options.random_splits
    return 3 <= options.max_leaves <= _MOST_GUESSED_LEAVES and not is_drawn


class Constants(NamedTuple):
    """Arrays of a policy on a device; 0 for what it does not have."""

    column_weights: Any
    direction: Any
    group_first: Any
    group_members: Any

    @classmethod
    def upload(
        cls,
        device: Device,
        options: layout.GrowthOptions,
        constraints: TreeConstraints | None,
    ) -> "Constants":
        weights: Any = device.upload(options.column_weights) if options.column_weights.size else 0
        if constraints is None:
            return cls(weights, 0, 0, 0)
        groups = [np.array(group, dtype=np.int64) for group in constraints.groups]
        first = np.cumsum([0, *(group.size for group in groups)]).astype(np.int64)
        members = np.concatenate([*groups, np.zeros(1, dtype=np.int64)])
        direction = np.array(constraints.directions, dtype=np.int64)
        return cls(weights, device.upload(direction), device.upload(first), device.upload(members))


def count_sums(table: DeviceTable | TableSizes) -> int:
    """Return the number of integers of a histogram."""
    return 3 * LANES * int(table.host_tile_bins.sum())


def plan_buffers(
    table: DeviceTable | TableSizes,
    settings: GrowthSettings,
    options: layout.GrowthOptions,
    sizes: Sizes,
    n_peers: int,
) -> dict[str, tuple[Any, Any]]:
    """Return shape and type of each buffer that trees are grown with, by its name in Job."""
    n_nodes, n_children = sizes.n_places, 2 * sizes.n_families
    length = count_sums(table)
    n_rows_allowed = int(layout.CHILD) + n_children
    n_features = table.n_features
    exchange = LEAF_SUMS + 3 * sizes.n_nodes + (sizes.n_families * length if n_peers > 1 else 0)
    plan: dict[str, tuple[Any, Any]] = {
        "request": (len(Request._fields), np.uint64),
        "result": (count_result_bytes(n_nodes, table.n_categorical > 0), np.uint8),
        "records": ((2, sizes.n_rows), np.uint64),
        "first": (n_nodes, np.int64),
        "last": (n_nodes, np.int64),
        "totals": ((n_nodes, 3), np.int64),
        "left_totals": ((n_nodes, 3), np.int64),
        "histograms": ((sizes.n_slots, length), np.int64),
        "allowed": ((n_rows_allowed, n_features), np.uint8),
        "candidates": (n_children * table.n_tiles * LANES * CANDIDATE_BYTES, np.uint8),
        "families": (sizes.n_families * FAMILY_BYTES, np.uint8),
        "move_first": (sizes.n_families + 1, np.int64),
        "build_first": (sizes.n_families + 1, np.int64),
        "cursors": ((sizes.n_families, 2), np.uint64),
        "waiting_gain": (options.max_leaves, np.float64),
        "waiting": ((2, options.max_leaves), np.int32),
        "leaf": (table.n_rows, np.uint32),
        "exchange": (exchange, np.int64),
        "peers": (n_peers, np.uint64),
        "tile_start": (table.n_tiles + 1, np.int64),
    }
    if sizes.n_guesses:
        plan["ordered"] = (sizes.n_nodes, layout.NODE_FIELDS)
        plan["ordered_bounds"] = ((sizes.n_nodes, 2), np.float64)
    if options.column_weights.size:
        plan["column_times"] = ((n_rows_allowed, n_features), np.float64)
    if settings.path_smooth > 0.0:
        plan["values"] = (n_nodes, np.float64)
    if settings.constraints is not None:
        plan["on_path"] = ((n_children, n_features), np.uint8)
        plan["parent"] = (n_nodes, np.int32)
        plan["lower"] = (n_nodes, np.float64)
        plan["upper"] = (n_nodes, np.float64)
    if table.n_categorical:
        if sizes.n_guesses:
            plan["ordered_sets"] = ((sizes.n_nodes, SET_WORDS), np.uint32)
        n_sets = n_children * table.n_categorical
        plan["candidate_sets"] = ((n_sets, SET_WORDS), np.uint32)
    return plan


def count_bytes(plan: dict[str, tuple[Any, Any]]) -> int:
    """Return how many bytes buffers take."""
    return sum(_count_items(shape) * np.dtype(kind).itemsize for shape, kind in plan.values())


def count_growth(
    table: DeviceTable | TableSizes,
    settings: GrowthSettings,
    columns: Columns,
    n_rows: int,
    n_peers: int = 1,
) -> int:
    """Return how many bytes of a device's memory growing trees on at most ``n_rows`` takes.

    ``table`` has the rows of the device, which is one of ``n_peers``.
    """
    options = settings.make_options(columns, n_rows, table.n_features)
    sizes = Sizes.find(options, min(n_rows, table.n_rows), count_sums(table))
    return count_bytes(plan_buffers(table, settings, options, sizes, n_peers))


def _count_items(shape: Any) -> int:
    return prod(shape) if isinstance(shape, tuple) else int(shape)


def allocate_buffers(
    device: Device,
    plan: dict[str, tuple[Any, Any]],
    n_rows: int,
    older: dict[str, DeviceArray],
) -> dict[str, DeviceArray]:
    """Return the buffers, older ones if they are large enough.

    If there is not enough memory, the error says what helps.
    """
    buffers = dict(older)
    new = {
        name: (shape, kind)
        for name, (shape, kind) in plan.items()
        if name not in older or older[name].size < _count_items(shape)
    }
    needed, free = count_bytes(new), device.count_free()
    if needed > free:
        raise DeviceMemoryError(
            f"growing trees on {n_rows:,} rows takes {show_bytes(needed)} of the memory of GPU "
            f"{device.number} ({device.name}), and {show_bytes(free)} are free: {LESS_MEMORY}"
        )
    return buffers | {name: device.allocate(*what) for name, what in new.items()}


def _describe_categories(categories: DeviceCategories) -> dict[str, Any]:
    """Return the fields of Job about categorical features."""
    names = "n_categorical category_place n_choices one_hot set_lanes"
    known = categories.known
    return {name: getattr(categories, name) for name in names.split()} | {
        "smoothing": known.smoothing,
        "set_l2": known.l2,
        "max_categories": known.max_categories,
        "set_min_rows": known.min_rows,
    }


def make_job(
    table: DeviceTable,
    settings: GrowthSettings,
    options: layout.GrowthOptions,
    exact_rows: int,
    constants: Constants,
    sizes: Sizes,
    buffers: dict[str, DeviceArray],
    n_peers: int,
) -> Any:
    """Return what kernels know."""
    constraints = settings.constraints
    length = count_sums(table)
    result = Result(buffers["result"], sizes.n_places)
    has_directions = constraints is not None and any(constraints.directions)
    fields: dict[str, Any] = dict.fromkeys(Job._fields, 0)
    fields |= {name: array for name, array in buffers.items() if name in fields}
    fields |= result.addresses | constants._asdict()
    of_settings = "l1 l2 max_delta_step min_child_weight path_smooth"
    fields |= {name: float(getattr(settings, name)) for name in of_settings.split()}
    of_table = "columns tiles lane_feature feature_lane n_value_bins tile_bins n_features n_tiles"
    fields |= {name: getattr(table, name) for name in of_table.split()}
    of_options = "growth max_leaves max_depth min_samples_leaf min_gain columns_by_level"
    of_options += " columns_by_node random_splits"
    fields |= {name: getattr(options, name) for name in of_options.split()}
    if constraints is not None:
        fields["has_parents"] = 1
        fields["any_direction"] = has_directions
        fields["max_path_features"] = int(constraints.max_path_features)
        fields["n_groups"] = len(constraints.groups)
    if table.categories is not None:
        fields |= _describe_categories(table.categories)
    return Job(
        **fields
        | {
            "n_table_rows": table.n_rows,
            "n_lanes": int(np.count_nonzero(table.usable)),
            "records_length": sizes.n_rows,
            "histogram_length": length,
            "n_slots": sizes.n_slots,
            "most_guesses": sizes.n_guesses,
            "guess_rows": _GUESS_ROWS // max(1, table.n_tiles),
            "most_families": sizes.n_families,
            "n_peers": n_peers,
            "exact_rows": exact_rows,
            "exchange_built": LEAF_SUMS + 3 * sizes.n_nodes,
        }
    )
