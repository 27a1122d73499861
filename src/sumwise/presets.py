"""The defaults of XGBoost, LightGBM and CatBoost as plain data.

Each is a dict of parameters of :class:`sumwise.GradientBoostingClassifier` and
:class:`sumwise.GradientBoostingRegressor` with the defaults of that library. Pass it on and change
what you like::

    GradientBoostingClassifier(**presets.LIGHTGBM)
    GradientBoostingClassifier(**{**presets.XGBOOST, "max_depth": 4})

``docs/guide/presets.md`` maps their parameters to ours, and lists the differences.

Examples
--------
>>> from sumwise import GradientBoostingClassifier, presets
>>> GradientBoostingClassifier(**presets.XGBOOST).max_depth
6
"""

from types import MappingProxyType
from typing import Any

__all__ = ["CATBOOST", "LIGHTGBM", "XGBOOST", "convert_min_gain"]

XGBOOST: MappingProxyType[str, Any] = MappingProxyType(
    {
        "n_estimators": 100,
        "learning_rate": 0.3,
        "growth": "depth",
        "max_depth": 6,
        "min_samples_leaf": 1,
        "min_child_weight": 1.0,
        "min_gain": 0.0,
        "max_bins": 255,
        "l1": 0.0,
        "l2": 1.0,
        "max_delta_step": 0.0,
    }
)

LIGHTGBM: MappingProxyType[str, Any] = MappingProxyType(
    {
        "n_estimators": 100,
        "learning_rate": 0.1,
        "growth": "leaf",
        "max_leaves": 31,
        "min_samples_leaf": 20,
        "min_child_weight": 1e-3,
        "min_gain": 0.0,
        "max_bins": 255,
        "l1": 0.0,
        "l2": 0.0,
        "max_delta_step": 0.0,
    }
)

CATBOOST: MappingProxyType[str, Any] = MappingProxyType(
    {
        "n_estimators": 1000,
        "learning_rate": 0.03,
        "growth": "symmetric",
        "max_depth": 6,
        "min_samples_leaf": 1,
        "min_child_weight": 0.0,
        "min_gain": 0.0,
        "max_bins": 255,
        "l1": 0.0,
        "l2": 3.0,
        "max_delta_step": 0.0,
        "sampler": "mvs",
        "categorical_encoding": "ordered",
    }
)


def convert_min_gain(theirs: float) -> float:
    """Return the ``min_gain`` of XGBoost's ``gamma`` or LightGBM's ``min_split_gain``.

    Their gain lacks the factor 1/2 of the XGBoost paper, which ours has.

    Parameters
    ----------
    theirs : float
        Their parameter.

    Examples
    --------
    >>> from sumwise.presets import convert_min_gain
    >>> convert_min_gain(3.0)
    1.5
    """
    return 0.5 * theirs
