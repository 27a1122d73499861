"""Extremely randomized trees: cuts between neighboring and huge numbers."""

import numpy as np
import pytest

from sumwise import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
)

FLOATS = {
    "neighbors": 1.0 + np.finfo(float).eps * np.arange(40),
    "subnormal": 5e-324 * np.arange(40),
    "limits": np.linspace(-1, 1, 40) * np.finfo(float).max,
    "infinities": np.repeat([-np.inf, -1.0, 1.0, np.inf], 10),
}


# --- extreme numbers ---


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", list(FLOATS))
@pytest.mark.parametrize("kind", ["number", "two", "three"])
def test_random_cuts_of_neighboring_and_huge_numbers(name, kind):
    X = FLOATS[name][:, np.newaxis]
    place = np.arange(40) // 10
    if kind == "number":
        model, y = ExtraTreesRegressor(30, random_state=0), place.astype(float)
    else:
        model, y = (
            ExtraTreesClassifier(30, random_state=0),
            np.minimum(place, int(kind == "three") + 1),
        )
    model.fit(X, y)
    assert np.isfinite(model.forest_.gain).all()
    assert model.feature_importances_.tolist() == [1.0]
    assert model.score(X, y) == 1.0
