"""AdaBoost estimators. Against scikit-learn's: tests/equivalence/test_sklearn_adaboost.py."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, learning_curve
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sumwise import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    diversity_matrix,
    member_predictions,
)
from sumwise import DecisionTreeClassifier as OwnTree
from sumwise import DecisionTreeRegressor as OwnTreeRegressor
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.input import jobs
from sumwise.estimators.resampled.shallow_trees import ShallowTreeClassifier, ShallowTreeRegressor

CANCER = load_breast_cancer(return_X_y=True)
IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)


class Stubborn(ClassifierMixin, BaseEstimator):
    """Predicts the first class it is told of, or what ``answer`` says."""

    def __init__(self, answer=None):
        self.answer = answer

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        answer = self.classes_[0] if self.answer is None else self.answer
        return np.full(len(X), answer)


# --- the method ---


def test_three_rounds_by_hand():
    """Example 8.1 of Li Hang's "Statistical Learning Methods": three stumps make no error."""
    X = np.arange(10.0)[:, np.newaxis]
    y = np.array([1, 1, 1, -1, -1, -1, 1, 1, 1, -1])
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    thresholds = [member.tree_.threshold[0] for member in model.estimators_]
    assert thresholds == [2.5, 8.5, 5.5]
    np.testing.assert_allclose(model.estimator_errors_, [3 / 10, 3 / 14, 2 / 11], rtol=1e-13)
    half_log_odds = 0.5 * np.log([7 / 3, 11 / 3, 9 / 2])
    np.testing.assert_allclose(model.estimator_weights_, half_log_odds, rtol=1e-13)
    np.testing.assert_array_equal(model.predict(X), y)
    first, second, third = half_log_odds
    assert model.decision_function(X[:1]) == pytest.approx(first + second - third)


@pytest.mark.parametrize("rate", [0.5, 1.0])
@pytest.mark.parametrize("estimator", [None, GaussianNB(), DecisionTreeClassifier(max_depth=2)])
def test_mean_exponential_loss_is_the_product_of_the_normalizers(estimator, rate):
    X, y = CANCER
    weight = np.random.default_rng(0).random(y.size)
    model = AdaBoostClassifier(estimator, n_estimators=12, learning_rate=rate, random_state=0)
    for given in (None, weight):
        model.fit(X, y, sample_weight=given)
        for score, loss in zip(
            model.staged_decision_function(X), model.exponential_loss_, strict=True
        ):
            losses = np.exp(-(2.0 * y - 1.0) * score)
            assert np.average(losses, weights=given) == pytest.approx(loss, rel=1e-10)
    errors = model.estimator_errors_
    if rate == 1.0 and model.stop_reason_ != "perfect":
        normalizers = 2.0 * np.sqrt(errors * (1.0 - errors))
        np.testing.assert_allclose(model.exponential_loss_, np.cumprod(normalizers), rtol=1e-10)


def test_exponential_loss_of_three_classes():
    X, y = IRIS
    model = AdaBoostClassifier(n_estimators=5).fit(X, y)
    for scores, loss in zip(
        model.staged_decision_function(X), model.exponential_loss_, strict=True
    ):
        assert scores.sum(axis=1) == pytest.approx(0.0, abs=1e-13)
        # The score of a class is (K V - sum(V)) / (K - 1) of the votes V; K = 3.
        assert np.exp(-4.0 / 3.0 * scores[np.arange(150), y]).mean() == pytest.approx(loss)


def test_probabilities_are_those_of_the_log_odds():
    X, y = CANCER
    model = AdaBoostClassifier(n_estimators=9).fit(X, y)
    expected = 1.0 / (1.0 + np.exp(-2.0 * model.decision_function(X)))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-12)
    np.testing.assert_array_equal(model.predict_log_proba(X), np.log(model.predict_proba(X)))
    X, y = IRIS
    model.fit(X, y)
    odds = np.exp(4.0 / 3.0 * model.decision_function(X))
    expected = odds / odds.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-12)
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_depth=1)])
@pytest.mark.parametrize("data", [CANCER, IRIS])
def test_stages_end_in_the_model(estimator, data):
    X, y = data
    model = AdaBoostClassifier(estimator, n_estimators=7, random_state=0).fit(X, y)
    for method in ("predict", "predict_proba", "decision_function"):
        *_, last = getattr(model, f"staged_{method}")(X)
        np.testing.assert_array_equal(last, getattr(model, method)(X))
    scores = list(model.staged_score(X, y))
    assert len(scores) == len(model.estimators_)
    assert scores[-1] == model.score(X, y)


