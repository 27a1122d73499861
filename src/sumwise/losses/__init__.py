"""Losses: gradient, hessian, initial score and link; one file per family."""

from sumwise.losses.base import Location, Loss
from sumwise.losses.binary import Exponential, Logistic
from sumwise.losses.check import check_loss
from sumwise.losses.cross_entropy import CrossEntropy
from sumwise.losses.custom import CustomLoss, is_custom_loss, is_loss_function
from sumwise.losses.log_link import Gamma, Poisson, Tweedie
from sumwise.losses.multi_target import MultiTarget
from sumwise.losses.multinomial import Multinomial
from sumwise.losses.robust import Absolute, Fair, Huber, LogCosh, Percentage, Quantile
from sumwise.losses.squared import Squared, SquaredLog

# The losses of regression by name; "auto" is the first.
REGRESSION_LOSSES: dict[str, type[Loss]] = {
    "squared_error": Squared,
    "absolute_error": Absolute,
    "huber": Huber,
    "quantile": Quantile,
    "mape": Percentage,
    "log_cosh": LogCosh,
    "fair": Fair,
    "squared_log_error": SquaredLog,
    "poisson": Poisson,
    "gamma": Gamma,
    "tweedie": Tweedie,
    "cross_entropy": CrossEntropy,
}
# Names of other libraries for them.
LOSS_ALIASES = {"logcosh": "log_cosh", "rmsle": "squared_log_error"}

__all__ = [
    "LOSS_ALIASES",
    "REGRESSION_LOSSES",
    "Absolute",
    "CrossEntropy",
    "CustomLoss",
    "Exponential",
    "Fair",
    "Gamma",
    "Huber",
    "Location",
    "LogCosh",
    "Logistic",
    "Loss",
    "MultiTarget",
    "Multinomial",
    "Percentage",
    "Poisson",
    "Quantile",
    "Squared",
    "SquaredLog",
    "Tweedie",
    "check_loss",
    "is_custom_loss",
    "is_loss_function",
]
