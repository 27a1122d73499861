"""Fits of a member on a fold: honest predictions, classes that are missing, and limits of time."""

import numpy as np
import pytest

from sumwise.errors import DataError
from sumwise.estimators.auto import fold_fits
from sumwise.estimators.auto.fold_fits import (
    FitTerms,
    TooSlowError,
    count_trained,
    fit_all,
    fit_fold,
    predict_outputs,
)
from sumwise.estimators.auto.portfolio import BY_NAME
from sumwise.estimators.combined.out_of_fold import Folds
from tests.estimators.auto.samples import FakeClock, make_classes, make_frame, make_terms, read

INF = np.inf
EVERY_KIND = ["leaf_quick", "symmetric_ordered", "forest", "linear", "neighbors"]


def make(is_class, n_rows=120, **options):
    X, y = make_classes(n_rows) if is_class else make_frame(n_rows)
    return make_terms(read(X, y, is_class=is_class), **options)


@pytest.mark.parametrize("is_class", [False, True])
@pytest.mark.parametrize("name", EVERY_KIND)
def test_predictions_are_those_of_the_model(name, is_class):
    terms = make(is_class)
    fit = fit_fold(terms, BY_NAME[name], 0, INF)
    test = terms.folds.test[0]
    assert fit.output.shape == ((test.size, 2) if is_class else (test.size,))
    assert not fit.was_cut
    again = fit_fold(terms, BY_NAME[name], 0, INF)
    np.testing.assert_array_equal(again.output, fit.output)


def test_halves_are_predicted_with_the_rounds_that_are_best_for_the_other():
    terms = make(False)
    recipe = BY_NAME["leaf_quick"]
    fit = fit_fold(terms, recipe, 0, INF)
    test, y = terms.folds.test[0], terms.data.y
    rows = fold_fits._take_shared(terms.data, test)
    losses = fit.model.history_
    assert fit.n_rounds == np.argmin(losses["first_loss"] + losses["second_loss"]) + 1
    by_half = {
        "first": np.argmin(losses["second_loss"]) + 1,
        "second": np.argmin(losses["first_loss"]) + 1,
    }
    full = terms.data.table  # the rounds after the best are not in the model: train them again
    model = fold_fits.make_member(recipe, terms.data, 80, "auto", 1, fit.model.random_state)
    model.set_params(n_estimators=losses["first_loss"].size)._fit_rows(full, terms.folds.train[0])
    for k, name in enumerate(("first", "second")):
        expected = model.predict(rows, rounds=int(by_half[name]))[k::2]
        np.testing.assert_allclose(fit.output[k::2], expected)
    assert np.mean((fit.output - y[test]) ** 2) < np.var(y)


