"""Warnings point at the line of the user, however deep the call went."""

import warnings

import numpy as np
import pandas as pd
import pytest

from sumwise import GradientBoostingRegressor, RandomForestRegressor
from sumwise.errors import DataWarning
from sumwise.estimators.warn import warn_nothing, warn_user


def test_a_warning_points_at_the_line_of_the_user():
    X = np.random.default_rng(0).normal(size=(30, 2))
    forest = RandomForestRegressor(2, oob_score=True, random_state=0)
    with pytest.warns(DataWarning) as of_a_fit:
        forest.fit(X, X[:, 0])
    with pytest.warns(DataWarning) as direct:
        warn_user("why", DataWarning)
    assert {warning.filename for warning in (*of_a_fit, *direct)} == {__file__}
    assert direct[0].lineno > of_a_fit[0].lineno


def test_nothing_is_said_while_it_is_unwanted():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with warn_nothing():
            warn_user("why")
    with pytest.warns(UserWarning, match="why"):
        warn_user("why")


@pytest.mark.parametrize("kind", [GradientBoostingRegressor, RandomForestRegressor])
def test_the_fits_of_folds_do_not_repeat_a_warning(kind):
    X = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=60)})
    model = kind(n_estimators=2, conformal=True, calibration_rows="cv", random_state=0)
    with pytest.warns(DataWarning, match="dates") as record:
        model.fit(X, np.arange(60.0))
    assert len(record) == 1
