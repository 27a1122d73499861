import numpy as np
import pytest

from sumwise.data.binning import BinMapper
from sumwise.data.paged import Page, PagedData
from sumwise.errors import ParameterError
from sumwise.kernels.runtime.threads import Team
from sumwise.sampling import Columns
from sumwise.tree import (
    FeatureGrower,
    GrowthSettings,
    PagedGrower,
    Parallel,
    TreeGrower,
    VotingGrower,
)
from sumwise.tree.growers import make_grower
from tests.threaded_peers import run_together


def test_the_table_decides_which_grower_serves_it():
    X = np.random.default_rng(0).normal(size=(60, 3))
    with Team(1) as team:
        mapper = BinMapper.fit(X)
        whole = mapper.transform(X, team)
        paged = PagedData([Page(0, whole)], whole.table.n_value_bins, whole.usable)
        shared = (mapper, GrowthSettings(), Columns(), 60, team)
        assert type(make_grower(whole, *shared)) is TreeGrower
        assert type(make_grower(paged, *shared)) is PagedGrower
        voting = make_grower(paged, *shared, parallel=Parallel("voting", 2))
        assert type(voting) is VotingGrower
        assert voting._poll.features.shape[1] == 2
        assert type(make_grower(whole, *shared, parallel=Parallel("voting"))) is TreeGrower
        alone = Parallel("feature")
        assert type(make_grower(whole, *shared, parallel=alone)) is TreeGrower
        assert type(make_grower(paged, *shared, parallel=alone)) is PagedGrower

        def work(peers):
            parallel = Parallel("feature", peers=peers)
            with pytest.raises(ParameterError, match="needs all rows in every process"):
                make_grower(paged, *shared, peers=peers, parallel=parallel)
            return [type(make_grower(data, *shared, parallel=parallel)) for data in (whole, paged)]

        assert run_together(2, work) == [[FeatureGrower] * 2] * 2
