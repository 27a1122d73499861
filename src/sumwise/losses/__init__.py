"""Losses: gradient, hessian, initial score and link; one file a family."""

from sumwise.losses.base import Location, Loss
from sumwise.losses.binary import Exponential, Logistic
from sumwise.losses.check import check_loss
from sumwise.losses.cross_entropy import CrossEntropy
from sumwise.losses.custom import CustomLoss, is_custom_loss
from sumwise.losses.log_link import Gamma, Poisson, Tweedie
from sumwise.losses.multinomial import Multinomial
from sumwise.losses.robust import Absolute, Huber, Quantile
from sumwise.losses.squared import Squared

# The losses of regression by the names that users give; "auto" is the first.
REGRESSION_LOSSES: dict[str, type[Loss]] = {
    "squared_error": Squared,
    "absolute_error": Absolute,
    "huber": Huber,
    "quantile": Quantile,
    "poisson": Poisson,
    "gamma": Gamma,
    "tweedie": Tweedie,
    "cross_entropy": CrossEntropy,
}

__all__ = [
    "REGRESSION_LOSSES",
    "Absolute",
    "CrossEntropy",
    "CustomLoss",
    "Exponential",
    "Gamma",
    "Huber",
    "Location",
    "Logistic",
    "Loss",
    "Multinomial",
    "Poisson",
    "Quantile",
    "Squared",
    "Tweedie",
    "check_loss",
    "is_custom_loss",
]
