"""Out-of-bag predictions: each row is predicted by the members that did not learn from it.

H_oob(x) is the mean of the predictions of the members whose bag does not contain x (Breiman 1996).
Probabilities, votes as 0 and 1, and numbers are averaged alike. A row that is in every bag has no
such prediction: NaN.
"""

from collections.abc import Sequence

import numpy as np


class OutOfBagMean:
    """Sums out-of-bag predictions member by member, without keeping them.

    Parameters
    ----------
    n_rows : int
    shape : sequence of int, default=()
        Shape of one row's prediction: () for a number, (n_classes,) for probabilities.

    Attributes
    ----------
    total : ndarray of shape (n_rows, *shape)
        Sum of the predictions.
    n_members : ndarray of int64, shape (n_rows,)
        Number of members that have predicted each row.
    """

    def __init__(self, n_rows: int, shape: Sequence[int] = ()) -> None:
        self.total = np.zeros((n_rows, *shape))
        self.n_members = np.zeros(n_rows, dtype=np.int64)

    def add(self, rows: np.ndarray, predictions: np.ndarray) -> None:
        """Add the predictions of one member for rows, no row twice, that it did not see.

        ``rows`` are row numbers, or a mask with as many true values as there are predictions.
        """
        self.total[rows] += predictions
        self.n_members[rows] += 1

    def merge(self, other: "OutOfBagMean") -> None:
        """Add the sums of other members."""
        self.total += other.total
        self.n_members += other.n_members

    @property
    def is_covered(self) -> np.ndarray:
        """Whether any member has predicted each row."""
        return self.n_members > 0

    def mean(self) -> np.ndarray:
        """Return the mean predictions, NaN for rows that no member has predicted."""
        count = self.n_members.reshape(-1, *[1] * (self.total.ndim - 1))
        return np.where(count > 0, self.total, np.nan) / np.maximum(count, 1)
