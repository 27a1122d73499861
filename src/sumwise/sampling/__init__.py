"""Which rows and which columns a tree sees."""

from sumwise.sampling.columns import Columns
from sumwise.sampling.resample import (
    BayesianBootstrap,
    Bootstrap,
    Pasting,
    PoissonBootstrap,
    Resampler,
)
from sumwise.sampling.subsample import RowSampler, Subsample

__all__ = [
    "BayesianBootstrap",
    "Bootstrap",
    "Columns",
    "Pasting",
    "PoissonBootstrap",
    "Resampler",
    "RowSampler",
    "Subsample",
]
