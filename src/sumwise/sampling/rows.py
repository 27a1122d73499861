"""What a row sampler is given, and what it returns."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from sumwise.kernels.runtime.threads import Team
from sumwise.parts import Part


def no_factors() -> np.ndarray:
    """What stands for factors that are all one."""
    return np.empty(0)


@dataclass(frozen=True)
class RowSource:
    """What a sampler may look at.

    Attributes
    ----------
    rows : ndarray of uint32
        The rows to draw from, ascending.
    seed : int
        Seed of the fit.
    number : int
        Number of the draw: 0 for the first of a fit.
    gradient, hessian : ndarray of shape (n_outputs, n_table_rows)
        Of all rows of the table; those of ``rows`` are up to date.
    target : ndarray of shape (n_table_rows,)
        Targets as the loss takes them: for classes, their numbers.
    team : Team
    groups : ndarray of int64, shape (n_table_rows,), or None
        Group of each row, if the user gave groups.
    classes : ndarray or None
        Labels of the classes, for a classifier.
    buffers : dict
        What a sampler keeps from draw to draw, to write to it again: new memory takes time.
    """

    rows: np.ndarray
    seed: int
    number: int
    gradient: np.ndarray
    hessian: np.ndarray
    target: np.ndarray
    team: Team
    groups: np.ndarray | None = None
    classes: np.ndarray | None = None
    buffers: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DrawnRows:
    """Rows that trees are grown on.

    Attributes
    ----------
    rows : ndarray of uint32
        Ascending, each once.
    factor : ndarray of float64
        Factors on gradient and hessian, one a row; empty if all are one.
    left_out : ndarray of uint32 or None
        The others, ascending; None where the sampler does not know them without a search.
    """

    rows: np.ndarray
    factor: np.ndarray = field(default_factory=no_factors)
    left_out: np.ndarray | None = None


class RowSampler(Part):
    """Chooses the rows of a round.

    A draw depends on nothing but the :class:`RowSource`, and not on its number of threads.
    """

    # Whether rows are left out, and whether those are like the others: chosen without a look at
    # gradients. Then the loss of a round on them tells what it is worth.
    leaves_out_alike: ClassVar[bool] = False
    # Whether draws may have factors.
    has_factors: ClassVar[bool] = False
    needs_groups: ClassVar[bool] = False
    needs_classes: ClassVar[bool] = False

    def check(self) -> None:
        """Raise ParameterError if a parameter cannot be used."""

    def draw(self, source: RowSource) -> DrawnRows:
        """Return the rows of a round."""
        raise NotImplementedError
