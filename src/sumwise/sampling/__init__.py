"""Which rows and which columns a tree sees."""

from sumwise.sampling.columns import Columns
from sumwise.sampling.subsample import RowSampler, Subsample

__all__ = ["Columns", "RowSampler", "Subsample"]
