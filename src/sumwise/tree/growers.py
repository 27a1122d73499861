"""Which grower serves a table."""

from sumwise.data.binned import BinnedData
from sumwise.data.binning import BinMapper
from sumwise.data.paged import PagedData
from sumwise.kernels.runtime.threads import Team
from sumwise.peers import ALONE, Peers
from sumwise.sampling.columns import Columns
from sumwise.tree.grower import TreeGrower
from sumwise.tree.growth import GrowthSettings


def make_grower(
    data: BinnedData | PagedData,
    mapper: BinMapper,
    settings: GrowthSettings,
    columns: Columns,
    n_rows: int,
    team: Team,
    peers: Peers = ALONE,
) -> TreeGrower:
    """Return what grows trees on up to ``n_rows`` rows of a table; ``peers`` have the others."""
    if not isinstance(data, PagedData):
        return TreeGrower(data, mapper, settings, columns, n_rows, team)
    from sumwise.tree.paged_grower import PagedGrower  # few fits need it

    return PagedGrower(data, mapper, settings, columns, n_rows, team, peers=peers)
