import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sumwise.compat.base import CompatRegressor, FitPlan, make_init, refuse_native
from sumwise.compat.evaluation import Evaluation
from sumwise.compat.table import Table, direct, joint
from sumwise.errors import ParameterError, UnknownParameterError
from sumwise.estimators.fitted_state import starting_anew

TABLE = Table("Other", [direct("rounds", 3, "n_estimators", "n_rounds"), joint("depth", 2, "-")])
SIGNATURE = {"rounds": 3}


class Regressor(CompatRegressor):
    _table = TABLE
    _signature = SIGNATURE
    __init__ = make_init("Regressor", TABLE, SIGNATURE, by_position=True)

    def fit(self, X, y, best_round=None, keeps_all=False):
        with starting_anew(self):
            params = TABLE.convert(self._resolve()) | {"learning_rate": 0.5}
            model = self._train(FitPlan(params, X, y, Evaluation([], [])))
            self._keep(model, best_round, keeps_all)
        return self


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).normal(size=(200, 2))
    return X, X[:, 0]


def test_the_constructor_takes_every_name_and_shows_its_own():
    model = Regressor(5, depth=4)
    assert model.get_params() == {"rounds": 5, "depth": 4}
    assert clone(model).get_params() == model.get_params()
    assert list(inspect.signature(Regressor).parameters) == ["rounds"]
    assert model.set_params(n_rounds=6).get_params()["n_rounds"] == 6
    with pytest.raises(UnknownParameterError, match="did you mean 'depth'"):
        Regressor(deph=3)
    with pytest.raises(UnknownParameterError, match="did you mean 'rounds'"):
        model.set_params(round=3)
    with pytest.raises(ParameterError, match="pass parameters by name"):
        Regressor(1, 2)


def test_a_model_ends_with_its_best_round_or_predicts_with_it(data):
    X, y = data
    cut, kept = Regressor().fit(X, y, 2), Regressor().fit(X, y, 2, keeps_all=True)
    assert (cut.model_.best_iteration_, kept.model_.best_iteration_) == (2, 3)
    for method in ("_raw", "_mean", "_labels", "_leaves", "_contributions"):
        np.testing.assert_array_equal(getattr(cut, method)(X), getattr(kept, method)(X))
    assert kept._raw(X, 3).shape == (200,)
    assert kept._model.best_iteration_ == 2


def test_contributions_add_up(data):
    X, y = data
    model = Regressor().fit(X, y)
    np.testing.assert_allclose(model._contributions(X).sum(axis=1), model._mean(X))


def test_a_fit_that_fails_leaves_nothing(data):
    X, y = data
    model = Regressor().fit(X, y)
    with pytest.raises(ParameterError, match=r"n_estimators=0.*n_estimators is set by rounds"):
        model.set_params(rounds=0).fit(X, y)
    with pytest.raises(NotFittedError):
        model._mean(X)
    assert not hasattr(model, "n_features_in_")
    with pytest.raises(ValueError, match="inconsistent numbers"):
        Regressor().fit(X, y[:5])


def test_other_names_of_a_library_are_refused_with_a_hint():
    refuse = refuse_native("Other", "sumwise.compat.other", {"train": "use Regressor"})
    with pytest.raises(AttributeError, match="has no train: use Regressor"):
        refuse("train")
    with pytest.raises(AttributeError, match=r"see docs/migration/from_other\.md"):
        refuse("anything")
