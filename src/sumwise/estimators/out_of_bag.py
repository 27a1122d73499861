"""Out-of-bag scores: each row is predicted by the members that have not seen it."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from sumwise.errors import DataWarning
from sumwise.estimators.forests.targets import find_scale
from sumwise.estimators.scoring import (
    KnownClassifier,
    KnownRegressor,
    resolve_oob_score,
    score_known,
)
from sumwise.estimators.warn import warn_user


class OobScored(Protocol):
    """An estimator with a parameter that tells how to score out-of-bag predictions."""

    oob_score: object


def score_out_of_bag(
    owner: OobScored,
    is_covered: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray | None,
    know: Callable[[np.ndarray], KnownClassifier | KnownRegressor],
) -> float:
    """Return the out-of-bag score, NaN if no row has a prediction; warn of rows that have none.

    Parameters
    ----------
    owner : estimator
        With ``oob_score``.
    is_covered : ndarray of bool
        Which rows some member has not seen.
    y : ndarray
        The target as users know it.
    weight : ndarray or None
        Sample weights; rows of weight 0 are not scored.
    know : callable
        From indices of rows to a model that knows their out-of-bag predictions.
    """
    n_unknown = int((~is_covered).sum())
    if n_unknown:
        warn_user(
            f"{type(owner).__name__}: {n_unknown} of {is_covered.size} rows are in the bag of "
            "every member: they have no out-of-bag prediction (NaN) and do not count in the score. "
            "Some inputs do not have OOB scores because there are too few members; increase "
            "n_estimators",
            DataWarning,
        )
    rows = np.flatnonzero(is_covered if weight is None else is_covered & (weight > 0))
    if rows.size == 0:
        return float("nan")
    model, y = know(rows), y[rows]
    if isinstance(owner.oob_score, (bool, np.bool_)) and isinstance(model, KnownRegressor):
        # R² is the same in any unit. In this one, squares of huge numbers stay finite.
        scale = find_scale(y)
        model, y = KnownRegressor(model.predictions / scale), y / scale
    scorer = resolve_oob_score(owner.oob_score, owner)
    return score_known(scorer, model, y, None if weight is None else weight[rows])
