"""The interface of row samplers: what they read, and what they return."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from sumwise.kernels.runtime.threads import Team
from sumwise.parts import Part
from sumwise.peers import Shards


def no_factors() -> np.ndarray:
    """Return an empty array, which stands for factors of one."""
    return np.empty(0)


@dataclass(frozen=True)
class RowSource:
    """The data that a sampler may use.

    Attributes
    ----------
    rows : ndarray of uint32
        The rows to draw from, ascending.
    seed : int
        Seed of the fit.
    number : int
        Number of the draw within the fit, from 0.
    gradient, hessian : ndarray of shape (n_outputs, n_table_rows)
        Derivatives for all rows of the table; only those of ``rows`` are up to date.
    target : ndarray of shape (n_table_rows,)
        Targets in the form that the loss takes: class indices for a classifier.
    team : Team
    groups : ndarray of int64, shape (n_table_rows,), or None
        Group of each row, if the user passed groups.
    classes : ndarray or None
        Class labels, for a classifier.
    shards : Shards or None
        Where the rows are among those of other processes; None if there are none.
    buffers : dict
        What a sampler keeps for the next draw of the fit: arrays, which saves the time to allocate
        them, and what it knows of the rows of other processes.
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
    shards: Shards | None = None
    buffers: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DrawnRows:
    """The rows that trees are grown on.

    Attributes
    ----------
    rows : ndarray of uint32
        Ascending, each once.
    factor : ndarray of float64
        Factors of gradient and hessian, one per row; empty if all are one. They are applied before
        gradients are quantized, and also to the weights of rows where leaves are refitted.
    left_out : ndarray of uint32 or None
        All other rows, ascending; None if the sampler would have to search for them.
    """

    rows: np.ndarray
    factor: np.ndarray = field(default_factory=no_factors)
    left_out: np.ndarray | None = None


class RowSampler(Part):
    """Chooses the rows of a round.

    A draw depends only on the :class:`RowSource`, and not on its number of threads.
    """

    # Whether rows are left out independently of their gradients. They are then a fair sample, and
    # the loss of a round on them measures its quality.
    leaves_out_alike: ClassVar[bool] = False
    # Whether draws may have factors.
    has_factors: ClassVar[bool] = False
    needs_groups: ClassVar[bool] = False
    needs_classes: ClassVar[bool] = False
    # Whether processes that have ``shards`` of the rows draw those that one process with all rows
    # would draw. A class that overrides ``draw`` has to say so again.
    works_among_peers: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "draw" in vars(cls) and "works_among_peers" not in vars(cls):
            cls.works_among_peers = False

    def check(self) -> None:
        """Raise ParameterError if a parameter cannot be used."""

    def draw(self, source: RowSource) -> DrawnRows:
        """Return the rows of one round."""
        raise NotImplementedError
