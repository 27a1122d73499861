"""sumwise: ensemble learning on one engine, with the scikit-learn API."""

from sumwise.estimators.boosting import GradientBoostingClassifier, GradientBoostingRegressor
from sumwise.estimators.persistence import load
from sumwise.sampling import Columns, Subsample
from sumwise.training.callbacks import Callback, RoundState, Snapshot

__version__ = "0.1.0"

__all__ = [
    "Callback",
    "Columns",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "RoundState",
    "Snapshot",
    "Subsample",
    "__version__",
    "load",
]
