"""Interventional Shapley values of rows, with a background of other rows."""

import numpy as np

from sumwise.data.matrix import Matrix
from sumwise.inspection.tree_walks import TreeWalks
from sumwise.kernels.explain.interventions import add_interventions, allocate_cells, make_shares
from sumwise.kernels.predict.blocks import BLOCK
from sumwise.kernels.runtime.threads import Team


def add_background_values(
    walks: TreeWalks,
    X: Matrix,
    background: Matrix,
    team: Team,
    values: np.ndarray,
    pairs: np.ndarray | None = None,
) -> None:
    """Add to the values of rows, and of pairs of features.

    Parameters
    ----------
    walks : TreeWalks
    X, background : Matrix
        Rows that are explained, and those that give unknown features their values.
    team : Team
    values : ndarray of shape (n_rows, n_features, n_outputs)
    pairs : ndarray of shape (n_rows, n_features, n_features, n_outputs), optional
        Its diagonal is left as it is.
    """
    n_background = background.shape[0]
    codes_of_others = walks.code_all(background, team)
    shares = make_shares(walks.n_unique, n_background)
    sizes = walks.count_blocks(team) * BLOCK, walks.n_levels, n_background, walks.n_unique
    cells = allocate_cells(team.n_threads, *sizes, has_pairs=pairs is not None)
    known = codes_of_others, n_background, *walks.for_kernels, shares, cells
    no_pairs = np.empty((0, 0, 0, 0))

    def explain(codes: np.ndarray, rows: slice) -> None:
        own_pairs = no_pairs if pairs is None else pairs[rows]
        team.run(add_interventions, codes, *known, values[rows], own_pairs)

    walks.code_and_run(X, team, explain)