@pytest.mark.parametrize("estimator", [None, DecisionTreeRegressor(max_depth=3)])
def test_stages_of_numbers_end_in_the_model(estimator):
    X, y = DIABETES
    model = AdaBoostRegressor(estimator, n_estimators=7, random_state=0).fit(X, y)
    stages = list(model.staged_predict(X))
    assert len(stages) == len(model.estimators_)
    np.testing.assert_array_equal(stages[-1], model.predict(X))
    np.testing.assert_allclose(stages[0], model.estimators_[0].predict(X), rtol=1e-12)
    *_, last = model.staged_score(X, y)
    assert last == pytest.approx(model.score(X, y))


# --- how it ends ---


def test_all_rounds():
    model = AdaBoostClassifier(n_estimators=3).fit(*CANCER)
    assert (model.stop_reason_, model.method_, model.n_restarts_) == ("n_estimators", "reweight", 0)
    assert len(model.estimators_) == model.estimator_errors_.size == model.exponential_loss_.size


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier()])
def test_a_perfect_learner_has_a_finite_weight_and_ends_training(estimator):
    X = np.arange(10.0)[:, np.newaxis]
    model = AdaBoostClassifier(estimator).fit(X, X[:, 0] > 3)
    assert (model.stop_reason_, len(model.estimators_)) == ("perfect", 1)
    assert np.isfinite(model.estimator_weights_).all()
    assert model.estimator_errors_ == [0.0]
    assert model.score(X, X[:, 0] > 3) == 1.0
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_perfect_regressor_ends_training():
    X = np.repeat(np.arange(4.0), 5)[:, np.newaxis]
    y = np.array([0.1, 0.7, 0.3, 0.9])[X[:, 0].astype(int)]
    for estimator in (None, DecisionTreeRegressor()):
        model = AdaBoostRegressor(estimator, method="reweight").fit(X, y)
        assert model.stop_reason_ == "perfect"
        np.testing.assert_allclose(model.predict(X), y, rtol=1e-12)


def test_a_learner_that_is_too_weak_ends_training():
    # Exclusive or: no stump is better than chance once the first has been used up.
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1]], dtype=float)
    y = np.array([0, 1, 1, 0, 0])
    model = AdaBoostClassifier(n_estimators=50).fit(X, y)
    assert model.stop_reason_ == "too_weak"
    assert 1 <= len(model.estimators_) < 50
    assert (model.estimator_errors_ < 0.5).all()


def test_nothing_to_boost_is_an_error():
    X, y = np.ones((6, 1)), np.array([0, 1] * 3)
    with pytest.raises(DataError, match=r"first ShallowTreeClassifier is no better than chance"):
        AdaBoostClassifier().fit(X, y)
    with pytest.raises(DataError, match=r"first Stubborn .*\(error 0\.5\).*raise max_restarts"):
        AdaBoostClassifier(Stubborn(answer=1), method="resample").fit(X, y)


def test_a_failed_fit_leaves_no_old_model():
    model = AdaBoostClassifier(n_estimators=2).fit(*CANCER)
    with pytest.raises(DataError):
        model.fit(np.ones((4, 1)), [0, 1, 0, 1])
    with pytest.raises(Exception, match="not fitted"):
        model.predict(np.ones((4, 1)))


@pytest.mark.parametrize("method", ["reweight", "resample"])
@pytest.mark.parametrize(
    "base", [None, OwnTree(max_depth=2), DecisionTreeClassifier(), GaussianNB()], ids=str
)
def test_one_class_only(base, method):
    X, y = np.eye(3), ["a", "a", "a"]
    model = AdaBoostClassifier(base, method=method).fit(X, y)
    assert (len(model), model.n_classes_, model.stop_reason_) == (1, 1, "perfect")
    np.testing.assert_array_equal(model.predict(X), y)
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((3, 1)))
    np.testing.assert_array_equal(model.predict_log_proba(X), np.zeros((3, 1)))
    np.testing.assert_array_equal(model.decision_function(X), np.zeros((3, 1)))
    np.testing.assert_array_equal(next(model.staged_predict(X)), y)
    assert np.isfinite(model.estimator_weights_).all()


