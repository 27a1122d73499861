"""What a model file holds of calibration and of conformal scores."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.estimators.calibrated.calibration import METHODS, TemperatureCalibration
from sumwise.estimators.calibrated.conformal import ConformalIntervals, ConformalSets
from sumwise.estimators.calibrated.mixins import CalibratedClassifierMixin, ConformalRegressorMixin


def restore_learned(
    estimator: Any,
    about: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    n_outputs: int,
) -> dict[str, Any]:
    """Return calibration and conformal scores by name; raise ValueError if they are unsound.

    Parameters
    ----------
    estimator : estimator
        It has its classes already.
    about : mapping
        Entries "calibration" and "conformal" of the file; one of them may be missing.
    arrays : mapping
    n_outputs : int
        Columns of the trees' values.
    """
    found: dict[str, Any] = {}
    is_class = isinstance(estimator, CalibratedClassifierMixin)
    if not is_class and not isinstance(estimator, ConformalRegressorMixin):
        raise ValueError(f"a {type(estimator).__name__} is not calibrated")
    n_classes = 0
    if is_class:
        if not isinstance(estimator.classes_, np.ndarray):
            raise ValueError("a calibrated model has one output")
        n_classes = int(estimator.classes_.size)
    if "calibration" in about:
        kind = METHODS[about["calibration"]["method"]]
        is_boosting = estimator._model_attribute == "ensemble_"
        if n_classes < 2 or (kind is TemperatureCalibration and not is_boosting):
            raise ValueError(f"{kind.__name__} of {n_classes} classes")
        found["calibration"] = kind.restore(about["calibration"], arrays, n_classes)
    if "conformal" in about and is_class:
        found["conformal"] = ConformalSets.restore(about["conformal"], arrays, n_classes)
    elif "conformal" in about:
        intervals = ConformalIntervals.restore(about["conformal"], arrays, n_outputs)
        if intervals.power is None and estimator._model_attribute != "forest_":
            raise ValueError("boosting has no spread of trees")
        found["conformal"] = intervals
    return found
