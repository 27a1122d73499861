"""Path-dependent Shapley interaction values of rows."""

import numpy as np

from sumwise.data.matrix import Matrix
from sumwise.inspection.tree_walks import TreeWalks
from sumwise.kernels.explain.interactions import (
    Pairs,
    PairScratch,
    add_shap_interactions,
    list_pairs,
)
from sumwise.kernels.explain.lanes import LANES
from sumwise.kernels.runtime.threads import Team


def write_path_interactions(walks: TreeWalks, X: Matrix, team: Team, out: np.ndarray) -> None:
    """Write the values of pairs to ``out`` (n_rows, n_features, n_features, n_outputs)."""
    pairs = find_pairs(walks)
    own = PairScratch(
        fails=np.empty((team.n_threads, walks.n_points)),
        sums=np.empty((team.n_threads, pairs.first.size, LANES)),
    )
    known = *walks.for_kernels, walks.rules, walks.allocate_scratch(team), pairs, own

    def explain(codes: np.ndarray, rows: slice) -> None:
        team.run(add_shap_interactions, codes, *known, out[rows])

    walks.code_and_run(X, team, explain)


def find_pairs(walks: TreeWalks) -> Pairs:
    """Find the pairs of features that have splits on one way."""
    start = np.append(0, np.cumsum(walks.splits.n_unique - 1))
    above, key = np.empty((2, start[-1]), dtype=np.int64)
    is_left = np.empty(start[-1], dtype=np.uint8)
    n_slots = walks.features.size
    list_pairs(walks.splits, n_slots, start, above, is_left, key)
    keys, pair = np.unique(key, return_inverse=True)
    return Pairs(start, above, is_left, pair, keys // n_slots, keys % n_slots)
