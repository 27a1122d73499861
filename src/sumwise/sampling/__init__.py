"""Which rows and which columns a tree sees."""

from sumwise.sampling.columns import Columns
from sumwise.sampling.rows import DrawnRows, RowSampler, RowSource
from sumwise.sampling.subsample import Subsample

__all__ = ["Columns", "DrawnRows", "RowSampler", "RowSource", "Subsample"]
