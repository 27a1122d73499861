"""Parallel: how several processes share the work of growing a tree."""

from dataclasses import dataclass
from numbers import Integral

from sumwise.errors import ParameterError
from sumwise.peers import ALONE, Peers

KINDS = ("data", "voting", "feature")


@dataclass(frozen=True)
class Parallel:
    """How several processes share the work of growing a tree.

    Attributes
    ----------
    kind : {"data", "voting", "feature"}
        "data": each process has rows of its own, and the histograms of all features are added up.
        The tree is that of one process. "voting": the same, but only the histograms of features
        that the processes elect are added up: an approximation, which sends less if there are many
        features. The tree depends on which process has which rows. "feature": each process has all
        rows and a share of the features; only the best splits are exchanged. The tree is that of
        one process.
    top_k : int
        With "voting", how many features a process votes for; twice as many are elected per node. If
        there are no more than these, the tree is the same as with "data".
    peers : Peers
        With "feature", the processes that share the features. Otherwise the peers are those that
        have the other rows.

    Examples
    --------
    >>> from sumwise.tree.parallel import Parallel
    >>> Parallel("voting", top_k=5).top_k
    5
    """

    kind: str = "data"
    top_k: int = 20
    peers: Peers = ALONE

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ParameterError(f"parallel={self.kind!r} must be one of {', '.join(KINDS)}")
        is_count = isinstance(self.top_k, Integral) and not isinstance(self.top_k, bool)
        if not is_count or self.top_k < 1:
            raise ParameterError(f"top_k={self.top_k!r} must be an integer of at least 1")


DATA = Parallel()
