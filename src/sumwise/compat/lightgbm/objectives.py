"""Objectives and metrics of LightGBM."""

from sumwise.compat import metrics as m
from sumwise.compat.metrics import Metric
from sumwise.compat.objectives import Objective, Objectives, Values
from sumwise.losses import Fair, Huber, Quantile, Tweedie

REGRESSION = (
    Objective(
        ("regression", "regression_l2", "l2", "mean_squared_error", "mse", "l2_root", "rmse",
         "root_mean_squared_error"),
        '"squared_error"',
        lambda v: "squared_error",
        "l2",
    ),
    Objective(
        ("regression_l1", "l1", "mean_absolute_error", "mae"),
        '"absolute_error"',
        lambda v: "absolute_error",
        "l1",
    ),
    Objective(("huber",), "`Huber(delta=alpha)`", lambda v: Huber(delta=v["alpha"]), "huber"),
    Objective(("fair",), "`Fair(c=fair_c)`", lambda v: Fair(v["fair_c"]), "fair"),
    Objective(("poisson",), '"poisson"', lambda v: "poisson", "poisson"),
    Objective(("quantile",), "`Quantile(alpha)`", lambda v: Quantile(v["alpha"]), "quantile"),
    Objective(("mape", "mean_absolute_percentage_error"), '"mape"', lambda v: "mape", "mape"),
    Objective(("gamma",), '"gamma"', lambda v: "gamma", "gamma"),
    Objective(
        ("tweedie",), "`Tweedie(power)`", lambda v: Tweedie(v["tweedie_variance_power"]), "tweedie"
    ),
    Objective(
        ("cross_entropy", "xentropy"), '"cross_entropy"', lambda v: "cross_entropy", "cross_entropy"
    ),
)  # fmt: skip
# Of a classifier: the number of classes decides.
CLASSIFICATION = ("binary", "multiclass", "softmax")
REFUSED = {
    "multiclassova": "one model against the rest: use sklearn.multiclass.OneVsRestClassifier",
    "multiclass_ova": "one model against the rest: use sklearn.multiclass.OneVsRestClassifier",
    "ova": "one model against the rest: use sklearn.multiclass.OneVsRestClassifier",
    "ovr": "one model against the rest: use sklearn.multiclass.OneVsRestClassifier",
    "cross_entropy_lambda": "sumwise does not have this loss; use 'cross_entropy'",
    "xentlambda": "sumwise does not have this loss; use 'cross_entropy'",
    "lambdarank": "ranking is not supported",
    "rank_xendcg": "ranking is not supported",
}
OBJECTIVES = Objectives(REGRESSION, CLASSIFICATION, REFUSED)


def list_metrics(values: Values) -> dict[str, Metric]:
    """Return the metrics by all of their names; some depend on parameters."""
    every = (
        ("l1 mean_absolute_error mae regression_l1", m.mean_absolute_error, False, 1),
        ("l2 mean_squared_error mse regression_l2 regression", m.mean_squared_error, False, 1),
        ("rmse root_mean_squared_error l2_root", m.root_mean_squared_error, False, 1),
        ("quantile", m.pinball_loss(values["alpha"]), False, 1),
        ("mape mean_absolute_percentage_error", m.mean_bounded_relative_error, False, 1),
        ("huber", m.huber_loss(values["alpha"]), False, 1),
        ("fair", m.fair_loss(values["fair_c"]), False, 1),
        ("poisson", m.poisson_loss, False, 1),
        ("gamma", m.gamma_loss, False, 1),
        ("gamma_deviance", m.summed_gamma_deviance, False, 1),
        ("tweedie", m.tweedie_loss(values["tweedie_variance_power"]), False, 1),
        ("r2", m.r_squared, True, 1),
        ("cross_entropy xentropy", m.log_loss, False, -1),
        ("auc", m.area_under_curve, True, 2),
        ("average_precision", m.by_sklearn("average_precision_score", "mean"), True, 2),
        ("binary_logloss binary", m.log_loss, False, 2),
        ("binary_error", m.error_rate, False, 2),
        ("multi_logloss multiclass softmax", m.log_loss, False, 3),
        ("multi_error", m.error_rate, False, 3),
    )
    found = {}
    for names, measure, higher, task in every:
        first, *others = names.split()
        for name in (first, *others):
            found[name] = Metric(first, measure, higher, task)
    return found
