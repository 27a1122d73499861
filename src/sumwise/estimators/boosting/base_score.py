"""From the parameter ``base_score`` to the raw scores that training starts from."""

from collections.abc import Callable

import numpy as np

from sumwise.estimators.boosting.parameters import BoostingParameters
from sumwise.estimators.input.parameters import refuse
from sumwise.losses import CustomLoss, Loss

# Raw scores from predictions, by link: the inverse of sumwise.losses.links.
_INVERSE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "identity": lambda mean: mean,
    "sorted": lambda mean: mean,
    "log": np.log,
    "log1p": np.log1p,
    "sigmoid": lambda mean: np.log(mean / (1.0 - mean)),
    "logistic": lambda mean: np.log(mean / (1.0 - mean)),
    "half_logistic": lambda mean: 0.5 * np.log(mean / (1.0 - mean)),
    "softmax": np.log,
}
# The range of predictions, by link; those of all other links are probabilities.
_RANGES = {
    "identity": (-np.inf, np.inf, "a finite number"),
    "sorted": (-np.inf, np.inf, "finite numbers"),
    "log": (0.0, np.inf, "a positive mean"),
    "log1p": (-1.0, np.inf, "a number above -1"),
}


def check_base_score(params: BoostingParameters, has_init_score: bool) -> None:
    """Refuse a constant that is not a number, or that ``init_score`` would replace."""
    if params.base_score is None:
        return
    try:
        array = np.asarray(params.base_score)
        is_number = array.dtype.kind in "iuf" and array.ndim <= 1 and np.isfinite(array).all()
    except ValueError:  # rows of different lengths
        is_number = False
    if not is_number:
        refuse(params, "base_score", "must be None, a finite number or one per class")
    if has_init_score:
        rule = "init_score takes the place of a constant; pass only one of them"
        refuse(params, "base_score", rule)


def find_base_score(params: BoostingParameters, loss: Loss) -> np.ndarray | None:
    """Return the raw scores (n_outputs,) to start from, None for the best constant."""
    if params.base_score is None:
        return None
    mean = np.atleast_1d(np.asarray(params.base_score, dtype=np.float64))
    if np.ndim(params.base_score) == 0 and loss.link != "softmax":
        mean = np.repeat(mean, loss.n_outputs)  # the same for all targets or quantiles
    if mean.size != loss.n_outputs:
        refuse(params, "base_score", f"must be {loss.n_outputs} numbers, one per output")
    if isinstance(loss, CustomLoss) and loss.inverse_link:
        return mean  # a link of the user's own is not inverted
    low, high, kind = _RANGES.get(loss.link, (0.0, 1.0, "probabilities between 0 and 1"))
    if not np.all((mean > low) & (mean < high)):
        refuse(params, "base_score", f"with this loss it must be {kind}")
    return _INVERSE[loss.link](mean)
