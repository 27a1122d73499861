"""Bagging: equal to scikit-learn, jobs and seeds, tables, votes, failures."""

import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.ensemble
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sumwise import (
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingRegressor,
    diversity_matrix,
    member_predictions,
)
from sumwise.errors import DataError, DataWarning, ParameterError
from sumwise.estimators.calibrated.calibration import fit_sigmoid
from sumwise.export.portable import describe
from tests.estimators.resampled.learners import Recorder
from tests.naive.portable import predict_row

X, Y = load_iris(return_X_y=True)

X_NUMBER, Y_NUMBER = load_diabetes(return_X_y=True)


# --- equality with scikit-learn ---


@pytest.mark.parametrize("learner", [GaussianNB(), LogisticRegression(max_iter=500)])
def test_all_rows_are_as_in_sklearn(learner):
    ours = BaggingClassifier(learner, 3, bootstrap=False).fit(X, Y)
    theirs = sklearn.ensemble.BaggingClassifier(learner, 3, bootstrap=False).fit(X, Y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-12)
    np.testing.assert_allclose(
        ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-9, atol=1e-14
    )
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    if hasattr(theirs, "decision_function"):
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X))


@pytest.mark.parametrize("learner", [SVC(), DecisionTreeClassifier(max_depth=2), None])
def test_members_of_sklearn_are_put_together_as_there(learner):
    labels = np.array(["a", "b", "c"])[Y]
    theirs = sklearn.ensemble.BaggingClassifier(learner, 7, max_features=3, random_state=0)
    theirs.fit(X, labels)
    ours = BaggingClassifier(learner, 7, max_features=3).fit(X, labels)
    ours.estimators_ = theirs.estimators_
    ours._list_features = lambda: theirs.estimators_features_
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-12)
    shares = np.sort(theirs.predict_proba(X), axis=1)
    clear = shares[:, -1] > shares[:, -2] + 1e-9
    np.testing.assert_array_equal(ours.predict(X)[clear], theirs.predict(X)[clear])
    if learner is not None and hasattr(learner, "decision_function"):
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X))


def test_regression_of_all_rows_is_as_in_sklearn():
    ours = BaggingRegressor(LinearRegression(), 2, bootstrap=False).fit(X_NUMBER, Y_NUMBER)
    np.testing.assert_allclose(
        ours.predict(X_NUMBER), LinearRegression().fit(X_NUMBER, Y_NUMBER).predict(X_NUMBER)
    )


def test_bagging_is_about_as_good_as_in_sklearn():
    kinds = [BaggingRegressor, sklearn.ensemble.BaggingRegressor]
    scores = [
        cross_val_score(kind(n_estimators=30, random_state=0), X_NUMBER, Y_NUMBER).mean()
        for kind in kinds
    ]
    tree = cross_val_score(DecisionTreeRegressor(random_state=0), X_NUMBER, Y_NUMBER).mean()
    assert scores[0] == pytest.approx(scores[1], abs=0.05)
    assert scores[0] > tree + 0.2


# --- jobs and seeds ---


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_results_do_not_depend_on_jobs(backend):
    models = []
    for n_jobs in (1, 2):
        with joblib.parallel_backend(backend):
            models.append(
                BaggingRegressor(
                    n_estimators=18,
                    max_features=0.6,
                    oob_score=True,
                    n_jobs=n_jobs,
                    perturb={"max_depth": [2, None]},
                    random_state=3,
                ).fit(X_NUMBER, Y_NUMBER)
            )
    one, two = models
    assert one.predict(X_NUMBER).tobytes() == two.predict(X_NUMBER).tobytes()
    assert one.oob_prediction_.tobytes() == two.oob_prediction_.tobytes()


