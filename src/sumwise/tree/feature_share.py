"""FeatureShare: a table of which a process sums and scores only some features."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from sumwise.data.binned import BinnedData
from sumwise.data.paged import PagedData
from sumwise.errors import ParameterError
from sumwise.kernels.runtime.threads import Team
from sumwise.peers import Peers
from sumwise.tree.sampled_table import SampledTable


def divide_features(usable: np.ndarray, n_shares: int) -> list[np.ndarray]:
    """Return the usable features of each share: neighbors, and about as many in all of them.

    Examples
    --------
    >>> import numpy as np
    >>> [own.tolist() for own in divide_features(np.array([1, 1, 0, 1, 1]), 2)]
    [[1, 1, 0, 0, 0], [0, 0, 0, 1, 1]]
    """
    shares = np.zeros((n_shares, usable.size), dtype=np.uint8)
    for own, features in zip(shares, np.array_split(np.flatnonzero(usable), n_shares), strict=True):
        own[features] = 1
    return list(shares)


@dataclass(frozen=True)
class FeatureShare(BinnedData):
    """A table with all rows and columns, but with tiles and histograms of some features only.

    Its ``usable`` features are those of this process.

    Attributes
    ----------
    all_usable : ndarray of uint8
        The usable features of all processes.
    most_bins : int
        The bins of the process that has the most.
    has_entries : bool
        Whether any process has sparse features that are in no column.
    """

    all_usable: np.ndarray
    most_bins: int
    has_entries: bool

    @classmethod
    def take(cls, data: BinnedData | PagedData, peers: Peers, team: Team) -> Self:
        """Return the table of this process; all have the same ``data``."""
        shares = divide_features(data.usable, peers.size)
        own = shares[peers.rank]
        if isinstance(data, PagedData):
            table, narrow = data.head.table, _join_pages(data, own, team)
        else:
            table, narrow = data.table, _narrow(data, own, team)
        n_bins = np.diff(table.bin_start)
        most_bins = max(int(n_bins[share != 0].sum()) for share in shares)
        has_entries = table.bundles.members.size > 0
        return cls(narrow.table, own, data.usable, most_bins, has_entries)


def _narrow(data: BinnedData, own: np.ndarray, team: Team) -> BinnedData:
    """Copy the tiles of some features."""
    if type(data) is not BinnedData:
        raise ParameterError(
            "parallel='feature' divides features that are binned once: choose splits='histogram', "
            "or parallel='data'"
        )
    return SampledTable(data, team).take(own, 0, data.n_rows)


def _join_pages(data: PagedData, own: np.ndarray, team: Team) -> BinnedData:
    """Put all pages into one table, with tiles of some features."""
    columns = [page.data.table.columns for page in data.pages] or [data.head.table.columns]
    joined = columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)
    has_categories = data.categories.place.size > 0
    return BinnedData.from_columns(
        joined,
        data.n_value_bins,
        team,
        categories=data.categories if has_categories else None,
        usable=own,
    )
