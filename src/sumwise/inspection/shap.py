"""Exact Shapley values of rows for finished trees and linear models (TreeSHAP).

Two games define what a model predicts when only some features of a row are known:

path-dependent
    A node that splits on an unknown feature sends the row to both sides, in the shares of the
    training rows that went there (``Trees.cover``). It needs no data but the model. Both sides of a
    node that no training row has reached count the same.
interventional
    Unknown features take the values of a background row. The mean over all background rows.

In both, the values of a row plus the expected value are its raw score.
"""

import numpy as np

from sumwise.data.matrix import Matrix
from sumwise.errors import DataError, ParameterError
from sumwise.inspection.path_values import PathExplainer
from sumwise.inspection.tree_walks import Explain, TreeWalks
from sumwise.kernels.explain.interactions import (
    Pairs,
    PairScratch,
    add_shap_interactions,
    list_pairs,
)
from sumwise.kernels.explain.interventions import add_interventions, allocate_cells, make_shares
from sumwise.kernels.explain.lanes import LANES
from sumwise.kernels.predict.blocks import BLOCK
from sumwise.kernels.runtime.threads import Team
from sumwise.tree.linear import LinearEnsemble
from sumwise.tree.trees import Trees


def shap_values(
    model: Trees | LinearEnsemble, X: Matrix, team: Team, background: Matrix | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the Shapley values of rows, and the expected value that they start from.

    Parameters
    ----------
    model : Trees or LinearEnsemble
        A finished model.
    X : Matrix
        Rows as prediction takes them.
    team : Team
        Threads that share the rows. The result does not depend on their number.
    background : Matrix, optional
        Rows for interventional values. Without them, the values of trees are path-dependent, and
        the reference of a linear model is a row with all values missing, which add nothing.

    Returns
    -------
    values : ndarray of float64, shape (n_rows, n_features, n_outputs)
    expected : ndarray of float64, shape (n_outputs,)

    Raises
    ------
    ParameterError
        If the leaves of the trees have linear models.
    DataError
        If the background has no rows.
    """
    if background is not None and background.shape[0] == 0:
        raise DataError("the background has no rows")
    if isinstance(model, LinearEnsemble):
        return _explain_linear(model, X, background)
    _check_leaves(model)
    values = np.zeros((*X.shape, model.n_outputs))
    walks = TreeWalks(model)
    if background is None:
        explainer = PathExplainer(walks, X.shape[0], team)
        walks.code_and_run(X, team, explainer.explain, values)
        return values, walks.find_expected()
    walks.code_and_run(X, team, _explain_with_background(walks, background, team), values)
    return values, model.predict_raw(background, team).mean(axis=0)


def shap_interactions(
    model: Trees | LinearEnsemble, X: Matrix, team: Team
) -> tuple[np.ndarray, np.ndarray]:
    """Return the path-dependent Shapley interaction values of rows, and the expected value.

    Half of the effect of a pair is at (i, j), half at (j, i). The diagonal has what is left of a
    feature's value, so that rows of the matrix sum to :func:`shap_values`.

    Parameters
    ----------
    model : Trees or LinearEnsemble
        A finished model; a linear one has no interactions.
    X : Matrix
        Rows as prediction takes them.
    team : Team
        Threads that share the rows. The result does not depend on their number.

    Returns
    -------
    values : ndarray of float64, shape (n_rows, n_features, n_features, n_outputs)
    expected : ndarray of float64, shape (n_outputs,)

    Raises
    ------
    ParameterError
        If the leaves of the trees have linear models.
    """
    n_features = X.shape[1]
    if isinstance(model, LinearEnsemble):
        alone, expected = _explain_linear(model, X, None)
        values = np.zeros((X.shape[0], n_features, n_features, model.n_outputs))
        values[:, np.arange(n_features), np.arange(n_features)] = alone
        return values, expected
    _check_leaves(model)
    walks = TreeWalks(model)
    pairs = _find_pairs(walks)

    scratch, shape = walks.allocate_scratch(team), (team.n_threads, pairs.first.size, LANES)
    own = PairScratch(np.empty((team.n_threads, walks.n_points)), np.empty(shape))
    known = *walks.for_kernels, walks.rules, scratch, pairs, own

    def explain(codes: np.ndarray, out: np.ndarray) -> None:
        team.run(add_shap_interactions, codes, *known, out)

    values = np.zeros((X.shape[0], n_features, n_features, model.n_outputs))
    walks.code_and_run(X, team, explain, values)
    return values, walks.find_expected()


def _find_pairs(walks: TreeWalks) -> Pairs:
    start = np.append(0, np.cumsum(walks.splits.n_unique - 1))
    above, key = np.empty((2, start[-1]), dtype=np.int64)
    is_left = np.empty(start[-1], dtype=np.uint8)
    n_slots = walks.features.size
    list_pairs(walks.splits, n_slots, start, above, is_left, key)
    keys, pair = np.unique(key, return_inverse=True)
    return Pairs(start, above, is_left, pair, keys // n_slots, keys % n_slots)


def _check_leaves(trees: Trees) -> None:
    if trees.models is not None:
        raise ParameterError(
            "the leaves of this model have linear models, for which exact Shapley values are not "
            "defined by the splits alone: fit without leaves='linear', or use a model-agnostic "
            "explainer on its predictions"
        )


def _explain_with_background(walks: TreeWalks, background: Matrix, team: Team) -> Explain:
    n_background = background.shape[0]
    others, shares = walks.code_all(background, team), make_shares(walks.n_unique, n_background)
    n_rows = walks.count_blocks(team) * BLOCK
    cells = allocate_cells(team.n_threads, n_rows, walks.n_levels, n_background, walks.n_unique)
    known = others, n_background, *walks.for_kernels, shares, cells
    return lambda codes, out: team.run(add_interventions, codes, *known, out)


def _explain_linear(
    model: LinearEnsemble, X: Matrix, background: Matrix | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients times values, less the mean of that over the background."""
    coefficient = model.coefficient[-1].T
    values = _read_present(X)[:, :, None] * coefficient
    expected = model.base_score + model.intercept[-1]
    if background is not None:
        mean = _read_present(background).mean(axis=0)[:, None] * coefficient
        values -= mean
        expected = expected + mean.sum(axis=0)
    return values, expected


def _read_present(X: Matrix) -> np.ndarray:
    """Return a matrix as an array of float64, in which missing values are zero."""
    dense = X if isinstance(X, np.ndarray) else X.convert(0, X.shape[0])
    return np.nan_to_num(dense.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
