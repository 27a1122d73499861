import pytest

from sumwise.errors import ParameterError
from sumwise.peers import ALONE
from sumwise.tree import Parallel
from sumwise.tree.parallel import DATA


def test_defaults():
    assert (DATA.kind, DATA.top_k, DATA.peers) == ("data", 20, ALONE)
    assert Parallel("voting", 3) == Parallel(kind="voting", top_k=3)


def test_an_unknown_kind_is_an_error():
    with pytest.raises(ParameterError, match="parallel='rows' must be one of data, voting, feat"):
        Parallel("rows")


@pytest.mark.parametrize("top_k", [0, -1, 2.0, True, "5", None])
def test_votes_are_for_one_feature_at_least(top_k):
    with pytest.raises(ParameterError, match="must be an integer of at least 1"):
        Parallel("voting", top_k)
