"""Rows drawn with replacement."""

import numpy as np
import pytest

from sumwise.sampling.bootstrap import BootstrapRows
from tests.sampling.sources import assert_sound, make_source, mean_sums


def test_as_many_draws_as_rows():
    for number in range(5):
        source = make_source(2000, number=number)
        drawn = BootstrapRows().draw(source)
        assert_sound(source, drawn)
        assert drawn.factor.sum() == source.rows.size
        assert np.all((drawn.factor >= 1) & (drawn.factor == drawn.factor.round()))
        assert drawn.rows.size / source.rows.size == pytest.approx(1 - np.exp(-1), abs=0.03)


def test_sums_are_right_on_average():
    found, expected, error = mean_sums(BootstrapRows(), 200, {"n_rows": 500})
    assert np.all(np.abs(found - expected) < 4 * error)