def test_seed_decides():
    first, again, other = (
        BaggingClassifier(n_estimators=3, random_state=seed).fit(X, Y).predict_proba(X)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("learner", [None, DecisionTreeClassifier()])
def test_warm_start_adds_the_members_of_a_longer_fit(learner):
    whole = BaggingClassifier(learner, n_estimators=7, random_state=0, oob_score=True)
    part = clone(whole).set_params(n_estimators=3, warm_start=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows out of no bag
        whole.fit(X, Y)
        part.fit(X, Y)
        old = part.estimators_
        part.set_params(n_estimators=7).fit(X, Y)
    for before, after in zip(old, part.estimators_, strict=False):
        np.testing.assert_array_equal(before.predict(X), after.predict(X))
    np.testing.assert_array_equal(part.predict_proba(X), whole.predict_proba(X))
    np.testing.assert_array_equal(part.oob_decision_function_, whole.oob_decision_function_)
    assert len(part.estimators_samples_) == 7


def test_warm_start_is_for_more_members_on_the_same_rows():
    model = BaggingClassifier(n_estimators=3, warm_start=True).fit(X, Y)
    with pytest.warns(UserWarning, match="fits no new members"):
        model.fit(X, Y)
    for rows, y in ((X[1:], Y[1:]), (X[:, :2], Y), (X, Y + 1)):
        fresh = BaggingClassifier(n_estimators=3, warm_start=True).fit(X, Y)
        with pytest.raises(ValueError, match=r"same rows|features"):
            fresh.set_params(n_estimators=4).fit(rows, y)
    model = BaggingClassifier(n_estimators=3, warm_start=True).fit(X, Y)
    with pytest.raises(ParameterError, match="at least the 3 members"):
        model.set_params(n_estimators=2).fit(X, Y)


# --- tables ---


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.from_pandas])
def test_frames_go_to_members_as_they_are(kind):
    frame = pd.DataFrame({"size": X[:, 2], "width": X[:, 3], "color": np.array(list("rgb"))[Y]})
    frame = frame if kind is pd.DataFrame else kind(frame)
    pipeline = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["color"]), remainder="passthrough"),
        LogisticRegression(max_iter=1000),
    )
    model = BaggingClassifier(pipeline, 3, random_state=0).fit(frame, Y)
    assert model.feature_names_in_.tolist() == ["size", "width", "color"]
    assert model.score(frame, Y) > 0.95
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert member_predictions(model, frame).values.shape == (150, 3)


def test_features_of_frames_are_drawn_by_name():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = BaggingClassifier(n_estimators=4, max_features=2, random_state=0).fit(frame, Y)
    for member, features in zip(model.estimators_, model.estimators_features_, strict=True):
        assert member.feature_names_in_.tolist() == [list("abcd")[f] for f in features]
    same = BaggingClassifier(n_estimators=4, max_features=2, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(frame), same.predict_proba(X))


def test_sparse_matrices_and_texts():
    tree = DecisionTreeClassifier()
    dense = BaggingClassifier(tree, n_estimators=3, max_features=2, random_state=0).fit(X, Y)
    thin = BaggingClassifier(tree, n_estimators=3, max_features=2, random_state=0)
    thin.fit(sparse.coo_matrix(X), Y)
    np.testing.assert_array_equal(dense.predict_proba(X), thin.predict_proba(sparse.csr_matrix(X)))
    texts = ["good film", "bad film", "so good", "so bad"] * 10
    model = BaggingClassifier(make_pipeline(CountVectorizer(), MultinomialNB()), 5)
    model.fit(texts, [1, 0, 1, 0] * 10)
    assert model.predict(["good", "bad"]).tolist() == [1, 0]
    with pytest.raises(ParameterError, match="no features that could be drawn"):
        model.set_params(max_features=0.5).fit(texts, [1, 0, 1, 0] * 10)


def test_several_outputs():
    targets = np.column_stack([Y_NUMBER, -2 * Y_NUMBER])
    model = BaggingRegressor(n_estimators=30, oob_score=True, random_state=0)
    model.fit(X_NUMBER, targets)
    assert model.predict(X_NUMBER).shape == targets.shape
    assert model.oob_prediction_.shape == targets.shape
    assert 0.2 < model.oob_score_ < 0.6
    with pytest.raises(ValueError, match="1d array"):
        BaggingRegressor(HistGradientBoostingRegressor(), 2).fit(X_NUMBER, targets)


def test_our_boosting_as_base_learner():
    model = BaggingRegressor(GradientBoostingRegressor(n_estimators=10), 3, random_state=0)
    assert model.fit(X_NUMBER, Y_NUMBER).score(X_NUMBER, Y_NUMBER) > 0.3


# --- votes ---


class Constant(ClassifierMixin, BaseEstimator):
    """Votes for a class, with a probability."""

    def __init__(self, label=0, sure=0.6):
        self.label = label
        self.sure = sure

    def fit(self, X, y):
        self.classes_ = np.arange(2)
        return self

    def predict(self, X):
        return np.full(len(X), self.label)

    def predict_proba(self, X):
        other = np.full(len(X), 1 - self.sure)
        sure = np.full(len(X), self.sure)
        return np.column_stack([other, sure] if self.label else [sure, other])


