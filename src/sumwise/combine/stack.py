"""Stacking: members' outputs as features of a meta-learner, and multi-response linear regression.

Multi-response linear regression (MLR) regresses the indicator of each class on the members'
class probabilities: K. M. Ting and I. H. Witten, "Issues in stacked generalization", JAIR 10, 1999.
The variant StackingC uses only the probabilities of the class itself: A. K. Seewald, "How to make
stacking better and faster while also taking care of an unknown weakness", ICML 2002.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sumwise.combine.average import choose_exponent, scale_back
from sumwise.combine.classes import normalize_probabilities, one_hot
from sumwise.errors import DataError

# Rows reduced at a time, so that the result does not depend on the threads of a library.
_BLOCK = 4096


def gather_folds(
    outputs: Sequence[np.ndarray], rows: Sequence[np.ndarray], n_rows: int
) -> np.ndarray:
    """Return the mean output of each row over the folds that predicted it; NaN if none did.

    Each fold has an array of ``outputs``, (n_rows_of_fold, n_columns), and its row numbers.
    """
    total = np.zeros((n_rows, outputs[0].shape[1]))
    count = np.zeros((n_rows, 1))
    for output, own in zip(outputs, rows, strict=True):
        total[own] += output
        count[own] += 1
    with np.errstate(invalid="ignore"):
        return total / count


def average_models(outputs: Sequence[np.ndarray], is_label: bool) -> np.ndarray:
    """Return the mean output of several models, or the class that most of them predict.

    If several classes have the most votes, the lowest wins.
    """
    if not is_label:
        return np.mean(outputs, axis=0)
    votes = np.stack(outputs)
    classes = np.unique(votes)
    counts = [(votes == label).sum(axis=0) for label in classes]
    return classes[np.argmax(counts, axis=0)]


def fit_responses(
    features: np.ndarray,
    class_idx: np.ndarray,
    n_classes: int,
    weight: np.ndarray | None = None,
    *,
    nonnegative: bool = False,
    own_class_only: bool = False,
    fit_intercept: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Fit a linear regression of each class's indicator by least squares of minimum norm.

    Parameters
    ----------
    features : ndarray or CSR matrix of shape (n_rows, n_features)
        A sparse matrix is made dense one block of rows at a time.
    class_idx : ndarray of shape (n_rows,)
    n_classes : int
    weight : ndarray of shape (n_rows,) or None
    nonnegative : bool
        Whether coefficients must not be negative.
    own_class_only : bool
        Whether class k is regressed only on columns k, k + n_classes, ... (StackingC).
    fit_intercept : bool
        Whether to add a constant, which does not count in the norm.

    Returns
    -------
    coef : ndarray of shape (n_classes, n_features)
    intercept : ndarray of shape (n_classes,)

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.combine.stack import fit_responses
    >>> coef, intercept = fit_responses(np.array([[0.2], [0.8]]), np.array([0, 1]), 2)
    >>> (coef[1] * 0.8 + intercept[1]).round(6)
    array([1.])
    """
    n_rows, n_features = features.shape
    if own_class_only and n_features % n_classes:
        raise DataError(
            f"own_class_only: there are {n_features} columns, which is not a multiple of the "
            f"{n_classes} classes; every member must give one column per class"
        )
    features, exponent = _scale(features)
    if weight is None:
        share = np.full(n_rows, 1.0 / n_rows)
    else:
        share = np.ldexp(weight, -choose_exponent(weight))  # the sum of huge weights would overflow
        share = share / share.sum()
    center = np.zeros(n_features + n_classes)
    if fit_intercept:
        frequency = np.bincount(class_idx, share, minlength=n_classes)
        center = np.concatenate([share @ features, frequency])
    triangle = _reduce_rows(features, class_idx, n_classes, center, np.sqrt(n_rows * share))
    left, right = triangle[:, :n_features], triangle[:, n_features:]
    # The cut of singular values that numpy.linalg.lstsq would use for the rows themselves.
    cut = max(n_rows, n_features) * np.finfo(np.float64).eps
    coef = np.zeros((n_classes, n_features))
    for k in range(n_classes):
        own = slice(k, None, n_classes) if own_class_only else slice(None)
        if nonnegative:
            coef[k, own] = solve_nonnegative(left[:, own], right[:, k], cut)
        else:
            coef[k, own] = np.linalg.lstsq(left[:, own], right[:, k], rcond=cut)[0]
    intercept = center[n_features:] - coef @ center[:n_features]
    coef = scale_back(coef, -exponent)
    if not np.isfinite(coef).all():
        raise DataError("features are so small that their coefficients overflow; scale them up")
    return coef, intercept if fit_intercept else np.zeros(n_classes)


