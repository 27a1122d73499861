"""Objectives and metrics of XGBoost."""

from sumwise.compat import metrics as m
from sumwise.compat.metrics import Metric
from sumwise.compat.objectives import Objective, Objectives, Values
from sumwise.errors import ParameterError
from sumwise.losses import Quantile, Tweedie


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
OBJECTIVES = Objectives(REGRESSION, CLASSIFICATION, REFUSED)


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
