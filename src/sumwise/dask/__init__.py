"""Estimators that train on a cluster of Dask.

They take Dask collections, and the parameters of the estimators of the same names in ``sumwise``.
The model has the same bytes as if all rows had been in the memory of one process, whatever the
number of workers and partitions. Needs ``pip install "sumwise[dask]"``.
"""

try:
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        "sumwise.dask needs dask: install it with pip install 'sumwise[dask]'"
    ) from error

from sumwise.dask.boosting import GradientBoostingClassifier, GradientBoostingRegressor
from sumwise.dask.forests import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

__all__ = [
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
]
