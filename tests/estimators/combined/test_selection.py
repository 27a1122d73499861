from functools import partial

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression
from sklearn.metrics import (
    log_loss,
    make_scorer,
    mean_absolute_error,
    mean_pinball_loss,
    r2_score,
)
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sumwise import EnsembleSelectionClassifier, EnsembleSelectionRegressor
from sumwise.errors import DataError, ParameterError

X, Y = load_diabetes(return_X_y=True)
X_CLASS, Y_CLASS = make_classification(
    200, n_classes=3, n_informative=5, flip_y=0.1, random_state=0
)
NAMES = np.array(["x", "y", "z"])[Y_CLASS]
REGRESSORS = [
    ("line", LinearRegression()),
    ("tree", DecisionTreeRegressor(random_state=0)),
    *((f"near{k}", KNeighborsRegressor(k)) for k in (1, 10, 30)),
]
CLASSIFIERS = [
    *((f"tree{d}", DecisionTreeClassifier(max_depth=d, random_state=0)) for d in (1, 2, 4, 8)),
    ("bayes", GaussianNB()),
    ("near", KNeighborsClassifier()),
]


def held_out(members, method="predict"):
    return np.stack([cross_val_predict(m, X, Y, method=method) for _, m in members])


@pytest.mark.parametrize("options", [{}, {"n_bags": 3}, {"method": "reduced_error"}])
def test_selection_is_better_than_the_average_of_all(options):
    model = EnsembleSelectionRegressor(REGRESSORS, random_state=0, **options).fit(X, Y)
    predictions = held_out(REGRESSORS)
    chosen, plain = (
        np.mean((weights @ predictions - Y) ** 2) for weights in (model.weights_, np.full(5, 0.2))
    )
    assert chosen < plain
    assert model.weights_.sum() == pytest.approx(1.0)
    names = np.array([name for name, _ in REGRESSORS])
    assert model.selected_ == names[model.weights_ > 0].tolist()
    assert list(model.named_estimators_) == model.selected_
    expected = model.weights_[model.weights_ > 0] @ model.predict_members(X)
    np.testing.assert_allclose(model.predict(X), expected)


def test_history_has_the_score_of_each_step():
    model = EnsembleSelectionRegressor(REGRESSORS, n_start=2).fit(X, Y)
    (steps,) = model.history_
    predictions = held_out(REGRESSORS)
    total = np.cumsum([predictions[step.member] for step in steps], axis=0)
    for count, step in enumerate(steps, start=1):
        assert step.score == pytest.approx(-np.mean((total[count - 1] / count - Y) ** 2))
    assert steps[-1].score == max(step.score for step in steps)


def test_selection_by_a_scorer():
    by_name = EnsembleSelectionRegressor(REGRESSORS, scoring="neg_mean_absolute_error").fit(X, Y)
    scorer = make_scorer(mean_absolute_error, greater_is_better=False)
    by_function = EnsembleSelectionRegressor(REGRESSORS, scoring=scorer).fit(X, Y)
    np.testing.assert_array_equal(by_name.weights_, by_function.weights_)
    mean = by_name.weights_ @ held_out(REGRESSORS)
    assert by_name.history_[0][-1].score == pytest.approx(-mean_absolute_error(Y, mean))
    weight = np.arange(len(Y), dtype=float)
    members = REGRESSORS[:2]
    weighted = EnsembleSelectionRegressor(members, scoring="neg_mean_absolute_error")
    assert weighted.fit(X, Y, sample_weight=weight).weights_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("method", ["greedy", "reduced_error", "orientation", "kappa"])
@pytest.mark.parametrize("votes", ["hard", "soft"])
def test_methods_of_classes(method, votes):
    model = EnsembleSelectionClassifier(CLASSIFIERS, method=method, votes=votes, n_selected=3)
    model.fit(X_CLASS, NAMES)
    assert 1 <= len(model.selected_) <= 3
    assert model.weights_.sum() == pytest.approx(1.0)
    assert model.score(X_CLASS, NAMES) > 0.6
    assert hasattr(model, "predict_proba") == (votes == "soft")
    if method != "greedy":
        np.testing.assert_allclose(model.weights_[model.weights_ > 0], 1 / 3)


@pytest.mark.parametrize("scoring", ["loss", "accuracy", "roc_auc_ovr", "neg_log_loss"])
def test_scorers_of_classes(scoring):
    model = EnsembleSelectionClassifier(CLASSIFIERS, votes="soft", scoring=scoring, n_selected=5)
    model.fit(X_CLASS, NAMES)
    score = model.history_[0][-1].score
    if scoring in ("loss", "neg_log_loss"):
        predictions = [
            cross_val_predict(m, X_CLASS, Y_CLASS, method="predict_proba") for _, m in CLASSIFIERS
        ]
        mean = np.tensordot(model.weights_, predictions, axes=1)
        assert score == pytest.approx(-log_loss(Y_CLASS, mean))
    else:
        assert 0.5 < score <= 1.0


