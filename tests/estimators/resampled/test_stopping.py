"""Early stopping of members by the loss on their out-of-bag rows."""

import warnings

import numpy as np
import pytest
import sklearn.ensemble
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.metrics import (
    log_loss,
)
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sumwise import (
    BaggingClassifier,
    BaggingRegressor,
    OobStopping,
)
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.resampled.bagging_recipe import BaggingRecipe
from sumwise.kernels.runtime import random
from tests.naive import random as naive

X, Y = load_iris(return_X_y=True)

LABELS = np.array(["no", "perhaps", "yes"])[Y]

X_NUMBER, Y_NUMBER = load_diabetes(return_X_y=True)


# --- early stopping ---


def test_members_are_kept_at_their_best():
    stopping = OobStopping(patience=3, max_epochs=30, tol=0.0, share=0.5)
    learner = MLPClassifier((8,), learning_rate_init=0.05, batch_size=20)
    model = BaggingClassifier(learner, 3, early_stopping=stopping, random_state=0)
    scaled = StandardScaler().fit_transform(X)
    model.fit(scaled, Y)
    for number, (member, losses) in enumerate(
        zip(model.estimators_, model.oob_losses_, strict=True)
    ):
        assert len(losses) <= 30
        assert len(losses) == 30 or np.argmin(losses) == len(losses) - 4
        drawn = model._recipe.draw_weights(number, 150, None)
        stopped, scored = model._recipe.find_out_of_bag(drawn, number)
        assert np.intersect1d(stopped, scored).size == 0
        np.testing.assert_array_equal(np.sort(np.r_[stopped, scored]), np.flatnonzero(drawn == 0))
        found = log_loss(Y[stopped], member.predict_proba(scaled[stopped]), labels=[0, 1, 2])
        assert found == pytest.approx(min(losses), rel=1e-6)
    assert model.score(scaled, Y) > 0.85


@pytest.mark.parametrize(("share", "n_stopping"), [(0.5, 4), (0.001, 1), (0.999, 8)])
def test_rows_with_the_lowest_hashes_stop_a_member(share, n_stopping):
    recipe = BaggingRecipe(None, 5, {}, True, stopping=OobStopping(share=share))
    drawn = np.array([1, 0, 0, 2, 0, 0, 1, 0, 0, 0, 0])
    out_of_bag = np.flatnonzero(drawn == 0).tolist()
    for number in range(5):
        stopped, scored = recipe.find_out_of_bag(drawn, number)
        key = int(random.make_key(5, random.MEMBER_STOPPING, number))
        assert stopped.tolist() == naive.draw_lowest(key, out_of_bag, n_stopping)
        assert scored.tolist() == np.setdiff1d(out_of_bag, stopped).tolist()
    stopped, scored = recipe.find_out_of_bag(np.ones(3), 0)
    assert stopped.size == scored.size == 0


@pytest.mark.parametrize(("share", "is_optimistic"), [(1.0, True), (0.5, False)])
def test_a_score_of_rows_that_stopped_members_is_flagged(share, is_optimistic):
    model = BaggingClassifier(
        SGDClassifier(loss="log_loss"),
        20,
        early_stopping=OobStopping(patience=2, share=share),
        oob_score=True,
        random_state=0,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(StandardScaler().fit_transform(X), Y)
    assert model.oob_score_is_optimistic_ == is_optimistic
    assert any("it is optimistic" in str(warning.message) for warning in caught) == is_optimistic
    assert model.oob_score_ > 0.8


def test_stopping_by_squared_errors_and_labels():
    scaled = StandardScaler().fit_transform(X_NUMBER)
    model = BaggingRegressor(SGDRegressor(), 3, early_stopping="oob", random_state=0)
    assert (
        model.fit(scaled, Y_NUMBER, np.linspace(1, 2, len(Y_NUMBER))).score(scaled, Y_NUMBER) > 0.4
    )
    labels = BaggingClassifier(SGDClassifier(), 3, early_stopping="oob", random_state=0)
    assert labels.fit(X, LABELS).score(X, LABELS) > 0.6
    for losses in labels.oob_losses_:
        assert all(0 <= loss <= 1 for loss in losses)


def test_stopping_and_warm_start():
    stopping = OobStopping(max_epochs=3)
    whole = BaggingClassifier(SGDClassifier(), 4, early_stopping=stopping, random_state=0)
    whole.fit(X, Y)
    part = BaggingClassifier(
        SGDClassifier(), 2, early_stopping=stopping, random_state=0, warm_start=True
    ).fit(X, Y)
    part.set_params(n_estimators=4).fit(X, Y)
    assert part.oob_losses_ == whole.oob_losses_


class Marked(SGDClassifier):
    """Takes metadata in ``fit`` and ``partial_fit``."""

    def fit(self, X, y, sample_weight=None, mark=None):
        raise NotImplementedError

    def partial_fit(self, X, y, classes=None, sample_weight=None, mark=None):
        self.mark_, self.n_rows_ = mark, len(y)
        return super().partial_fit(X, y, classes=classes, sample_weight=sample_weight)


def test_stopped_members_get_the_metadata_of_their_rows():
    with sklearn.config_context(enable_metadata_routing=True):
        learner = Marked().set_fit_request(mark=True, sample_weight=True)
        model = BaggingClassifier(learner, 2, early_stopping=OobStopping(max_epochs=2))
        model.fit(X, Y, mark=np.arange(150))
    for member, rows in zip(model.estimators_, model.estimators_samples_, strict=True):
        np.testing.assert_array_equal(member.mark_, np.unique(rows))


def test_what_cannot_stop_is_refused():
    with pytest.raises(ParameterError, match="Pipeline has not"):
        BaggingClassifier(make_pipeline(SGDClassifier()), early_stopping="oob").fit(X, Y)
    with pytest.raises(ParameterError, match="leaves no row out"):
        BaggingClassifier(SGDClassifier(), early_stopping="oob", sampling="bayesian").fit(X, Y)
    with pytest.raises(DataError, match="member 0 has no out-of-bag rows"):
        BaggingClassifier(SGDClassifier(), early_stopping="oob", bootstrap=False).fit(X, Y)
    for wrong in (
        OobStopping(patience=0),
        OobStopping(max_epochs=0),
        OobStopping(tol=-1),
        OobStopping(share=0),
    ):
        with pytest.raises(ParameterError, match="OobStopping"):
            BaggingClassifier(SGDClassifier(), early_stopping=wrong).fit(X, Y)


class Sour(SGDRegressor):
    """Its predictions cannot be had after the first epoch."""

    def predict(self, X):
        if self.t_ > 400:
            raise RuntimeError("no loss")
        return super().predict(X)


def test_a_loss_that_fails_leaves_no_model():
    X, y = load_diabetes(return_X_y=True)
    model = BaggingRegressor(SGDRegressor(), 2, early_stopping="oob", random_state=0).fit(X, y)
    with pytest.raises(RuntimeError, match=r"member 0 \(Sour\) failed to fit: no loss"):
        model.set_params(estimator=Sour()).fit(X, y)
    assert not hasattr(model, "estimators_")
    assert not hasattr(model, "oob_losses_")
