"""What the tests of boosting share."""

import numpy as np
import pytest

from tests.estimators.boosting.fits import FITS, SMALL, X


@pytest.fixture(params=FITS)
def fit(request):
    """A function that fits one kind of model; its target and loss are attributes."""
    kind, options, target, loss = FITS[request.param]

    def fit_model(X=X, y=target, sample_weight=None, init_score=None, **params):
        model = kind(**{**SMALL, **options, **params})
        return model.fit(X, y, sample_weight, init_score)

    fit_model.target, fit_model.loss = target.astype(np.float64), loss
    return fit_model