def test_out_of_fold_predictions_may_be_given():
    model = EnsembleSelectionRegressor(REGRESSORS).fit(X, Y)
    given = EnsembleSelectionRegressor(REGRESSORS).fit(X, Y, out_of_fold=held_out(REGRESSORS))
    np.testing.assert_array_equal(model.weights_, given.weights_)
    np.testing.assert_array_equal(model.predict(X), given.predict(X))
    for votes, method in [("soft", "predict_proba"), ("hard", "predict")]:
        predictions = np.stack(
            [cross_val_predict(m, X_CLASS, NAMES, method=method) for _, m in CLASSIFIERS]
        )
        selection = EnsembleSelectionClassifier(CLASSIFIERS, votes=votes)
        expected = selection.fit(X_CLASS, NAMES).weights_
        selection.fit(X_CLASS, NAMES, out_of_fold=predictions)
        np.testing.assert_allclose(selection.weights_, expected)
    with pytest.raises(DataError, match="expected"):
        EnsembleSelectionRegressor(REGRESSORS).fit(X, Y, out_of_fold=np.zeros((2, 3)))
    with pytest.raises(DataError, match="not finite"):
        EnsembleSelectionRegressor(REGRESSORS).fit(X, Y, out_of_fold=np.full((5, 442), np.nan))


def test_orientation_leaves_members_out_that_pull_the_wrong_way():
    rows, classes = load_iris(return_X_y=True)
    wrong = [DummyClassifier(strategy="constant", constant=k) for k in (0, 1)]
    members = [*wrong, GaussianNB(), DecisionTreeClassifier(random_state=0)]
    model = EnsembleSelectionClassifier(members, method="orientation").fit(rows, classes)
    assert set(model.selected_) <= {"gaussiannb", "decisiontreeclassifier", "dummyclassifier-2"}
    assert model.score(rows, classes) > 0.9


def test_bags_are_seeded():
    first, again = (
        EnsembleSelectionRegressor(REGRESSORS, n_bags=4, random_state=1).fit(X, Y) for _ in range(2)
    )
    np.testing.assert_array_equal(first.weights_, again.weights_)
    assert len(first.history_) == 4


@pytest.mark.parametrize(
    "options",
    [
        {"method": "kappa"},
        {"method": "best"},
        {"n_selected": 0},
        {"n_start": -1},
        {"n_bags": 1.5},
        {"bag_fraction": 0.0},
        {"scoring": "nothing"},
    ],
)
def test_parameters_are_checked(options):
    with pytest.raises(ParameterError, match=next(iter(options))):
        EnsembleSelectionRegressor(REGRESSORS, **options).fit(X, Y)


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        (mean_absolute_error, "neg_mean_absolute_error"),
        (r2_score, "r2"),
        (partial(mean_pinball_loss, alpha=0.5), "neg_mean_absolute_error"),
    ],
)
def test_selection_by_a_metric(metric, name):
    by_metric = EnsembleSelectionRegressor(REGRESSORS, scoring=metric).fit(X, Y)
    by_name = EnsembleSelectionRegressor(REGRESSORS, scoring=name).fit(X, Y)
    np.testing.assert_array_equal(by_metric.weights_, by_name.weights_)


def test_a_metric_gets_labels_or_probabilities():
    def share_right(y_true, y_pred):
        return np.mean(y_true == y_pred)

    for metric, name in [(share_right, "accuracy"), (log_loss, "neg_log_loss")]:
        first, again = (
            EnsembleSelectionClassifier(CLASSIFIERS, votes="soft", scoring=scoring, n_selected=5)
            for scoring in (metric, name)
        )
        first.fit(X_CLASS, NAMES)
        again.fit(X_CLASS, NAMES)
        np.testing.assert_array_equal(first.weights_, again.weights_)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scoring", ["loss", "neg_mean_absolute_error"])
@pytest.mark.parametrize("scale", [2.0**600, 2.0**-600, 2.0**990])
def test_extreme_targets_have_the_selection_of_ordinary_ones(scoring, scale):
    members = [(f"near{k}", KNeighborsRegressor(k)) for k in (3, 20, 50)]
    usual = EnsembleSelectionRegressor(members, scoring=scoring).fit(X, Y)
    extreme = EnsembleSelectionRegressor(members, scoring=scoring).fit(X, Y * scale)
    np.testing.assert_array_equal(extreme.weights_, usual.weights_)
    if scoring != "loss":
        for step, plain in zip(extreme.history_[0], usual.history_[0], strict=True):
            assert step.score / scale == plain.score


def test_probabilities_wherever_the_members_have_them():
    model = EnsembleSelectionClassifier(CLASSIFIERS, n_selected=5).fit(X_CLASS, NAMES)
    assert model.votes_ == "hard"
    weights = model.weights_[model.weights_ > 0]
    each = [member.predict_proba(X_CLASS) for member in model.estimators_]
    np.testing.assert_allclose(model.predict_proba(X_CLASS), np.tensordot(weights, each, axes=1))
    calibrated = CalibratedClassifierCV(EnsembleSelectionClassifier(CLASSIFIERS), cv=2)
    assert calibrated.fit(X_CLASS, NAMES).score(X_CLASS, NAMES) > 0.6
    assert not hasattr(EnsembleSelectionClassifier([LinearSVC()]), "predict_proba")
