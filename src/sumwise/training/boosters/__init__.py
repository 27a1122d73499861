"""Boosters: what a round of boosting does, one module each."""

from sumwise.training.boosters.base import Booster, BoosterRun
from sumwise.training.boosters.dart import Dart
from sumwise.training.boosters.forest import Forest
from sumwise.training.boosters.linear import Linear
from sumwise.training.boosters.ordered import Ordered
from sumwise.training.boosters.plain import Plain
from sumwise.training.boosters.vector import VectorLeaves

BOOSTERS: tuple[type[Booster], ...] = (Plain, Ordered, Dart, Forest, Linear)

__all__ = [
    "BOOSTERS",
    "Booster",
    "BoosterRun",
    "Dart",
    "Forest",
    "Linear",
    "Ordered",
    "Plain",
    "VectorLeaves",
]
