"""Losses: gradient, hessian, initial score and link; one file a family."""

from sumwise.losses.base import Loss
from sumwise.losses.binary import Exponential, Logistic
from sumwise.losses.multinomial import Multinomial
from sumwise.losses.squared import Squared

__all__ = ["Exponential", "Logistic", "Loss", "Multinomial", "Squared"]
