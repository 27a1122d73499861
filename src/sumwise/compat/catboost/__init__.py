"""The estimators of CatBoost, fitted by sumwise: parameters, attributes and callbacks are theirs.

Change the import, and a program that used ``catboost`` uses sumwise::

    from sumwise.compat.catboost import CatBoostClassifier, Pool

``docs/migration/from_catboost.md`` lists all parameters, and what differs.
"""

from sumwise.compat.base import refuse_native
from sumwise.compat.catboost.estimators import CatBoostClassifier, CatBoostRegressor
from sumwise.compat.catboost.pool import Pool

__all__ = ["CatBoostClassifier", "CatBoostRegressor", "Pool"]

_HINTS = {
    "CatBoost": "use CatBoostClassifier or CatBoostRegressor",
    "train": "use CatBoostClassifier or CatBoostRegressor",
    "cv": "use sumwise.cv",
    "CatBoostRanker": "ranking is not supported",
}
__getattr__ = refuse_native("CatBoost", __name__, _HINTS)