def test_ties_of_labels_are_broken_by_confidence_or_at_random():
    y = Y[:100]
    model = BaggingClassifier(Constant(), 2, votes="hard", tie="confidence").fit(X[:100], y)
    model.estimators_ = [Constant(0, 0.6).fit(X, y), Constant(1, 0.9).fit(X, y)]
    np.testing.assert_array_equal(model.predict_proba(X), np.full((150, 2), 0.5))
    assert set(model.predict(X)) == {1}
    model.set_params(tie="random")
    guessed = model.predict(X)
    assert 0.3 < guessed.mean() < 0.7
    np.testing.assert_array_equal(model.predict(X[::-1]), guessed[::-1])
    model.votes_ = "soft"
    assert set(model.predict(X)) == {1}


def test_votes_of_learners_without_probabilities_are_hard():
    model = BaggingClassifier(RidgeClassifier(), 5, random_state=0).fit(X, Y)
    assert model.votes_ == "hard"
    shares = model.predict_proba(X) * 5
    np.testing.assert_allclose(shares, np.round(shares), atol=1e-12)
    assert model.decision_function(X).shape == (150, 3)
    hard = BaggingClassifier(LogisticRegression(), votes="hard")
    assert not hasattr(hard, "decision_function")


# --- bags that miss classes ---


def test_a_class_that_a_bag_misses_has_no_probability():
    y = np.r_[np.zeros(2, int), np.ones(148, int)]
    for learner in (KNeighborsClassifier(1), DecisionTreeClassifier(), GaussianNB()):
        model = BaggingClassifier(learner, 10, max_samples=30, random_state=0).fit(X, y)
        missed = [member.classes_.size < 2 for member in model.estimators_]
        assert any(missed)
        probabilities = model.predict_proba(X)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        assert (probabilities[:, 1] >= np.mean(missed) - 1e-12).all()


def test_a_learner_that_refuses_one_class_is_replaced_with_a_warning():
    y = np.r_[np.zeros(2, int), np.ones(148, int)]
    model = BaggingClassifier(LogisticRegression(), 10, max_samples=30, random_state=0)
    with pytest.warns(DataWarning, match=r"\d of 10 members have one class only"):
        model.fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    with pytest.raises(DataError, match="seen 1 of 2 classes"):
        model.decision_function(X)


def test_one_class_only():
    assert set(BaggingClassifier(n_estimators=2).fit(X, ["a"] * 150).predict(X)) == {"a"}
    with pytest.raises(ValueError, match="class"):
        BaggingClassifier(LogisticRegression(), 2).fit(X, ["a"] * 150)


# --- scikit-learn's habits ---


def test_pickle_and_save():
    model = BaggingClassifier(n_estimators=3, max_features=2, random_state=0).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert all(map(np.array_equal, again.estimators_samples_, model.estimators_samples_))
    with pytest.raises(TypeError, match="use pickle"):
        model.save("model.sumwise")


def test_diversity_of_members():
    labels = np.array(["no", "perhaps", "yes"])[Y]
    model = BaggingClassifier(n_estimators=4, max_features=2, random_state=0).fit(X, labels)
    members = member_predictions(model, X)
    assert set(members.values.ravel()) <= set(labels)
    assert diversity_matrix(model, X).values.shape == (4, 4)
    votes = model.predict_members(X)
    assert votes.shape == (4, 150, 3)
    np.testing.assert_array_equal(model.classes_[votes.argmax(axis=2)].T, members.values)
    hard = clone(model).set_params(votes="hard").fit(X, labels)
    np.testing.assert_array_equal(hard.predict_members(X).T, member_predictions(hard, X).values)
    numbers = BaggingRegressor(KNeighborsRegressor(), 3).fit(X_NUMBER, Y_NUMBER)
    np.testing.assert_allclose(
        numbers.predict_members(X_NUMBER).mean(axis=0), numbers.predict(X_NUMBER)
    )


class Consumer(ClassifierMixin, BaseEstimator):
    """Takes metadata in all methods."""

    def fit(self, X, y, sample_weight=None, mark=None):
        self.classes_ = np.unique(y)
        self.mark_, self.weight_ = mark, sample_weight
        return self

    def predict(self, X, mark=None):
        return self.predict_proba(X, mark).argmax(axis=1)

    def predict_proba(self, X, mark=None):
        value = 0.25 if mark is None else mark
        return np.tile([1 - value, value], (len(X), 1))


