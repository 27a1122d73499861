"""What devices know of categorical features."""

import numpy as np

from sumwise.data.binning import BinMapper
from sumwise.data.categories.set_splits import Native
from sumwise.data.device_binning import make_device_tables
from sumwise.kernels.runtime.threads import Team


def test_tables_know_their_categories(device):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5))
    X[:, 1] = rng.integers(0, 3, 500)
    X[:, 2] = 4.0  # of one category, so it cannot be split
    X[:, 4] = rng.integers(0, 40, 500)
    native = Native(smoothing=12.0, onehot_limit=3)
    n_categories = np.array([0, 3, 9, 0, 40])
    with Team(1) as team:
        mapper = BinMapper.fit(X, team=team, n_categories=n_categories, native=native)
        expected = mapper.transform(X, team).table.categories
        (table,) = make_device_tables([device], mapper, [X], team)
        own = table.categories
    assert own is not None
    np.testing.assert_array_equal(own.category_place.to_host(), [-1, 0, 1, -1, 2])
    np.testing.assert_array_equal(own.set_lanes.to_host(), [1, 3])
    np.testing.assert_array_equal(own.n_choices.to_host(), expected.n_choices)
    np.testing.assert_array_equal(own.one_hot.to_host(), expected.one_hot)
    np.testing.assert_array_equal(own.known.codes, expected.codes)
    assert expected.one_hot.tolist() == [1, 1, 0]
    assert 1 < expected.n_choices[2] < 41  # some categories are too rare
    assert (own.n_categorical, own.n_set_lanes) == (3, 2)


def test_tables_without_categories(device):
    X = np.random.default_rng(1).normal(size=(50, 2))
    with Team(1) as team:
        (table,) = make_device_tables([device], BinMapper.fit(X, team=team), [X], team)
    assert table.categories is None