def test_a_table_of_its_own_gives_the_same_model_as_the_shared_one(monkeypatch):
    """Without categories, and with all values in the training rows."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (90, 3)).astype(float)
    terms = make_terms(read(X, X[:, 0] + rng.normal(size=90)))
    recipe = BY_NAME["leaf_quick"]
    shared = fit_fold(terms, recipe, 0, INF)
    monkeypatch.setattr(fold_fits, "is_shared", lambda recipe: False)
    alone = fit_fold(terms, recipe, 0, INF)
    assert shared.n_rounds == alone.n_rounds
    np.testing.assert_array_equal(shared.output, alone.output)


@pytest.mark.parametrize("name", EVERY_KIND)
def test_classes_that_the_training_rows_lack(name):
    frame, _ = make_frame()
    y = np.repeat(["a", "b", "c"], 40)
    data = read(frame, y, is_class=True)
    rows = np.arange(120, dtype=np.uint32)
    for train, test in ((rows[:80], rows[60:]), (rows[:40], rows[60:])):
        folds = Folds([train], [test], 120)
        fit = fit_fold(FitTerms(data, folds, "auto", 0, FakeClock()), BY_NAME[name], 0, INF)
        assert fit.output.shape == (60, 3)
        assert (fit.output[:, 2] == 0.0).all()
        np.testing.assert_allclose(fit.output.sum(axis=1), 1.0)


@pytest.mark.parametrize("name", ["leaf_quick", "symmetric_ordered", "forest", "linear"])
def test_weights_are_used(name):
    frame, y = make_frame()
    weight = np.where(np.arange(120) % 2, 1.0, 1e-3)
    y = np.where(np.arange(120) % 2, 5.0, -5.0)
    terms = make_terms(read(frame, y, sample_weight=weight))
    assert (fit_fold(terms, BY_NAME[name], 0, INF).output > 3.0).mean() > 0.9


def test_few_held_out_rows_do_not_decide_the_rounds():
    terms = make(False, n_rows=30)
    fit = fit_fold(terms, BY_NAME["leaf_quick"], 0, INF)
    assert fit.n_rounds == 60
    assert not fit.model.history_


def test_boosting_stops_when_its_time_is_over():
    clock = FakeClock(step=1.0)
    fit = fit_fold(make(False, clock=clock), BY_NAME["leaf_quick"], 0, 5.0)
    assert fit.was_cut
    assert fit.n_rounds <= 6
    assert np.isfinite(fit.output).all()
    ordered = fit_fold(make(False, clock=clock), BY_NAME["symmetric_ordered"], 0, 5.0)
    assert ordered.was_cut


def test_boosting_stops_when_all_must():
    terms = make(False)
    fit = fit_fold(
        FitTerms(terms.data, terms.folds, "auto", 0, FakeClock(), 1, lambda: True),
        BY_NAME["leaf_quick"],
        0,
        INF,
    )
    assert fit.n_rounds == 1


def test_a_forest_gets_as_many_trees_as_fit():
    # Ten trees take a second by this clock: there is time for 40, less what predictions take.
    fit = fit_fold(make(False, clock=FakeClock(step=1.0)), BY_NAME["forest"], 0, 5.0)
    assert fit.n_rounds == 40
    assert fit.was_cut
    whole = fit_fold(make(False), BY_NAME["forest"], 0, 5.0)  # the clock stands still
    unlimited = fit_fold(make(False), BY_NAME["forest"], 0, INF)
    assert whole.n_rounds == unlimited.n_rounds == 200
    np.testing.assert_array_equal(whole.output, unlimited.output)


def test_other_models_are_not_started_if_they_would_take_too_long(monkeypatch):
    monkeypatch.setattr(fold_fits, "_PROBED_ROWS", 20)
    recipe = BY_NAME["linear"]
    with pytest.raises(TooSlowError):  # a second for 20 rows is four for 80
        fit_fold(make(False, clock=FakeClock(step=1.0)), recipe, 0, 3.9)
    fit_fold(make(False, clock=FakeClock(step=1.0)), recipe, 0, 4.1)
    fit_fold(make(False, clock=FakeClock(step=1.0)), recipe, 0, 3.9, must=True)


def test_predictions_that_are_not_finite_are_an_error(monkeypatch):
    monkeypatch.setattr(
        fold_fits, "predict_outputs", lambda model, X, data: np.full(X.shape[0], np.nan)
    )
    with pytest.raises(DataError, match="not finite"):
        fit_fold(make(False), BY_NAME["linear"], 0, INF)


@pytest.mark.parametrize("name", EVERY_KIND)
def test_a_fit_of_all_rows(name):
    terms = make(True)
    model = fit_all(terms, BY_NAME[name], 13 if name in EVERY_KIND[:3] else 0)
    assert count_trained(model) == (13 if name in EVERY_KIND[:3] else 0)
    X = (
        fold_fits._take_shared(terms.data, np.arange(120))
        if name == "leaf_quick"
        else terms.data.rows.numbers
    )
    found = predict_outputs(model, X, terms.data)
    assert (found.argmax(axis=1) == terms.data.y).mean() > 0.7
