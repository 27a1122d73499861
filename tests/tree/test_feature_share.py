"""Tables of which a process sums only some features."""

import numpy as np
import pytest

from sumwise.data.binned import BinnedData
from sumwise.data.binning import BinMapper
from sumwise.data.bundling import Bundling
from sumwise.data.quantiles import QuantileData
from sumwise.data.sparse import SparseMatrix
from sumwise.errors import ParameterError
from sumwise.kernels.runtime.threads import Team
from sumwise.tree.feature_share import FeatureShare, divide_features
from tests.tree.test_paged_grower import make_categories, make_table
from tests.tree.test_sampled_table import make_one_hot


class Peer:
    def __init__(self, rank, size):
        self.rank, self.size = rank, size


def take_all(data, n_peers, team):
    return [FeatureShare.take(data, Peer(rank, n_peers), team) for rank in range(n_peers)]


@pytest.mark.parametrize("n_shares", [1, 2, 3, 9])
def test_every_usable_feature_has_one_owner(n_shares):
    usable = np.array([1, 0, 1, 1, 1, 0, 1, 1], dtype=np.uint8)
    shares = divide_features(usable, n_shares)
    assert len(shares) == n_shares
    assert sum(shares).tolist() == usable.tolist()
    sizes = [int(own.sum()) for own in shares]
    assert max(sizes) - min(sizes) <= 1
    owned = np.concatenate([np.flatnonzero(own) for own in shares])
    assert (np.diff(owned) > 0).all()  # neighbors stay together


@pytest.mark.parametrize("make", [make_table, make_categories])
@pytest.mark.parametrize("is_paged", [False, True])
def test_only_own_features_have_lanes_and_histograms(make, is_paged):
    table = make(2, 300)
    with Team(2) as team:
        whole = table.make_whole(team)
        shares = take_all(table.cut([100], team) if is_paged else whole, 3, team)
    for own in shares:
        assert sorted(own.table.lanes.members) == np.flatnonzero(own.usable).tolist()
        n_bins = np.diff(own.table.bin_start)
        assert np.array_equal(n_bins, np.where(own.usable, whole.table.n_value_bins + 1, 0))
        assert own.table.columns.tolist() == whole.table.columns.tolist()
        assert own.all_usable.tolist() == whole.usable.tolist()
    bins = [int(own.table.bin_start[-1]) for own in shares]
    assert {own.most_bins for own in shares} == {max(bins)}


def test_a_single_page_is_not_copied():
    table = make_table(1)
    with Team(1) as team:
        data = table.cut([], team)
        own = FeatureShare.take(data, Peer(0, 2), team)
        assert own.table.columns is data.pages[0].data.table.columns


def test_all_know_whether_there_are_entries():
    matrix = SparseMatrix(make_one_hot(np.random.default_rng(1))[0], 0.0)
    with Team(1) as team:
        mapper = BinMapper.fit(matrix, team=team)
        data = mapper.transform(matrix, team, bundling=Bundling())
        shares = take_all(data, 2, team)
        few = take_all(make_table(1).make_whole(team), 2, team)
    assert {own.has_entries for own in shares} == {data.table.bundles.members.size > 0} == {True}
    assert {own.has_entries for own in few} == {False}
    n_stored = [own.table.bundles.members.size for own in shares]
    assert sum(n_stored) == data.table.bundles.members.size
    assert 0 in n_stored


def test_bins_of_single_trees_are_refused():
    with Team(1) as team:
        data = make_table(1).make_whole(team)
        new_bins = QuantileData.__new__(QuantileData)
        new_bins.__dict__.update(vars(data))
        assert isinstance(new_bins, BinnedData)
        with pytest.raises(ParameterError, match="choose splits='histogram', or parallel='data'"):
            FeatureShare.take(new_bins, Peer(0, 2), team)