def test_learning_curves_begin_with_one_class():
    X, y = CANCER
    order = np.argsort(y, kind="stable")
    _, train, test = learning_curve(
        AdaBoostClassifier(n_estimators=2), X[order], y[order], train_sizes=[20, 370], cv=3
    )
    assert np.isfinite(train).all()
    assert np.isfinite(test).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "base", [None, OwnTreeRegressor(max_depth=3), DecisionTreeRegressor(max_depth=3)], ids=str
)
def test_targets_at_the_limit_of_floats_are_refused(base):
    X, y = DIABETES
    y = (y - y.mean()) / np.abs(y - y.mean()).max()
    model = AdaBoostRegressor(base, n_estimators=3, random_state=0)
    for largest in (1e308, 1.7e308):
        with pytest.raises(DataError, match=r"y has .* in row \d+: .* too large .*; scale y"):
            model.fit(X, largest * y)
        assert not hasattr(model, "estimators_")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("exponent", [-900, -500, 500, 980])
def test_huge_and_tiny_targets_are_as_others(exponent):
    X, y = DIABETES
    model = AdaBoostRegressor(n_estimators=10, random_state=0)
    expected, importance = model.fit(X, y).predict(X), model.feature_importances_
    model.fit(X, np.ldexp(y, exponent))
    np.testing.assert_array_equal(model.predict(X), np.ldexp(expected, exponent))
    np.testing.assert_allclose(model.feature_importances_, importance, rtol=1e-9)


def test_a_regressor_keeps_its_only_learner_and_warns():
    X, y = np.ones((6, 1)), np.array([0.0, 1.0] * 3)
    model = AdaBoostRegressor(method="reweight")
    with pytest.warns(UserWarning, match="mean loss of the first ShallowTreeRegressor is 1 of"):
        model.fit(X, y)
    assert (model.stop_reason_, len(model.estimators_)) == ("too_weak", 1)
    np.testing.assert_allclose(model.predict(X), 0.5)


# --- how learners are told the weights ---


def test_learners_without_weights_draw_rows_and_say_so():
    X, y = IRIS
    model = AdaBoostClassifier(KNeighborsClassifier(30), n_estimators=5, random_state=0)
    with pytest.warns(UserWarning, match="KNeighborsClassifier takes no sample_weight"):
        model.fit(X, y)
    assert model.method_ == "resample"
    assert model.score(X, y) > 0.9
    again = clone(model).set_params(method="resample")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again.fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    with pytest.raises(ParameterError, match="method='reweight' needs a base learner"):
        model.set_params(method="reweight").fit(X, y)


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_depth=1)])
def test_drawing_rows_is_repeatable(estimator):
    X, y = CANCER
    model = AdaBoostClassifier(estimator, n_estimators=10, method="resample", random_state=3)
    first = model.fit(X, y).decision_function(X)
    np.testing.assert_array_equal(first, model.fit(X, y).decision_function(X))
    other = model.set_params(random_state=4).fit(X, y)
    assert (other.decision_function(X) != first).any()
    assert other.score(X, y) > 0.95
    # Errors are those of all rows, not of the rows drawn.
    wrong = other.estimators_[0].predict(X) != y
    assert other.estimator_errors_[0] == pytest.approx(wrong.mean())


