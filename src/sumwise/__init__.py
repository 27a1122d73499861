"""sumwise: ensemble learning on one engine, with the scikit-learn API."""

from sumwise.data.native import Native
from sumwise.estimators.boosting import GradientBoostingClassifier, GradientBoostingRegressor
from sumwise.estimators.members import MemberPredictions, diversity_matrix, member_predictions
from sumwise.estimators.persistence import load
from sumwise.estimators.resampling import resample_predictions
from sumwise.losses import Huber, Quantile, Tweedie, check_loss
from sumwise.sampling import Columns, Subsample
from sumwise.training.callbacks import Callback, RoundState, Snapshot

__version__ = "0.1.0"

__all__ = [
    "Callback",
    "Columns",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "Huber",
    "MemberPredictions",
    "Native",
    "Quantile",
    "RoundState",
    "Snapshot",
    "Subsample",
    "Tweedie",
    "__version__",
    "check_loss",
    "diversity_matrix",
    "load",
    "member_predictions",
    "resample_predictions",
]
