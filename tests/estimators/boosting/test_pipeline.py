"""The steps of a fit: rows held out for early stopping."""

import numpy as np
import pytest

from sumwise import GradientBoostingClassifier, GradientBoostingRegressor, Subsample
from sumwise.errors import DataError, TrainingError
from tests.estimators.boosting.fits import X, Y, raw_of

# Early stopping


STOPPING = {"early_stopping": True, "n_estimators": 200, "learning_rate": 0.5, "random_state": 0}


def test_early_stopping_keeps_the_best_round(fit):
    model = fit(**STOPPING, n_iter_no_change=4)
    losses = model.history_["validation_loss"]
    assert list(model.history_) == ["validation_loss"]
    assert model.best_iteration_ == losses.argmin() + 1
    assert model.n_trees_ == model.best_iteration_ * fit.loss.n_outputs
    assert len(losses) == model.best_iteration_ + 4 < 200
    assert len(list(model.staged_predict(X))) == model.best_iteration_


def test_early_stopping_measures_the_held_out_rows(fit, seen_rows):
    weight = np.random.default_rng(1).uniform(0.5, 2, len(X))
    weight[::7] = 0
    model = fit(**STOPPING, sample_weight=weight, validation_fraction=0.25)
    (rows,) = seen_rows
    assert np.intersect1d(rows.train, rows.valid).size == 0
    assert np.array_equal(np.union1d(rows.train, rows.valid), np.flatnonzero(weight))
    assert rows.valid.size == np.ceil(0.25 * np.count_nonzero(weight))
    losses = [
        fit.loss.value(fit.target, raw_of(model.truncate(n_rounds), X), weight, rows.valid)
        for n_rounds in range(1, model.best_iteration_ + 1)
    ]
    assert model.history_["validation_loss"][: model.best_iteration_].tolist() == losses


def test_early_stopping_is_deterministic(fit, bytes_of):
    first, again, other = (
        fit(**{**STOPPING, "random_state": seed}, sampler=Subsample()) for seed in (0, 0, 1)
    )
    assert bytes_of(first) == bytes_of(again)
    assert bytes_of(first) != bytes_of(other)


def test_patience_only_says_when_to_stop():
    impatient, patient = (
        GradientBoostingRegressor(**STOPPING, n_iter_no_change=n).fit(X, Y) for n in (1, 30)
    )
    n_rounds = len(impatient.history_["validation_loss"])
    assert n_rounds == impatient.best_iteration_ + 1
    same = patient.history_["validation_loss"][:n_rounds]
    assert np.array_equal(impatient.history_["validation_loss"], same)
    prefix = patient.truncate(impatient.best_iteration_)
    assert np.array_equal(impatient.predict(X), prefix.predict(X))


def test_too_few_rounds_to_stop():
    model = GradientBoostingRegressor(**{**STOPPING, "n_estimators": 3}).fit(X, Y)
    assert model.history_["validation_loss"].size == 3
    assert model.best_iteration_ <= 3


def test_the_first_of_equal_rounds_is_kept():
    constant = np.ones((len(X), 1))
    model = GradientBoostingRegressor(**STOPPING, n_iter_no_change=3).fit(constant, Y)
    assert model.best_iteration_ == 1
    assert np.unique(model.history_["validation_loss"].round(12)).size == 1
    assert model.history_["validation_loss"].size <= 4


def test_held_out_rows_have_the_shares_of_the_classes(seen_rows):
    y = np.repeat(["a", "b", "c"], [100, 40, 10])
    GradientBoostingClassifier(**STOPPING, validation_fraction=0.2).fit(X, y)
    (rows,) = seen_rows
    assert np.bincount(rows.target[rows.valid].astype(int)).tolist() == [20, 8, 2]


@pytest.mark.parametrize("n_rare", [1, 2, 3])
def test_early_stopping_with_a_rare_class(n_rare, seen_rows):
    y = np.zeros(len(X), dtype=int)
    y[:70] = 1
    y[70 : 70 + n_rare] = 2
    model = GradientBoostingClassifier(**{**STOPPING, "n_estimators": 5}).fit(X, y)
    (rows,) = seen_rows
    if n_rare > 1:
        assert 2 in rows.target[rows.train]
    assert model.classes_.tolist() == [0, 1, 2]
    assert np.isfinite(model.predict_proba(X)).all()


def test_early_stopping_with_more_classes_than_held_out_rows():
    y = np.repeat(np.arange(15), 10)
    params = {**STOPPING, "n_estimators": 2, "validation_fraction": 0.02}
    model = GradientBoostingClassifier(**params).fit(X, y)
    assert model.predict_proba(X).shape == (150, 15)


def test_early_stopping_needs_a_row_to_hold_out():
    model = GradientBoostingRegressor(early_stopping=True)
    with pytest.raises(DataError, match="leave none to train on"):
        model.fit(X[:1], Y[:1])
    with pytest.raises(DataError, match="leave none to train on"):
        model.fit(X, Y, sample_weight=np.arange(len(X)) == 3)
    assert model.fit(X[:2], Y[:2]).n_trees_ >= 1


def test_early_stopping_needs_a_row_to_train_on():
    model = GradientBoostingRegressor(early_stopping=True, validation_fraction=0.99)
    with pytest.raises(DataError, match="validation_fraction"):
        model.fit(X[:2], Y[:2])


@pytest.mark.parametrize(("size", "weight"), [(1e154, 1.0), (1e204, 1e-100), (2e178, 1e-50)])
def test_early_stopping_where_the_loss_overflows(size, weight):
    # A single loss is finite, their sum is not, so that no round is better than another.
    y = size * np.random.default_rng(0).choice([-1, 1], len(X))
    model = GradientBoostingRegressor(**STOPPING)
    with pytest.raises(TrainingError, match=r"large|not a number|not finite"):
        model.fit(X, y, np.full(len(X), weight))


def test_without_early_stopping_nothing_is_recorded(fit):
    model = fit()
    assert model.history_ == {}
    assert model.best_iteration_ == 6
