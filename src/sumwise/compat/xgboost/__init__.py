"""The estimators of XGBoost, fitted by sumwise: parameters, attributes and callbacks are theirs.

Change the import, and a program that used ``xgboost`` uses sumwise::

    from sumwise.compat import xgboost as xgb

``docs/migration/from_xgboost.md`` lists all parameters, and what differs.
"""

from sumwise.compat.base import refuse_native
from sumwise.compat.xgboost import callbacks as callback
from sumwise.compat.xgboost.estimators import (
    XGBClassifier,
    XGBRegressor,
    XGBRFClassifier,
    XGBRFRegressor,
)

__all__ = [
    "XGBClassifier",
    "XGBRFClassifier",
    "XGBRFRegressor",
    "XGBRegressor",
    "callback",
]

_HINTS = {
    "train": "use XGBClassifier or XGBRegressor",
    "cv": "use sumwise.cv",
    "DMatrix": "pass X and y to fit",
    "QuantileDMatrix": "pass X and y to fit",
    "Booster": "read a model of XGBoost by sumwise.from_xgboost",
    "XGBRanker": "ranking is not supported",
}
__getattr__ = refuse_native("XGBoost", __name__, _HINTS)
