"""The estimators of LightGBM, fitted by sumwise: parameters, attributes and callbacks are theirs.

Change the import, and a program that used ``lightgbm`` uses sumwise::

    from sumwise.compat import lightgbm as lgb

``docs/migration/from_lightgbm.md`` lists all parameters, and what differs.
"""

from sumwise.compat.base import refuse_native
from sumwise.compat.lightgbm.callbacks import (
    CallbackEnv,
    EarlyStopException,
    early_stopping,
    log_evaluation,
    record_evaluation,
    reset_parameter,
)
from sumwise.compat.lightgbm.estimators import LGBMClassifier, LGBMRegressor

__all__ = [
    "CallbackEnv",
    "EarlyStopException",
    "LGBMClassifier",
    "LGBMRegressor",
    "early_stopping",
    "log_evaluation",
    "record_evaluation",
    "reset_parameter",
]

_HINTS = {
    "train": "use LGBMClassifier or LGBMRegressor",
    "cv": "use sumwise.cv",
    "Dataset": "pass X and y to fit",
    "Booster": "read a model of LightGBM by sumwise.from_lightgbm",
    "LGBMRanker": "ranking is not supported",
}
__getattr__ = refuse_native("LightGBM", __name__, _HINTS)