def _scale(features: Any) -> tuple[Any, int]:
    """Return features divided by 2**k, which can be squared, and k: 0 unless extreme."""
    is_dense = isinstance(features, np.ndarray)
    exponent = choose_exponent(features if is_dense else features.data)
    if exponent == 0:
        return features, 0
    if is_dense:
        return np.ldexp(features, -exponent), exponent
    features = features.copy()
    features.data = np.ldexp(features.data, -exponent)
    return features, exponent


def _reduce_rows(
    features: np.ndarray,
    class_idx: np.ndarray,
    n_classes: int,
    center: np.ndarray,
    scale: np.ndarray,
) -> np.ndarray:
    """Return the triangle of the QR decomposition of features and indicators side by side.

    Its columns have the same least squares solutions as the rows.
    """
    triangle: np.ndarray = np.empty((0, center.size))
    for first in range(0, features.shape[0], _BLOCK):
        part = slice(first, first + _BLOCK)
        marks = one_hot(class_idx[part], n_classes)
        own = features[part]
        own = own.toarray() if hasattr(own, "toarray") else own
        rows = (np.hstack([own, marks]) - center) * scale[part, None]
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, rows]), mode="r"))
    return triangle


def solve_nonnegative(matrix: np.ndarray, target: np.ndarray, cut: float = 1e-15) -> np.ndarray:
    """Return x >= 0 that minimizes the squares of ``matrix @ x - target``, by active sets.

    C. L. Lawson and R. J. Hanson, "Solving Least Squares Problems", 1974, algorithm NNLS. ``cut``
    is relative to the largest singular value.
    """
    n = matrix.shape[1]
    x, passive = np.zeros(n), np.zeros(n, dtype=np.bool_)
    tol = max(cut, 1e-12) * float(np.linalg.norm(matrix) * np.linalg.norm(target))
    for _ in range(3 * n):
        slope = matrix.T @ (target - matrix @ x)
        slope[passive] = -np.inf
        best = int(slope.argmax())
        if slope[best] <= tol:
            break
        passive[best] = True
        while True:
            free = np.zeros(n)
            free[passive] = np.linalg.lstsq(matrix[:, passive], target, rcond=cut)[0]
            blocked = passive & (free <= 0)
            if not blocked.any():
                break
            # Move towards the free solution until the first coefficient is zero.
            ratio = x[blocked] / (x[blocked] - free[blocked])
            x = x + ratio.min() * (free - x)
            x[np.flatnonzero(blocked)[ratio.argmin()]] = 0.0
            passive &= x > 0
        x = free
    return x


def respond(features: np.ndarray, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
    """Return the responses of all classes, shape (n_rows, n_classes)."""
    return features @ coef.T + intercept


def to_probabilities(responses: np.ndarray) -> np.ndarray:
    """Return responses as probabilities: negative ones become 0, and rows sum to 1.

    Rows without a positive response become uniform.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.combine.stack import to_probabilities
    >>> to_probabilities(np.array([[0.6, 0.6, -0.2], [-0.1, -0.3, 0.0]])).round(2)
    array([[0.5 , 0.5 , 0.  ],
           [0.33, 0.33, 0.33]])
    """
    return normalize_probabilities(np.maximum(responses, 0.0))
