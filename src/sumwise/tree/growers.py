"""Which grower serves a table, and how processes share the work."""

from sumwise.data.binned import BinnedData
from sumwise.data.binning import BinMapper
from sumwise.data.paged import PagedData
from sumwise.errors import ParameterError
from sumwise.kernels.runtime.threads import Team
from sumwise.peers import ALONE, Peers
from sumwise.sampling.columns import Columns
from sumwise.tree.grower import TreeGrower
from sumwise.tree.growth import GrowthSettings
from sumwise.tree.parallel import DATA, Parallel


def make_grower(
    data: BinnedData | PagedData,
    mapper: BinMapper,
    settings: GrowthSettings,
    columns: Columns,
    n_rows: int,
    team: Team,
    peers: Peers = ALONE,
    parallel: Parallel = DATA,
) -> TreeGrower:
    """Return what grows trees on up to ``n_rows`` rows of a table; ``peers`` have the others.

    Where processes share the features, each has all rows; see :class:`Parallel`.
    """
    if parallel.kind == "feature" and peers.size > 1:
        raise ParameterError(
            "parallel='feature' needs all rows in every process, but each has some of them; give "
            "all rows to all, or choose parallel='data'"
        )
    # Few fits need any other than TreeGrower.
    if parallel.kind == "feature" and parallel.peers.size > 1:
        from sumwise.tree.feature_grower import FeatureGrower

        own = (data, mapper, settings, columns, n_rows, team)
        return FeatureGrower(*own, peers=parallel.peers)
    if not isinstance(data, PagedData):
        return TreeGrower(data, mapper, settings, columns, n_rows, team)
    shared = (data, mapper, settings, columns, n_rows, team)
    if parallel.kind == "voting":
        from sumwise.tree.voting_grower import VotingGrower

        return VotingGrower(*shared, peers=peers, top_k=parallel.top_k)
    from sumwise.tree.paged_grower import PagedGrower

    return PagedGrower(*shared, peers=peers)
