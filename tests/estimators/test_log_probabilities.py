"""LogProbabilitiesMixin: predict_log_proba follows predict_proba."""

import numpy as np
import pytest
from sklearn.utils.metaestimators import available_if

from sumwise.estimators.log_probabilities import LogProbabilitiesMixin


class Halves(LogProbabilitiesMixin):
    is_sure = True

    @available_if(lambda self: self.is_sure)
    def predict_proba(self, X):
        return np.array([[0.5, 0.5, 0.0]])


def test_logarithms_of_the_probabilities():
    expected = [[np.log(0.5), np.log(0.5), -np.inf]]
    np.testing.assert_array_equal(Halves().predict_log_proba(None), expected)


def test_without_probabilities_there_are_no_logarithms():
    model = Halves()
    model.is_sure = False
    assert not hasattr(model, "predict_log_proba")
    with pytest.raises(AttributeError, match="predict_log_proba"):
        model.predict_log_proba(None)
