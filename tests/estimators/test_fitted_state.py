import inspect

import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from sumwise.estimators.fitted_state import fit_as_a_whole, forget_fit


class Halfway(BaseEstimator):
    """Sets one attribute, and fails before the next if told to."""

    def __init__(self, fails=False):
        self.fails = fails

    @fit_as_a_whole
    def fit(self, X, y, sample_weight=None):
        """Fit."""
        self.first_ = y
        if self.fails:
            raise self.fails
        self.second_ = y
        return self


@pytest.mark.parametrize("error", [ValueError("bad"), KeyboardInterrupt()])
def test_a_fit_that_fails_leaves_nothing(error):
    model = Halfway().fit(None, 1)
    assert (model.first_, model.second_) == (1, 1)
    model.set_params(fails=error)
    with pytest.raises(type(error)):
        model.fit(None, 2)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    assert not hasattr(model, "second_")


def test_what_is_no_result_of_a_fit_stays():
    with sklearn.config_context(enable_metadata_routing=True):
        model = Halfway().set_fit_request(sample_weight=True).fit(None, 1)
    model._private = 1
    forget_fit(model)
    assert set(vars(model)) == {"fails", "_metadata_request", "_private"}


def test_signature_and_docstring_stay():
    assert list(inspect.signature(Halfway.fit).parameters) == ["self", "X", "y", "sample_weight"]
    assert Halfway.fit.__doc__ == "Fit."
