"""Exact Shapley values of rows for finished trees and linear models (TreeSHAP).

Two games define what a model predicts when only some features of a row are known:

path-dependent
    A node that splits on an unknown feature sends the row to both sides, in the shares of the
    training rows that went there (``Trees.cover``). It needs no data but the model. Both sides of a
    node that no training row has reached count the same.
interventional
    Unknown features take the values of a background row. The mean over all background rows. The
    time grows with the distinct ways of rows and background rows through a tree: less than with
    their product, and little as long as trees are small.

In both, the values of a row plus the expected value are its raw score.
"""

import numpy as np

from sumwise.data.matrix import Matrix
from sumwise.errors import DataError, ExplanationError
from sumwise.inspection.background_values import add_background_values
from sumwise.inspection.path_interactions import write_path_interactions
from sumwise.inspection.path_values import write_path_values
from sumwise.inspection.tree_walks import TreeWalks
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
    ExplanationError
        If the leaves of the trees have linear models.
    DataError
        If the background has no rows.
    """
    _check_background(background)
    if isinstance(model, LinearEnsemble):
        return _explain_linear(model, X, background)
    check_leaves(model)
    values, walks = np.zeros((*X.shape, model.n_outputs)), TreeWalks(model)
    if background is None:
        write_path_values(walks, X, team, values)
        return values, walks.find_expected()
    add_background_values(walks, X, background, team, values)
    return values, model.predict_raw(background, team).mean(axis=0)


def shap_interactions(
    model: Trees | LinearEnsemble, X: Matrix, team: Team, background: Matrix | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the Shapley interaction values of rows, and the expected value.

    Half of the effect of a pair is at (i, j), half at (j, i). The diagonal has what is left of a
    feature's value, so that the rows of each matrix sum to :func:`shap_values`.

    Parameters
    ----------
    model : Trees or LinearEnsemble
        A finished model; a linear one has no interactions.
    X, team, background
        As for :func:`shap_values`.

    Returns
    -------
    values : ndarray of float64, shape (n_rows, n_features, n_features, n_outputs)
    expected : ndarray of float64, shape (n_outputs,)

    Raises
    ------
    ExplanationError
        If the leaves of the trees have linear models.
    DataError
        If the background has no rows.
    """
    _check_background(background)
    pairs = np.zeros((*X.shape, X.shape[1], model.n_outputs))
    every = np.arange(X.shape[1])
    if isinstance(model, LinearEnsemble):
        pairs[:, every, every], expected = _explain_linear(model, X, background)
        return pairs, expected
    check_leaves(model)
    walks = TreeWalks(model)
    if background is None:
        write_path_interactions(walks, X, team, pairs)
        return pairs, walks.find_expected()
    values = np.zeros((*X.shape, model.n_outputs))
    add_background_values(walks, X, background, team, values, pairs)
    pairs[:, every, every] = values - pairs.sum(axis=2)
    return pairs, model.predict_raw(background, team).mean(axis=0)


def _check_background(background: Matrix | None) -> None:
    if background is not None and background.shape[0] == 0:
        raise DataError("the background has no rows")


def check_leaves(trees: Trees) -> None:
    """Raise ExplanationError if leaves have linear models."""
    if trees.models is not None:
        raise ExplanationError(
            "the leaves of this model have linear models, for which exact Shapley values are not "
            "defined by the splits alone: fit without leaves='linear', or use a model-agnostic "
            "explainer on its predictions"
        )


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
