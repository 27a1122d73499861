"""The pool of histograms: it may be small, but for symmetric trees."""

import pytest

from sumwise.errors import ParameterError
from sumwise.tree import workspace
from tests.naive import grow as naive
from tests.tree.test_grower import assert_equal_bytes, grow_compiled, make_problem


@pytest.mark.parametrize("growth", ["leaf", "depth"])
@pytest.mark.parametrize("n_bytes", [1, 50_000])
def test_a_small_pool_changes_no_bit(growth, n_bytes, monkeypatch):
    problem = make_problem(3, n_features=18)
    options = naive.GrowOptions(growth=growth, max_leaves=30, min_samples_leaf=3, l2=1.0)
    large = [grow_compiled(*problem, options, n, 10**9)[0] for n in (1, 2)]
    assert large[0].n_leaves > 20
    monkeypatch.setattr(workspace, "_POOL_BYTES", n_bytes)
    for n_threads in (1, 2, 4):
        tree, _ = grow_compiled(*problem, options, n_threads, 10**9)
        assert_equal_bytes(tree, large[0])
    assert_equal_bytes(large[1], large[0])


def test_symmetric_growth_needs_its_histograms(monkeypatch):
    monkeypatch.setattr(workspace, "_SYMMETRIC_POOL_BYTES", 1000)
    options = naive.GrowOptions(growth="symmetric", max_depth=6)
    with pytest.raises(ParameterError, match="GiB of histograms; lower max_depth"):
        grow_compiled(*make_problem(0), options, 1, 0)
