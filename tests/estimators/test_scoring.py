from functools import partial

import numpy as np
import pytest
from sklearn import metrics
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.naive_bayes import GaussianNB

from sumwise.errors import ParameterError
from sumwise.estimators.scoring import resolve_scoring


class Owner:
    """Whose name errors show."""


def resolve(scoring):
    return resolve_scoring(scoring, Owner())


@pytest.fixture(scope="module")
def two_classes():
    X, y = load_breast_cancer(return_X_y=True)
    return LogisticRegression(max_iter=10_000).fit(X[:, :5], y), X[:, :5], y


def test_names_and_scorers_stay_what_they_are():
    assert resolve("accuracy")._score_func is metrics.accuracy_score
    scorer = metrics.make_scorer(metrics.f1_score, average="macro")
    assert resolve(scorer) is scorer

    def judge(estimator, X, y):
        return 0.0

    def judge_with_weight(estimator, X, y, sample_weight=None):
        return 0.0

    def judge_without_target(estimator, X, y=None):
        return 0.0

    def judge_anything(*args, **kwargs):
        return 0.0

    for own in (judge, judge_with_weight, judge_without_target, judge_anything):
        assert resolve(own) is own
    check = metrics.check_scoring(LogisticRegression())  # the estimator's own score
    assert resolve(check) is check


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        (metrics.accuracy_score, "accuracy"),
        (metrics.log_loss, "neg_log_loss"),
        (metrics.brier_score_loss, "neg_brier_score"),
        (metrics.roc_auc_score, "roc_auc"),
        (metrics.average_precision_score, "average_precision"),
        (metrics.root_mean_squared_error, "neg_root_mean_squared_error"),
        (metrics.f1_score, "f1"),
        (partial(metrics.f1_score, average="macro"), "f1_macro"),
        (partial(metrics.log_loss, labels=[0, 1]), "neg_log_loss"),
    ],
)
def test_a_metric_of_scikit_learn_scores_as_the_scorer_made_from_it(metric, name, two_classes):
    assert resolve(metric)(*two_classes) == get_scorer(name)(*two_classes)


def test_options_choose_among_scorers_of_one_metric():
    X, y = load_iris(return_X_y=True)
    model = GaussianNB().fit(X, y)
    of_pairs = resolve(partial(metrics.roc_auc_score, multi_class="ovo"))
    assert of_pairs(model, X, y) == get_scorer("roc_auc_ovo")(model, X, y)


def test_a_metric_without_a_scorer_of_its_own_goes_by_its_name(two_classes):
    model, X, y = two_classes
    share_wrong = np.mean(model.predict(X) != y)
    assert resolve(metrics.zero_one_loss)(model, X, y) == pytest.approx(-share_wrong)
    assert resolve(metrics.hamming_loss)(model, X, y) == pytest.approx(-share_wrong)
    kappa = metrics.cohen_kappa_score(y, model.predict(X))
    assert resolve(metrics.cohen_kappa_score)(model, X, y) == kappa
    hinge = metrics.hinge_loss(y, model.decision_function(X))
    assert resolve(metrics.hinge_loss)(model, X, y) == -hinge


def test_a_metric_of_the_users_own_is_higher_for_better_unless_its_name_says_otherwise(
    two_classes,
):
    model, X, y = two_classes
    predictions = model.predict(X)

    def hits(y_true, y_pred):
        return np.mean(y_true == y_pred)

    def miss_error(y_true, y_pred):
        return np.mean(y_true != y_pred)

    def spread(y_true, y_proba):
        return np.mean(np.abs(y_true - y_proba))

    def margin(y_true, y_score):
        return np.mean(y_score)

    class Hits:
        def __call__(self, truth, guess):
            return np.mean(truth == guess)

    accuracy = np.mean(y == predictions)
    assert resolve(hits)(model, X, y) == accuracy
    assert resolve(Hits())(model, X, y) == accuracy
    assert resolve(lambda a, b: np.mean(a == b))(model, X, y) == accuracy
    assert resolve(miss_error)(model, X, y) == pytest.approx(accuracy - 1.0)
    probability = model.predict_proba(X)[:, 1]
    assert resolve(spread)(model, X, y) == np.mean(np.abs(y - probability))
    assert resolve(margin)(model, X, y) == np.mean(model.decision_function(X))


def test_weights_reach_the_metric(two_classes):
    model, X, y = two_classes
    weight = np.linspace(0.0, 1.0, y.size)
    known = get_scorer("neg_log_loss")(model, X, y, sample_weight=weight)
    assert resolve(metrics.log_loss)(model, X, y, sample_weight=weight) == known
    wrong = np.average(model.predict(X) != y, weights=weight)
    scored = resolve(metrics.zero_one_loss)(model, X, y, sample_weight=weight)
    assert scored == pytest.approx(-wrong)


@pytest.mark.parametrize("scoring", ["no_such_scorer", 3, None, ["r2"], lambda a: 0.0])
def test_anything_else_is_refused_with_the_owner_and_the_choices(scoring):
    with pytest.raises(ParameterError, match=r"Owner: scoring=.*\(estimator, X, y\).*\(y_true"):
        resolve(scoring)


def test_a_metric_that_needs_more_says_how_to_give_it():
    with pytest.raises(ParameterError, match=r"needs beta.*functools\.partial\(\.\.\., beta"):
        resolve(metrics.fbeta_score)
    scorer = resolve(partial(metrics.fbeta_score, beta=2.0))
    assert scorer._sign == 1
