"""Out-of-bag rows: predictions, scores, importances, early stopping."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.ensemble
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.metrics import (
    accuracy_score,
    get_scorer,
    log_loss,
    make_scorer,
    mean_squared_error,
    r2_score,
)
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sumwise import (
    BaggingClassifier,
    BaggingRegressor,
    BayesianBootstrap,
    OobStopping,
    Pasting,
    oob_permutation_importance,
)
from sumwise.combine.out_of_bag import average_out_of_bag
from sumwise.errors import DataError, DataWarning, ParameterError
from tests.naive import out_of_bag as naive

X, Y = load_iris(return_X_y=True)
LABELS = np.array(["no", "perhaps", "yes"])[Y]
X_NUMBER, Y_NUMBER = load_diabetes(return_X_y=True)


def find_bags(model, n_rows):
    """Which rows each member has seen."""
    bags = np.zeros((len(model.estimators_), n_rows), dtype=bool)
    for bag, rows in zip(bags, model.estimators_samples_, strict=True):
        bag[rows] = True
    return bags


@pytest.mark.parametrize(
    "parameters",
    [{}, {"votes": "hard"}, {"sampling": Pasting(0.6)}, {"sampling": "poisson", "max_features": 2}],
)
def test_decision_function_is_that_of_the_definition(parameters):
    model = BaggingClassifier(n_estimators=25, oob_score=True, random_state=0, **parameters)
    model.fit(X, LABELS)
    votes = model.predict_members(X)
    if model.votes_ == "hard":
        votes = (votes[:, :, np.newaxis] == model.classes_).astype(float)
    expected = naive.average_out_of_bag(votes, find_bags(model, 150))
    np.testing.assert_allclose(model.oob_decision_function_, expected)
    clear = np.sort(expected, axis=1)
    clear = clear[:, -1] > clear[:, -2] + 1e-9
    right = model.classes_[expected.argmax(axis=1)] == LABELS
    assert abs(model.oob_score_ - right.mean()) <= np.mean(~clear) + 1e-12
    assert not model.oob_score_is_optimistic_


def test_predictions_of_numbers_are_those_of_the_definition():
    model = BaggingRegressor(n_estimators=25, oob_score=True, random_state=0)
    model.fit(X_NUMBER, Y_NUMBER)
    bags = find_bags(model, len(Y_NUMBER))
    expected = naive.average_out_of_bag(model.predict_members(X_NUMBER), bags)
    np.testing.assert_allclose(model.oob_prediction_, expected)
    assert model.oob_score_ == pytest.approx(r2_score(Y_NUMBER, expected))


def test_arithmetic_is_that_of_sklearn():
    theirs = sklearn.ensemble.BaggingClassifier(n_estimators=30, oob_score=True, random_state=0)
    theirs.fit(X, Y)
    votes = np.stack([member.predict_proba(X) for member in theirs.estimators_])
    found = average_out_of_bag(votes, find_bags(theirs, 150))
    np.testing.assert_allclose(found, theirs.oob_decision_function_)


def test_score_estimates_that_of_new_rows():
    rows, y = make_classification(2000, flip_y=0.2, random_state=0)
    model = BaggingClassifier(n_estimators=40, oob_score=True, random_state=0)
    model.fit(rows[:600], y[:600])
    assert model.oob_score_ == pytest.approx(model.score(rows[600:], y[600:]), abs=0.05)
    assert model.score(rows[:600], y[:600]) > model.oob_score_ + 0.1


def test_rows_that_are_never_out_of_bag():
    model = BaggingClassifier(n_estimators=2, oob_score=True, random_state=0)
    with pytest.warns(DataWarning, match="of 150 rows are in the bag of every member") as caught:
        model.fit(X, Y)
    in_all = find_bags(model, 150).all(axis=0)
    n_missing = int(in_all.sum())
    assert f"{n_missing} of 150" in str(caught[0].message)
    np.testing.assert_array_equal(np.isnan(model.oob_decision_function_).all(axis=1), in_all)
    assert 0.7 < model.oob_score_ <= 1


def test_no_row_is_out_of_any_bag():
    model = BaggingRegressor(n_estimators=2, max_samples=5000, oob_score=True, random_state=0)
    with pytest.warns(DataWarning, match="150 of 150 rows"):
        model.fit(X, Y)
    assert np.isnan(model.oob_score_)
    assert np.isnan(model.oob_prediction_).all()


@pytest.mark.parametrize(
    "scoring", ["neg_log_loss", get_scorer("roc_auc_ovr"), "accuracy", accuracy_score]
)
def test_scores_of_other_kinds(scoring):
    model = BaggingClassifier(DecisionTreeClassifier(max_depth=2), 30, random_state=0)
    model.set_params(oob_score=scoring).fit(X, LABELS)
    shares = model.oob_decision_function_
    if scoring == "neg_log_loss":
        assert model.oob_score_ == pytest.approx(-log_loss(LABELS, shares))
    else:
        assert 0.85 < model.oob_score_ <= 1


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss"])
def test_scores_of_two_classes_with_names(scoring):
    is_last = Y > 1
    model = BaggingClassifier(n_estimators=25, oob_score=scoring, random_state=0)
    model.fit(X, np.where(is_last, "b", "a"))
    chance = model.oob_decision_function_[:, 1]
    expected = get_scorer(scoring)._score_func(is_last, chance)
    assert abs(model.oob_score_) == pytest.approx(expected)


def test_scores_are_weighted():
    weight = np.where(Y == 2, 5.0, 1.0)
    model = BaggingClassifier(n_estimators=40, oob_score=True, random_state=0).fit(X, Y, weight)
    labels = model.oob_decision_function_.argmax(axis=1)
    assert model.oob_score_ == pytest.approx(np.average(labels == Y, weights=weight), abs=0.02)
    scored = BaggingRegressor(n_estimators=40, oob_score=make_scorer(r2_score), random_state=0).fit(
        X, Y, weight
    )
    expected = r2_score(Y, scored.oob_prediction_, sample_weight=weight)
    assert scored.oob_score_ == pytest.approx(expected)


def test_old_scores_do_not_stay():
    model = BaggingClassifier(n_estimators=20, oob_score=True, random_state=0).fit(X, Y)
    model.set_params(oob_score=False).fit(X, Y)
    assert not hasattr(model, "oob_score_")
    assert not hasattr(model, "oob_decision_function_")


# --- importances ---


@pytest.fixture(scope="module")
def informative():
    rows, y = make_classification(
        300, 5, n_informative=2, n_redundant=0, shuffle=False, class_sep=1.5, random_state=0
    )
    return rows, y


@pytest.mark.parametrize(
    "model",
    [
        BaggingClassifier(n_estimators=20, random_state=0),
        BaggingClassifier(n_estimators=30, max_features=3, random_state=0),
        BaggingRegressor(n_estimators=20, random_state=0),
        sklearn.ensemble.BaggingClassifier(n_estimators=20, random_state=0),
        sklearn.ensemble.RandomForestClassifier(n_estimators=20, random_state=0),
    ],
    ids=lambda model: f"{type(model).__module__.split('.')[0]} {type(model).__name__}",
)
def test_importances_find_the_informative_features(model, informative):
    rows, y = informative
    result = oob_permutation_importance(model.fit(rows, y), rows, y, random_state=0)
    assert result.importances.shape == (5, len(model.estimators_))
    assert set(result.importances_mean.argsort()[-2:]) == {0, 1}
    assert result.importances_mean[:2].min() > 5 * abs(result.importances_mean[2:]).max()


def test_importances_by_definition(informative):
    rows, y = informative
    model = BaggingClassifier(n_estimators=3, random_state=0).fit(rows, y)
    result = model.oob_permutation_importance(rows, y, n_repeats=2, random_state=5)
    seeds = np.random.RandomState(5).randint(np.iinfo(np.int32).max, size=3)
    for number, (member, bag) in enumerate(
        zip(model.estimators_, find_bags(model, 300), strict=True)
    ):
        draws, out = np.random.RandomState(seeds[number]), rows[~bag]
        right = (member.predict(out) == y[~bag]).mean()
        for feature in range(5):
            drops = []
            for _ in range(2):
                shuffled = out.copy()
                shuffled[:, feature] = out[draws.permutation(len(out)), feature]
                drops.append(right - (member.predict(shuffled) == y[~bag]).mean())
            assert result.importances[feature, number] == pytest.approx(np.mean(drops))


@pytest.mark.parametrize("kind", ["pandas", "polars", "sparse", "list"])
def test_importances_of_all_kinds_of_tables(kind, informative):
    rows, y = informative
    names = list("abcde")
    table = {
        "pandas": lambda: pd.DataFrame(rows, columns=names, index=np.arange(300)[::-1]),
        "polars": lambda: pl.DataFrame(rows, schema=names),
        "sparse": lambda: sparse.csr_matrix(rows),
        "list": rows.tolist,
    }[kind]()
    tree = DecisionTreeClassifier() if kind == "sparse" else None
    model = BaggingClassifier(tree, n_estimators=3, max_features=4, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = oob_permutation_importance(model.fit(table, y), table, y, random_state=0)
        expected = oob_permutation_importance(model.fit(rows, y), rows, y, random_state=0)
    np.testing.assert_allclose(found.importances, expected.importances)


def test_importances_do_not_depend_on_jobs(informative):
    rows, y = informative
    model = BaggingClassifier(n_estimators=4, random_state=0).fit(rows, y)
    one, two = (
        oob_permutation_importance(model, rows, y, n_jobs=n_jobs, random_state=0)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.importances, two.importances)


def test_importances_need_rows_out_of_bags(informative):
    rows, y = informative
    model = BaggingClassifier(n_estimators=2, sampling=BayesianBootstrap()).fit(rows, y)
    with pytest.raises(DataError, match="no member of BaggingClassifier has out-of-bag rows"):
        oob_permutation_importance(model, rows, y)
    with pytest.raises(DataError, match="does not tell which rows"):
        oob_permutation_importance(LogisticRegression().fit(rows, y), rows, y)
    with pytest.raises(ParameterError, match="n_repeats=0"):
        oob_permutation_importance(model, rows, y, n_repeats=0)


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


def test_metrics_are_given_the_weights_that_they_take():
    X, y = load_diabetes(return_X_y=True)
    weight = np.random.RandomState(0).uniform(0.5, 2.0, len(y))

    def fit(score):
        return BaggingRegressor(n_estimators=30, oob_score=score, random_state=0).fit(X, y, weight)

    model = fit(mean_squared_error)
    rows = np.isfinite(model.oob_prediction_)
    expected = mean_squared_error(y[rows], model.oob_prediction_[rows], sample_weight=weight[rows])
    assert model.oob_score_ == pytest.approx(expected)
    assert fit("neg_mean_squared_error").oob_score_ == pytest.approx(-expected)
    worst = np.abs(y - model.oob_prediction_)[rows].max()
    for score in ("neg_max_error", lambda y, p: -np.abs(y - p).max()):  # neither takes weights
        assert fit(score).oob_score_ == pytest.approx(-worst)


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
