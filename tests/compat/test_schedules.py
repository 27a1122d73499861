import pytest

from sumwise.compat.schedules import make_schedule
from sumwise.errors import ParameterError


def test_functions_and_lists_give_a_rate_per_round():
    assert make_schedule(lambda k: 0.5**k, 3) == [1.0, 0.5, 0.25]
    assert make_schedule((1, 0.5, 0.1), 2) == [1.0, 0.5, 0.1]
    with pytest.raises(ParameterError, match="has 1 entries for 2 rounds"):
        make_schedule([0.1], 2)
