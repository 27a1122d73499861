"""The sequence of kernels that grow a tree: see cuda/grow/layout.py."""

from typing import Any

from sumwise.kernels.grow import layout

# A kernel and what it takes beside the job.
Launch = tuple[Any, ...]
# Between kernels: devices wait for each other.
MEET: Launch = ("meet",)


def list_begin() -> list[Launch]:
    """Return the kernels before the first step."""
    return [
        ("begin_tree",),
        ("find_maxima",),
        MEET,
        ("quantize_rows",),
        MEET,
        ("plan_root",),
        ("build_histograms",),
        MEET,
    ]


def list_steps(growth: int, most_families: int, first: int, last: int) -> list[Launch]:
    """Return the kernels of steps [first, last), each of at most so many families."""
    launches: list[Launch] = []
    for step in range(first, last):
        if growth == layout.SYMMETRIC:
            launches += [("score_level",), ("choose_level_split",)]
        elif growth == layout.LEAF_WISE:
            launches.append(("score_and_choose", most_families))
        else:
            n_families = min(most_families, 1 << max(0, min(step - 1, 40)))
            launches += [("score_nodes", n_families), ("choose_splits",)]
        # What is built next may be where others still read the sums of this step.
        launches += [MEET, ("partition_rows",), ("build_histograms",), MEET]
    return launches


def list_end(adds_values: bool) -> list[Launch]:
    """Return the kernels after the last step; values are added to scores if they are final."""
    launches: list[Launch] = [("sum_leaves",), MEET, ("set_values",)]
    return [*launches, ("add_leaf_values",)] if adds_values else launches
