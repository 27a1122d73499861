"""Losses and metrics of CatBoost."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from sumwise.compat import metrics as m
from sumwise.compat.metrics import Metric, Scored, find_metric
from sumwise.errors import ParameterError
from sumwise.losses import Huber, Quantile, Tweedie
from sumwise.parts import find_close_name

Options = Mapping[str, str]


class Objective(NamedTuple):
    """A loss of regression: its name, and what it is here."""

    name: str
    text: str
    make: Callable[[Options], Any]


def _read_levels(options: Options) -> list[float]:
    return [float(level) for level in options.get("alpha", "0.5").split(",")]


REGRESSION = (
    Objective("RMSE", '"squared_error"', lambda o: "squared_error"),
    Objective("MultiRMSE", '"squared_error", of several targets', lambda o: "squared_error"),
    Objective("MAE", '"absolute_error"', lambda o: "absolute_error"),
    Objective("Quantile", "`Quantile(alpha)`", lambda o: Quantile(_read_levels(o)[0])),
    Objective("MultiQuantile", "`Quantile([...])`", lambda o: Quantile(_read_levels(o))),
    Objective("MAPE", '"mape"', lambda o: "mape"),
    Objective("Poisson", '"poisson"', lambda o: "poisson"),
    Objective(
        "Tweedie",
        "`Tweedie(variance_power)`",
        lambda o: Tweedie(float(o.get("variance_power", "1.5"))),
    ),
    Objective("Huber", "`Huber(delta)`", lambda o: Huber(delta=float(o["delta"]))),
    Objective("LogCosh", '"log_cosh"', lambda o: "log_cosh"),
)
REFUSED = {
    "CrossEntropy": "use sumwise.GradientBoostingRegressor(loss='cross_entropy')",
    "MultiClassOneVsAll": "use sklearn.multiclass.OneVsRestClassifier",
    "MultiLogloss": "fit one classifier per label",
    "MultiCrossEntropy": "fit one regressor with loss='cross_entropy' per label",
    "Focal": "sumwise does not have this loss; a function of your own can be one",
    "Expectile": "sumwise does not have this loss; a function of your own can be one",
    "Lq": "use 'RMSE' or 'MAE'; a function of your own can be a loss",
    "LogLinQuantile": "sumwise does not have this loss",
    "RMSPE": "use 'MAPE', or sample weights with 'RMSE'",
    "RMSEWithUncertainty": "use 'MultiQuantile', or conformal intervals of sumwise",
    "SurvivalAft": "survival models are not supported",
    "Cox": "survival models are not supported",
}


def read_name(given: str) -> tuple[str, dict[str, str]]:
    """Return the name and the options of a loss or metric, such as "Quantile:alpha=0.9"."""
    name, _, rest = given.partition(":")
    pairs = [item.partition("=") for item in rest.replace(";", ":").split(":") if item]
    return name, {key: value for key, _, value in pairs}


def find_loss(owner: str, given: Any, n_classes: int | None) -> tuple[Any, str, bool]:
    """Return the loss, CatBoost's name of it, and whether it starts from the average by default.

    CatBoost starts from 0 with some losses of regression, too. With a log link, Newton steps from
    there are too long. ``n_classes`` is None for regression.
    """
    if hasattr(given, "calc_ders_range"):
        return _DerivativeLoss(given).gradient, "", False
    if given is not None and not isinstance(given, str):
        raise ParameterError(
            f"{owner}: loss_function={given!r}; must be a name or an object with calc_ders_range"
        )
    if n_classes is not None:
        own = "Logloss" if n_classes <= 2 else "MultiClass"
        known: tuple[str, ...] = ("Logloss", "MultiClass")
        name = own if given is None else read_name(given)[0]
        if name == own or (name == "MultiClass" and n_classes == 2):
            return "log_loss", own, False
        if name == "Logloss":
            raise ParameterError(
                f"{owner}: loss_function='Logloss' is for two classes, and y has {n_classes}"
            )
    else:
        name, options = read_name(given or "RMSE")
        known = tuple(row.name for row in REGRESSION)
        for row in REGRESSION:
            if row.name == name:
                if name == "Huber" and "delta" not in options:
                    raise ParameterError(f"{owner}: loss_function='Huber' needs 'Huber:delta=...'")
                return row.make(options), name, True
    if name in REFUSED:
        raise ParameterError(f"{owner}: loss_function={given!r}: {REFUSED[name]}")
    close = find_close_name(name, known)
    hint = f"must be one of {', '.join(known)}" if close is None else f"did you mean {close!r}?"
    raise ParameterError(f"{owner}: loss_function={given!r}; {hint}")


class _DerivativeLoss:
    """A user's objective, whose derivatives are those of what is maximized."""

    def __init__(self, source: Any) -> None:
        self.source = source

    def gradient(self, y: np.ndarray, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return both derivatives of the loss."""
        if raw.ndim == 2:
            raise ParameterError(
                "an objective with calc_ders_range is for one output; write a function of (y, raw) "
                "for sumwise.GradientBoostingClassifier"
            )
        found = np.asarray(self.source.calc_ders_range(raw, y, None), dtype=float)
        return -found[:, 0], -found[:, 1]


def list_metrics(options: Options) -> dict[str, Metric]:
    """Return the metrics by name; ``options`` are those behind the name."""
    levels = _read_levels(options)
    border = float(options.get("proba_border", "0.5"))

    def label(name: str, **more: Any) -> Callable[[Scored], float]:
        """Return a metric of labels, of the second class if there are two."""

        def measure(s: Scored) -> float:
            labels = (
                s.labels if s.mean.ndim == 2 or border == 0.5 else (s.mean > border).astype(int)
            )
            import sklearn.metrics  # slow to import

            function = getattr(sklearn.metrics, name)
            return float(function(s.y, labels, sample_weight=s.weight, **more))

        return measure

    every = (
        Metric("RMSE", m.root_mean_squared_error, by_classes=1),
        Metric("MultiRMSE", _multi_rmse, by_classes=1),
        Metric("MAE", m.mean_absolute_error, by_classes=1),
        Metric("MAPE", m.mean_bounded_relative_error, by_classes=1),
        Metric("Quantile", m.pinball_loss(levels[0]), by_classes=1),
        Metric("MultiQuantile", m.pinball_loss(levels), by_classes=1),
        Metric("Poisson", _raw_poisson, by_classes=1),
        Metric(
            "Tweedie", m.tweedie_loss(float(options.get("variance_power", "1.5"))), by_classes=1
        ),
        Metric("Huber", m.huber_loss(float(options.get("delta", "1"))), by_classes=1),
        Metric("LogCosh", m.log_cosh_loss, by_classes=1),
        Metric("MSLE", m.mean_squared_log_error, by_classes=1),
        Metric("R2", m.r_squared, True, 1),
        Metric("MedianAbsoluteError", m.median_absolute_error, by_classes=1),
        Metric("Logloss", m.log_loss, by_classes=2),
        Metric("CrossEntropy", m.log_loss, by_classes=2),
        Metric("MultiClass", m.log_loss, by_classes=3),
        Metric("AUC", lambda s: m.area_under_curve(s._replace(weight=None)), True, 2),
        Metric("PRAUC", m.by_sklearn("average_precision_score", "mean"), True, 2),
        Metric("BrierScore", m.brier_score, by_classes=2),
        Metric("Accuracy", label("accuracy_score"), True, 0),
        Metric("ZeroOneLoss", m.error_rate, by_classes=0),
        Metric("BalancedAccuracy", label("balanced_accuracy_score"), True, 2),
        Metric("MCC", label("matthews_corrcoef"), True, 0),
        Metric("Precision", label("precision_score", zero_division=0.0), True, 2),
        Metric("Recall", label("recall_score", zero_division=0.0), True, 2),
        Metric("F1", label("f1_score", zero_division=0.0), True, 2),
        Metric("TotalF1", label("f1_score", average="weighted", zero_division=0.0), True, 0),
    )
    return {metric.name: metric for metric in every}


def _raw_poisson(s: Scored) -> float:
    return s.average(s.mean - s.y * s.raw)


def _multi_rmse(s: Scored) -> float:
    """Return the root of the mean squared length of the error vectors."""
    return float(np.sqrt(np.average((s.error**2).sum(axis=1), weights=s.weight)))


def read_metric(owner: str, given: Any, n_classes: int | None) -> Metric:
    """Return a metric by its name with options, or one of the user."""
    if hasattr(given, "evaluate"):
        return _wrap_metric(given)
    name, options = read_name(str(given))
    found = find_metric(owner, name, list_metrics(options), n_classes)
    found.name = str(given)
    return found


def _wrap_metric(source: Any) -> Metric:
    """Return a metric of an object with ``evaluate``, ``is_max_optimal``, ``get_final_error``."""

    def measure(s: Scored) -> float:
        approxes = [s.raw] if s.raw.ndim == 1 else list(s.raw.T)
        error, weight = source.evaluate(approxes, s.y, s.weight)
        return float(source.get_final_error(error, weight))

    return Metric(type(source).__name__, measure, bool(source.is_max_optimal()))
