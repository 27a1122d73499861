"""Column sampling: parameters. What it draws is tested with the grower."""

import numpy as np
import pytest

from sumwise.errors import ParameterError
from sumwise.sampling import Columns


def test_defaults_draw_all():
    assert Columns().get_params() == {"by_tree": 1.0, "by_level": 1.0, "by_node": 1.0}
    Columns().check()


@pytest.mark.parametrize("value", [1, 0.5, 1e-9, np.float32(0.25), np.float64(1.0)])
def test_rates_are_accepted(value):
    Columns(by_tree=value, by_level=value, by_node=value).check()


@pytest.mark.parametrize("name", ["by_tree", "by_level", "by_node"])
@pytest.mark.parametrize("value", [0, -0.5, 1.0001, np.nan, np.inf, True, "half", None, [0.5]])
def test_what_is_no_rate_is_refused(name, value):
    with pytest.raises(ParameterError, match=rf"Columns\({name}="):
        Columns(**{name: value}).check()
