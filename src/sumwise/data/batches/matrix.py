"""BatchedMatrix: the rows of a source as a matrix that is read in passes."""

from collections.abc import Iterator

import numpy as np

from sumwise.data.batches.learning import LearnedTable
from sumwise.data.matrix import StreamedMatrix

# A multiple of the rows that predictors code together.
_PART_ROWS = 1 << 16


class BatchedMatrix(StreamedMatrix):
    """The features of a source as numbers.

    Parameters
    ----------
    learned : LearnedTable
    unknown_category : {"missing", "error"}
        What becomes of categories that the schema does not know.
    unknown_code : float
        The code of such categories.
    """

    def __init__(
        self,
        learned: LearnedTable,
        unknown_category: str = "missing",
        unknown_code: float = np.nan,
    ) -> None:
        self.learned = learned
        self.shape = learned.n_rows, learned.schema.n_features
        self.dtype = learned.dtype
        self._unknown = unknown_category, unknown_code

    def read(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield (first row, numbers): parts of 65,536 rows, the last one may have fewer."""
        n_rows, n_features = self.shape
        part, n_filled, first = np.empty((0, n_features), self.dtype), 0, 0
        for _, values, _ in self.learned.read_matrices(*self._unknown):
            begin = 0
            while begin < len(values):
                if n_filled == 0:
                    part = np.empty((min(_PART_ROWS, n_rows - first), n_features), self.dtype)
                end = min(begin + len(part) - n_filled, len(values))
                part[n_filled : n_filled + end - begin] = values[begin:end]
                n_filled += end - begin
                begin = end
                if n_filled == len(part):
                    yield first, part
                    first, n_filled = first + n_filled, 0

    def read_all(self) -> np.ndarray:
        """Return all rows in memory."""
        return np.concatenate([part for _, part in self.read()])