def test_metadata_is_routed():
    y = (Y > 0).astype(int)
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        BaggingClassifier(Consumer(), 2).fit(X, y, mark=np.arange(150))
    with sklearn.config_context(enable_metadata_routing=True):
        learner = Consumer().set_fit_request(mark=True, sample_weight=True)
        learner = learner.set_predict_proba_request(mark=True)
        model = BaggingClassifier(learner, 3, random_state=0)
        model.fit(X, y, sample_weight=np.ones(150), mark=np.arange(150))
        for member, rows in zip(model.estimators_, model.estimators_samples_, strict=True):
            found, counts = np.unique(rows, return_counts=True)
            np.testing.assert_array_equal(member.mark_, found)
            np.testing.assert_array_equal(member.weight_, counts)
        np.testing.assert_allclose(model.predict_proba(X[:2], mark=0.75)[:, 1], 0.75)
        assert model.predict(X[:2], mark=0.75).tolist() == [1, 1]
        assert model.predict(X[:2]).tolist() == [0, 0]
        with pytest.raises(TypeError, match="unexpected"):
            model.predict(X, other=1)
        # A learner that does not ask for weights gets rows, drawn by them.
        plain = BaggingClassifier(Consumer(), 2).fit(X, y, sample_weight=(Y > 1) * 1.0 + (Y == 0))
        assert all(member.weight_ is None for member in plain.estimators_)
        assert not np.isin(np.concatenate(plain.estimators_samples_), np.flatnonzero(Y == 1)).any()


def test_bagging_cuts_variance():
    rows, y = make_classification(400, random_state=0, flip_y=0.1)
    tree = cross_val_score(DecisionTreeClassifier(random_state=0), rows, y).mean()
    assert cross_val_score(BaggingClassifier(n_estimators=40), rows, y).mean() > tree + 0.02


# --- failures, and what members get ---


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_array"])
def test_sparse_matrices_keep_their_format(kind):
    rows = getattr(sparse, kind)(X_NUMBER)
    for max_features in (1.0, 0.5):
        model = BaggingRegressor(Recorder(), 2, max_features=max_features).fit(rows, Y_NUMBER)
        assert all(type(member.seen_[0]) is type(rows) for member in model)


def test_a_member_that_fails_is_named_and_missing_values_are_told():
    missing = X.copy()
    missing[:, 2] = np.nan
    model = BaggingClassifier(LogisticRegression(), 3)
    with pytest.raises(
        ValueError, match=r"member 0 \(LogisticRegression\) failed to fit: Input X c"
    ):
        model.fit(missing, Y)
    with pytest.raises(ValueError, match="LogisticRegression does not accept missing values"):
        model.fit(missing, Y)
    assert not model.__sklearn_tags__().input_tags.allow_nan


def refuse(*_):
    raise RuntimeError("no score")


@pytest.mark.parametrize("learner", [None, KNeighborsClassifier()])
@pytest.mark.parametrize("is_fitted", [False, True])
def test_a_scorer_that_fails_leaves_no_model(learner, is_fitted):
    model = BaggingClassifier(learner, 3, oob_score=True, random_state=0)
    if is_fitted:
        with warnings.catch_warnings(action="ignore"):
            model.fit(X, Y)
    model.set_params(oob_score=refuse)
    with pytest.raises(RuntimeError, match="no score"), warnings.catch_warnings(action="ignore"):
        model.fit(X, Y)
    assert not hasattr(model, "estimators_")
    assert not hasattr(model, "oob_score_")
    assert not hasattr(model, "oob_decision_function_")
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("largest", [1e305, 1.7e308])
@pytest.mark.parametrize("learner", [None, DecisionTreeRegressor()])
@pytest.mark.filterwarnings("error")
def test_targets_at_the_limit_of_floats_are_refused(learner, largest):
    y = largest * (Y_NUMBER / Y_NUMBER.max())
    with pytest.raises(DataError, match=r"y has .* in row \d+: .* scale y"):
        BaggingRegressor(learner, 3).fit(X_NUMBER, y)


def test_features_of_members_are_known_after_fit():
    assert not hasattr(BaggingRegressor(), "estimators_features_")
    model = BaggingRegressor(n_estimators=2, max_features=3).fit(X_NUMBER, Y_NUMBER)
    assert [own.size for own in model.estimators_features_] == [3, 3]


