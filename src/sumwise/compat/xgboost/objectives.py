"""Objectives and metrics of XGBoost."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sumwise.compat import metrics as m
from sumwise.compat.conversions import UserObjective
from sumwise.compat.metrics import Metric
from sumwise.errors import ParameterError
from sumwise.losses import Quantile, Tweedie
from sumwise.parts import find_close_name

Values = Mapping[str, Any]


class Objective(NamedTuple):
    """A loss: its names, what it is here, and the metric that belongs to it."""

    names: tuple[str, ...]
    text: str
    make: Callable[[Values], Any]
    metric: str


def _make_quantile(values: Values) -> Quantile:
    level = values["quantile_alpha"]
    if level is None:
        raise ParameterError("reg:quantileerror needs quantile_alpha, a level or a list of them")
    return Quantile(level)


REGRESSION = (
    Objective(("reg:squarederror", "reg:linear"), '"squared_error"', lambda v: "squared_error",
              "rmse"),
    Objective(("reg:squaredlogerror",), '"squared_log_error"', lambda v: "squared_log_error",
              "rmsle"),
    Objective(("reg:absoluteerror",), '"absolute_error"', lambda v: "absolute_error", "mae"),
    Objective(("reg:quantileerror",), "`Quantile(quantile_alpha)`", _make_quantile, "quantile"),
    Objective(("reg:logistic",), '"cross_entropy"', lambda v: "cross_entropy", "rmse"),
    Objective(("count:poisson",), '"poisson"', lambda v: "poisson", "poisson-nloglik"),
    Objective(("reg:gamma",), '"gamma"', lambda v: "gamma", "gamma-nloglik"),
    Objective(("reg:tweedie",), "`Tweedie(power)`",
              lambda v: Tweedie(v["tweedie_variance_power"]), "tweedie-nloglik"),
)  # fmt: skip
# Of a classifier: the number of classes decides.
CLASSIFICATION = ("binary:logistic", "multi:softprob", "multi:softmax")
REFUSED = {
    "reg:pseudohubererror": "sumwise has 'log_cosh' and Huber(delta) in GradientBoostingRegressor",
    "binary:logitraw": "use 'binary:logistic', and predict(X, output_margin=True)",
    "binary:hinge": "it gives no probabilities; use 'binary:logistic'",
    "survival:cox": "survival models are not supported",
    "survival:aft": "survival models are not supported",
    "rank:ndcg": "ranking is not supported",
    "rank:map": "ranking is not supported",
    "rank:pairwise": "ranking is not supported",
}


def find_loss(owner: str, values: Values, is_class: bool) -> tuple[Any, str | None]:
    """Return the loss, and the name of its metric (None for a classifier or a function)."""
    given = values["objective"]
    if callable(given):
        return UserObjective(owner, given), None
    if is_class:
        if given is None or given in CLASSIFICATION:
            return "log_loss", None
        known: tuple[str, ...] = CLASSIFICATION
    else:
        for row in REGRESSION:
            if (given or "reg:squarederror") in row.names:
                return row.make(values), row.metric
        known = tuple(name for row in REGRESSION for name in row.names)
    if given in REFUSED:
        raise ParameterError(f"{owner}: objective={given!r}: {REFUSED[given]}")
    close = find_close_name(str(given), known)
    hint = f"must be one of {', '.join(known)}" if close is None else f"did you mean {close!r}?"
    raise ParameterError(f"{owner}: objective={given!r}; {hint}")


def list_metrics(values: Values) -> dict[str, Metric]:
    """Return the metrics by name; some depend on parameters."""
    power, level = values["tweedie_variance_power"], values["quantile_alpha"]
    every = (
        Metric("rmse", m.root_mean_squared_error, by_classes=1),
        Metric("mae", m.mean_absolute_error, by_classes=1),
        Metric("mape", m.mean_relative_error, by_classes=1),
        Metric("rmsle", m.root_mean_squared_log_error, by_classes=1),
        Metric("quantile", m.pinball_loss(0.5 if level is None else level), by_classes=1),
        Metric("poisson-nloglik", m.full_poisson_loss, by_classes=1),
        Metric("gamma-nloglik", m.gamma_loss, by_classes=1),
        Metric("gamma-deviance", m.gamma_deviance, by_classes=1),
        Metric(f"tweedie-nloglik@{power:g}", m.tweedie_loss(power), by_classes=1),
        Metric("logloss", m.log_loss, by_classes=2),
        Metric("error", m.error_rate, by_classes=2),
        Metric("auc", m.area_under_curve, True, 0),
        Metric("aucpr", m.by_sklearn("average_precision_score", "mean"), True, 2),
        Metric("mlogloss", m.log_loss, by_classes=3),
        Metric("merror", m.error_rate, by_classes=3),
    )
    found = {metric.name: metric for metric in every}
    found["tweedie-nloglik"] = found[f"tweedie-nloglik@{power:g}"]
    return found


def find_parametric(name: str) -> Metric | None:
    """Return a metric whose name has a number, such as "error@0.7"."""
    kind, _, number = name.partition("@")
    try:
        value = float(number)
    except ValueError:
        return None
    if kind == "error":
        return Metric(name, m.error_rate_at(value), by_classes=2)
    if kind == "tweedie-nloglik":
        return Metric(name, m.tweedie_loss(value), by_classes=1)
    return None
