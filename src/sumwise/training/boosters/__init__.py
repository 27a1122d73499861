"""Boosters: what a round of boosting does. One file each."""

from sumwise.training.boosters.base import Booster, BoosterRun
from sumwise.training.boosters.plain import Plain

__all__ = ["Booster", "BoosterRun", "Plain"]