def test_progress_is_shown_on_standard_error(capsys):
    for learner, line in ((None, "round 3/3"), (LinearRegression(), "3 out of   3")):
        model = BaggingRegressor(learner, 3).fit(X_NUMBER, Y_NUMBER)
        assert capsys.readouterr() == ("", "")
        model.set_params(verbose=10).fit(X_NUMBER, Y_NUMBER)
        shown = capsys.readouterr()
        assert shown.out == ""
        assert line in shown.err


# Calibration and conformal prediction


def make_noisy(n_rows=300, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    score = X[:, 0] + rng.logistic(size=n_rows)
    return X, np.digitize(score, [0.0] if n_classes == 2 else [-1.0, 1.0]), score


@pytest.mark.parametrize("learner", [None, GaussianNB()], ids=["trees", "others"])
@pytest.mark.parametrize("votes", ["soft", "hard"])
def test_probabilities_are_calibrated_on_out_of_bag_rows(learner, votes):
    X, y, _ = make_noisy()
    X_new, y_new, _ = make_noisy(1000, seed=1)
    params = {"n_estimators": 20, "votes": votes, "random_state": 0}
    plain = BaggingClassifier(learner, **params, oob_score=True).fit(X, y)
    model = BaggingClassifier(learner, **params, calibrate="logistic", conformal=True).fit(X, y)
    slope, intercept = fit_sigmoid(plain.oob_decision_function_[:, 1], y == 1, np.ones(len(y)))
    expected = 1 / (1 + np.exp(-(slope * plain.predict_proba(X_new)[:, 1] + intercept)))
    shares = model.predict_proba(X_new)
    np.testing.assert_allclose(shares[:, 1], expected)
    np.testing.assert_array_equal(model.predict(X_new), shares.argmax(axis=1))
    np.testing.assert_allclose(model.predict_log_proba(X_new), np.log(shares))
    losses = [log_loss(y_new, m.predict_proba(X_new)) for m in (model, plain)]
    assert losses[0] < losses[1] + 0.01
    if learner is None:
        found = [predict_row(describe(model), row) for row in X_new[:20].tolist()]
        np.testing.assert_allclose(found, shares[:20])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_sets_cover_classes(n_classes):
    covered = []
    for seed in range(5):
        X, y, _ = make_noisy(800, n_classes, seed)
        model = BaggingClassifier(n_estimators=20, conformal=True, random_state=seed)
        sets = model.fit(X[:300], y[:300]).predict_set(X[300:], 0.8)
        covered.append(sets[np.arange(500), y[300:]].mean())
    assert 0.76 < np.mean(covered) < 0.92


def test_intervals_cover_targets():
    covered = []
    for seed in range(5):
        X, _, y = make_noisy(800, seed=seed)
        model = BaggingRegressor(n_estimators=20, conformal=True, random_state=seed)
        bounds = model.fit(X[:300], y[:300]).predict_interval(X[300:], 0.8)
        covered.append(((bounds[:, 0] <= y[300:]) & (y[300:] <= bounds[:, 1])).mean())
    assert 0.76 < np.mean(covered) < 0.86
    both = np.column_stack([y, -y])
    assert model.fit(X, both).predict_interval(X).shape == (800, 2, 2)


def test_calibration_needs_rows_that_no_member_has_used():
    X, y, score = make_noisy(60)
    with pytest.raises(ParameterError, match=r"calibration, and .* leaves no row out"):
        BaggingRegressor(bootstrap=False, conformal=True).fit(X, score)
    stopped = BaggingClassifier(SGDClassifier(), early_stopping="oob", calibrate="logistic")
    with pytest.raises(ParameterError, match="need rows that have not stopped the members"):
        stopped.fit(X, y)
    with pytest.raises(ParameterError, match="calibrate='temperature'; must be one of"):
        BaggingClassifier(calibrate="temperature").fit(X, y)
    with pytest.raises(ParameterError, match="needs conformal=True"):
        BaggingRegressor().fit(X, score).predict_interval(X)
    with pytest.raises(DataError, match="every row is in the bags of all members"):
        BaggingRegressor(n_estimators=1, max_samples=900, conformal=True).fit(X, score)


def test_more_members_are_calibrated_again():
    X, y, _ = make_noisy()
    params = {"calibrate": "isotonic", "conformal": True, "random_state": 0}
    model = BaggingClassifier(n_estimators=5, warm_start=True, **params).fit(X, y)
    model.set_params(n_estimators=12).fit(X, y)
    at_once = BaggingClassifier(n_estimators=12, **params).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), at_once.predict_proba(X))
    np.testing.assert_array_equal(model.predict_set(X), at_once.predict_set(X))
