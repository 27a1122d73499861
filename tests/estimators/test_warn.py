"""Warnings point at the line of the user, however deep the call went."""

import numpy as np
import pytest

from sumwise import RandomForestRegressor
from sumwise.errors import DataWarning
from sumwise.estimators.warn import warn_user


def test_a_warning_points_at_the_line_of_the_user():
    X = np.random.default_rng(0).normal(size=(30, 2))
    forest = RandomForestRegressor(2, oob_score=True, random_state=0)
    with pytest.warns(DataWarning) as of_a_fit:
        forest.fit(X, X[:, 0])
    with pytest.warns(DataWarning) as direct:
        warn_user("why", DataWarning)
    assert {warning.filename for warning in (*of_a_fit, *direct)} == {__file__}
    assert direct[0].lineno > of_a_fit[0].lineno
