from functools import partial

import numpy as np
import pytest
from sklearn import metrics
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.naive_bayes import GaussianNB

from sumwise.errors import ParameterError
from sumwise.estimators.scoring import (
    KnownClassifier,
    KnownRegressor,
    resolve_oob_score,
    resolve_scoring,
    score_known,
)


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


# --- scores of known predictions ---

TRUTH = np.array([0.0, 1.0, 3.0, 2.0])
GUESS = np.array([0.0, 2.0, 3.0, 1.0])
WEIGHT = np.array([1.0, 2.0, 3.0, 4.0])
LABELS = np.array(["no", "no", "yes", "yes"])
SHARES = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.3, 0.7]])


def make_classifier(probabilities=SHARES):
    classes = np.array(["no", "yes"])
    return KnownClassifier(classes[SHARES.argmax(axis=1)], classes, probabilities)


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("name", ["r2", "neg_mean_absolute_error", "neg_mean_poisson_deviance"])
def test_known_numbers_score_as_predictions_do(name, weight):
    known, truth = KnownRegressor(GUESS + 1), TRUTH + 1
    scorer = metrics.get_scorer(name)
    expected = scorer._sign * scorer._score_func(truth, GUESS + 1, sample_weight=weight)
    assert score_known(scorer, known, truth, weight) == expected


@pytest.mark.parametrize("name", ["accuracy", "neg_log_loss", "roc_auc", "f1_macro"])
def test_known_labels_and_probabilities_score_as_predictions_do(name):
    model = make_classifier()
    expected = {
        "accuracy": 0.75,
        "neg_log_loss": -metrics.log_loss(LABELS, SHARES),
        "roc_auc": metrics.roc_auc_score(LABELS == "yes", SHARES[:, 1]),
        "f1_macro": metrics.f1_score(LABELS, model.predict(None), average="macro"),
    }
    assert score_known(metrics.get_scorer(name), model, LABELS) == expected[name]


def test_labels_alone_have_no_probabilities():
    model = make_classifier(probabilities=None)
    assert not hasattr(model, "predict_proba")
    assert score_known(metrics.get_scorer("accuracy"), model, LABELS) == 0.75
    with pytest.raises(AttributeError, match="predict_proba"):
        score_known(metrics.get_scorer("neg_log_loss"), model, LABELS)


def test_weights_go_only_to_metrics_that_take_them():
    worst = metrics.make_scorer(metrics.max_error, greater_is_better=False)
    assert score_known(worst, KnownRegressor(GUESS), TRUTH, WEIGHT) == -1.0


def test_functions_of_an_estimator_get_the_rows():
    rows = object()

    def judge(estimator, X, y):
        assert X is rows
        return np.abs(estimator.predict(X) - y).sum()

    assert score_known(judge, KnownRegressor(GUESS), TRUTH, WEIGHT, rows) == 2.0


def test_oob_score_by_default_name_scorer_and_metric():
    classifier, regressor = make_classifier(), KnownRegressor(GUESS)

    def score(oob_score, model, y):
        return score_known(resolve_oob_score(oob_score, model), model, y, WEIGHT)

    assert score(True, classifier, LABELS) == 0.8
    assert score(True, regressor, TRUTH) == metrics.r2_score(TRUTH, GUESS, sample_weight=WEIGHT)
    assert score("balanced_accuracy", classifier, LABELS) == pytest.approx(2 / 3)
    expected = metrics.mean_absolute_error(TRUTH, GUESS, sample_weight=WEIGHT)
    scorer = metrics.make_scorer(metrics.mean_absolute_error, greater_is_better=False)
    assert score(scorer, regressor, TRUTH) == -expected
    assert score(metrics.mean_absolute_error, regressor, TRUTH) == expected  # no sign changes
    assert score(lambda y, guess: np.sum(y != guess), regressor, TRUTH) == 2.0


@pytest.mark.parametrize("bad", ["auc", None, 3])
def test_bad_oob_scores(bad):
    with pytest.raises(ParameterError, match=r"Owner: oob_score=.*must be a boolean, the name"):
        resolve_oob_score(bad, Owner())