class Moody(ClassifierMixin, BaseEstimator):
    """A stump that is turned around for some samples; it takes no weights."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self._stump = DecisionTreeClassifier(max_depth=1).fit(X, y)
        self._is_turned = len(np.unique(X[:, 0])) % 3 != 0
        return self

    def predict(self, X):
        answer = self._stump.predict(X)
        return 1 - answer if self._is_turned else answer


def test_weak_samples_are_drawn_again():
    rng = np.random.default_rng(0)
    X = rng.random((200, 2))
    y = (X.sum(axis=1) > 1.0).astype(int)
    settings = {"n_estimators": 15, "method": "resample", "random_state": 0}
    patient = AdaBoostClassifier(Moody(), max_restarts=50, **settings).fit(X, y)
    assert patient.n_restarts_ > 0
    assert (patient.stop_reason_, len(patient.estimators_)) == ("n_estimators", 15)
    assert (patient.estimator_errors_ < 0.5).all()
    hasty = AdaBoostClassifier(Moody(), max_restarts=1, **settings)
    try:
        hasty.fit(X, y)
    except DataError:
        pass
    else:
        assert len(hasty.estimators_) < 15


def test_samples_may_lack_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = np.array(["a"] * 14 + ["b"] * 14 + ["rare"] * 2)
    X[y == "b"] += 3.0
    X[y == "rare"] -= 4.0
    n_known = set()
    for seed in range(12):
        model = AdaBoostClassifier(
            GaussianNB(), method="resample", n_estimators=2, random_state=seed
        ).fit(X, y)
        assert model.predict_proba(X).shape == (30, 3)
        n_known |= {member.classes_.size for member in model.estimators_}
    assert n_known == {2, 3}
    # A sample of one class alone is drawn again: some learners would refuse it.
    y = np.array(["a"] * 28 + ["b"] * 2)
    X[y == "b"] += 9.0
    linear = AdaBoostClassifier(
        LogisticRegression(), method="resample", n_estimators=5, random_state=0
    )
    assert linear.fit(X, y).score(X, y) > 0.9


# --- base learners ---


def test_any_estimator_is_a_base_learner():
    X, y = CANCER
    for base in (GaussianNB(), make_pipeline(StandardScaler(), LogisticRegression())):
        model = AdaBoostClassifier(base, n_estimators=3, method="resample", random_state=0)
        assert model.fit(X, y).score(X, y) > 0.9
    assert model.get_params()["estimator__logisticregression__C"] == 1.0
    X, y = DIABETES
    model = AdaBoostRegressor(LinearRegression(), n_estimators=5, random_state=0)
    assert model.fit(X, y).score(X, y) > 0.4


def test_members_see_data_as_it_was_given():
    frame = pd.DataFrame({"color": list("rgbrgb") * 10, "size": np.arange(60.0)})
    y = np.where((frame["color"] == "r") | (frame["size"] > 40), "yes", "no")
    encoder = make_column_transformer((OneHotEncoder(), ["color"]), remainder="passthrough")
    base = make_pipeline(encoder, DecisionTreeClassifier(max_depth=1))
    for data in (frame, pl.from_pandas(frame)):
        model = AdaBoostClassifier(base, n_estimators=9, method="resample", random_state=0)
        assert model.fit(data, y).score(data, y) > 0.9
        np.testing.assert_array_equal(model.feature_names_in_, ["color", "size"])
    texts = ["good day", "bad day", "good night", "bad night"] * 5
    words = make_pipeline(CountVectorizer(), DecisionTreeClassifier(max_depth=1))
    model = AdaBoostClassifier(words, n_estimators=2, method="resample", random_state=0)
    assert model.fit(texts, [1, 0] * 10).score(texts, [1, 0] * 10) == 1.0


def test_sparse_matrices_go_to_members():
    X, y = IRIS
    stump = DecisionTreeClassifier(max_depth=1)
    for method in ("reweight", "resample"):
        model = AdaBoostClassifier(stump, n_estimators=5, method=method, random_state=0)
        expected = model.fit(X, y).predict(X)
        np.testing.assert_array_equal(model.fit(csr_matrix(X), y).predict(csr_matrix(X)), expected)


def test_seeds_of_members_differ():
    base = DecisionTreeClassifier(max_depth=1, max_features=1)
    model = AdaBoostClassifier(base, n_estimators=4, random_state=0).fit(*CANCER)
    assert len({member.random_state for member in model.estimators_}) == 4


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (LinearRegression(), "is a regressor; members must be classifiers"),
        (GaussianNB, "must be an estimator with fit and predict"),
        ("stump", "must be an estimator with fit and predict"),
        (StandardScaler(), "must be an estimator with fit and predict"),
        (ShallowTreeClassifier(max_depth=20), "max_depth=20"),
    ],
)
def test_wrong_base_learners_are_refused(estimator, message):
    with pytest.raises(ParameterError, match=message):
        AdaBoostClassifier(estimator).fit(*IRIS)


class Strange(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full(len(X), np.nan)


def test_strange_predictions_are_refused():
    with pytest.raises(DataError, match="Stubborn predicts 7, which is not a class"):
        AdaBoostClassifier(Stubborn(answer=7)).fit(*IRIS)
    with pytest.raises(DataError, match=r"Strange predicts an array .* not finite"):
        AdaBoostRegressor(Strange()).fit(*DIABETES)
    with pytest.raises(ParameterError, match="is a classifier; members must be regressors"):
        AdaBoostRegressor(GaussianNB()).fit(*DIABETES)


@pytest.mark.parametrize(
    "params",
    [
        {"n_estimators": 0},
        {"learning_rate": 0.0},
        {"method": "other"},
        {"max_restarts": -1},
        {"loss": "cubic"},
        {"n_jobs": 0},
    ],
)
def test_wrong_parameters_are_refused(params):
    with pytest.raises(ParameterError, match=next(iter(params))):
        AdaBoostRegressor(**params).fit(*DIABETES)


# --- our own trees ---


@pytest.mark.parametrize("depth", [2, 3])
def test_deeper_trees(depth):
    X, y = CANCER
    model = AdaBoostClassifier(ShallowTreeClassifier(max_depth=depth), n_estimators=10).fit(X, y)
    assert model.score(X, y) > 0.98
    assert max(member.tree_.n_leaves for member in model.estimators_) > 2
    np.testing.assert_allclose(model.feature_importances_.sum(), 1.0)


def test_members_predict_what_the_model_adds_up():
    for X, y in (CANCER, IRIS):
        labels = np.array(["x", "y", "z"])[y]
        model = AdaBoostClassifier(n_estimators=6).fit(X, labels)
        votes = np.zeros((y.size, model.n_classes_))
        for member, weight in zip(model.estimators_, model.estimator_weights_, strict=True):
            votes[np.arange(y.size), np.searchsorted(model.classes_, member.predict(X))] += weight
            np.testing.assert_allclose(member.predict_proba(X).sum(axis=1), 1.0)
        np.testing.assert_array_equal(model.predict(X), model.classes_[votes.argmax(axis=1)])
        assert clone(model.estimators_[0]).get_params() == ShallowTreeClassifier().get_params()


def test_missing_values_have_a_direction():
    X, y = CANCER
    X = X.copy()
    X[::3, 20:24] = np.nan
    model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.__sklearn_tags__().input_tags.allow_nan


def test_frames_give_the_same_model():
    X, y = IRIS
    frame = pd.DataFrame(X, columns=list("abcd"))
    expected = AdaBoostClassifier(n_estimators=5).fit(X, y).decision_function(X)
    for data in (frame, pl.from_pandas(frame)):
        model = AdaBoostClassifier(n_estimators=5).fit(data, y)
        np.testing.assert_array_equal(model.decision_function(data), expected)
        with pytest.raises(ValueError, match="feature names"):
            model.predict(data[["b", "a", "c", "d"]])


@pytest.mark.parametrize("method", ["reweight", "resample"])
@pytest.mark.parametrize("kind", ["two classes", "three classes", "numbers"])
def test_threads_change_nothing(kind, method, monkeypatch):
    monkeypatch.setattr(jobs, "count_cpus", lambda: 4)
    monkeypatch.setattr(jobs, "STEPS_PER_THREAD", 1)
    monkeypatch.setattr("sumwise.tree.shallow._ROWS_FOR_ALL", 1)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 7))
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0]) + rng.normal(size=9000)
    weight = rng.random(9000)
    results = []
    for n_jobs in (1, 2, 4):
        settings = {"method": method, "n_estimators": 6, "random_state": 0, "n_jobs": n_jobs}
        if kind == "numbers":
            model = AdaBoostRegressor(**settings, loss="exponential").fit(X, y, weight)
            outputs = [model.predict(X)]
        else:
            labels = np.digitize(y, (0.0,) if kind == "two classes" else (-0.5, 0.5))
            model = AdaBoostClassifier(**settings).fit(X, labels, weight)
            outputs = [model.decision_function(X), model.exponential_loss_]
        outputs += [model.estimator_weights_, model.estimator_errors_]
        fields = [field for member in model for field in vars(member.tree_).values()]
        outputs += [field for field in fields if field is not None]
        results.append(b"".join(output.tobytes() for output in outputs))
    assert results[0] == results[1] == results[2]


def test_zero_weights_are_as_good_as_no_rows():
    X, y = CANCER
    weight = np.ones(y.size)
    weight[::4] = 0.0
    keep = weight > 0
    # Folds of one class alone would be an error; this has all classes.
    weighted = AdaBoostClassifier(n_estimators=10).fit(X, y, sample_weight=weight)
    removed = AdaBoostClassifier(n_estimators=10).fit(X[keep], y[keep])
    np.testing.assert_allclose(weighted.decision_function(X), removed.decision_function(X))
    with pytest.raises(DataError, match="all sample weights are zero"):
        AdaBoostClassifier().fit(X, y, sample_weight=np.zeros(y.size))


def test_a_class_without_weight_is_never_predicted():
    X, y = IRIS
    model = AdaBoostClassifier(n_estimators=5).fit(X, y, sample_weight=(y < 2).astype(float))
    assert set(model.predict(X)) == {0, 1}
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])


# --- as one of scikit-learn's ---


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_depth=1)])
def test_pickles(estimator):
    X, y = IRIS
    model = AdaBoostClassifier(estimator, n_estimators=4, random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    again = pickle.loads(pickle.dumps(AdaBoostRegressor(n_estimators=3, random_state=0).fit(X, y)))
    assert again.predict(X).shape == (150,)


def test_is_not_saved_and_says_why(tmp_path):
    model = AdaBoostClassifier(n_estimators=2).fit(*IRIS)
    with pytest.raises(TypeError, match="use pickle"):
        model.save(tmp_path / "model")


def test_parameters_reach_the_base_learner():
    model = AdaBoostClassifier(ShallowTreeClassifier(), n_estimators=3)
    search = GridSearchCV(model, {"estimator__max_depth": [1, 2]}, cv=2).fit(*IRIS)
    assert search.best_params_["estimator__max_depth"] in (1, 2)
    names = list(AdaBoostRegressor().get_params())
    assert {"estimator", "n_estimators", "learning_rate", "loss", "random_state"} <= set(names)


def test_importances():
    X, y = CANCER
    model = AdaBoostClassifier(n_estimators=10).fit(X, y)
    each = [member.feature_importances_ for member in model.estimators_]
    expected = np.average(each, axis=0, weights=model.estimator_weights_)
    np.testing.assert_allclose(model.feature_importances_, expected)
    model = AdaBoostClassifier(GaussianNB(), n_estimators=2).fit(X, y)
    assert not hasattr(model, "feature_importances_")


def test_diversity_of_members():
    X, y = IRIS
    labels = np.array(["x", "y", "z"])[y]
    for estimator in (None, DecisionTreeClassifier(max_depth=1)):
        model = AdaBoostClassifier(estimator, n_estimators=4, random_state=0).fit(X, labels)
        known = member_predictions(model, X)
        assert known.values.shape == (150, 4)
        np.testing.assert_array_equal(known.values[:, 0], model.estimators_[0].predict(X))
        assert diversity_matrix(model, X, labels).values.shape == (4, 4)
    model = AdaBoostRegressor(ShallowTreeRegressor(2), n_estimators=3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(
        member_predictions(model, X).values[:, 1], model.estimators_[1].predict(X)
    )


# --- progress, failures, and what members get ---


@pytest.mark.parametrize("base", [None, OwnTree(max_depth=2), GaussianNB()], ids=str)
def test_progress_is_shown_on_standard_error(base, capsys):
    model = AdaBoostClassifier(base, n_estimators=3).fit(*IRIS)
    assert capsys.readouterr() == ("", "")
    model.set_params(verbose=1).fit(*IRIS)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"round 3/3  error {model.estimator_errors_[2]:.6g}" in shown.err


class Returnless(LogisticRegression):
    """Its fit returns nothing, and needs an array."""

    def fit(self, X, y, sample_weight=None):
        assert X.shape == (150, 4)
        super().fit(X, y, sample_weight)


def test_members_need_not_return_themselves_and_get_arrays_for_lists():
    X, y = IRIS
    model = AdaBoostClassifier(Returnless(max_iter=500), n_estimators=2).fit(X.tolist(), y.tolist())
    assert all(isinstance(member, Returnless) for member in model)
    assert model.score(X.tolist(), y) > 0.8


class Fragile(DecisionTreeRegressor):
    """Fails as soon as it draws a certain seed."""

    def fit(self, X, y, sample_weight=None):
        if np.unique(y).size < 190:
            raise ValueError("what a pity")
        return super().fit(X, y, sample_weight)


def test_a_learner_that_fails_is_named():
    model = AdaBoostRegressor(Fragile(max_depth=2), random_state=0)
    with pytest.raises(ValueError, match=r"learner \d+ \(Fragile\) failed to fit: what a pity"):
        model.fit(*DIABETES)
    assert not hasattr(model, "estimators_")
