"""Sampling: the rows and columns that a tree is grown on."""

from sumwise.sampling.bayesian import BayesianBootstrap
from sumwise.sampling.columns import Columns
from sumwise.sampling.goss import Goss
from sumwise.sampling.mvs import Mvs
from sumwise.sampling.resample import Bootstrap, Pasting, PoissonBootstrap, Resampler
from sumwise.sampling.rows import DrawnRows, RowSampler, RowSource
from sumwise.sampling.strata import ClassSubsample, GroupSubsample
from sumwise.sampling.subsample import Subsample

ROW_SAMPLERS: tuple[type[RowSampler], ...] = (
    Subsample,
    Goss,
    Mvs,
    BayesianBootstrap,
    ClassSubsample,
    GroupSubsample,
)

__all__ = [
    "ROW_SAMPLERS",
    "BayesianBootstrap",
    "Bootstrap",
    "ClassSubsample",
    "Columns",
    "DrawnRows",
    "Goss",
    "GroupSubsample",
    "Mvs",
    "Pasting",
    "PoissonBootstrap",
    "Resampler",
    "RowSampler",
    "RowSource",
    "Subsample",
]
