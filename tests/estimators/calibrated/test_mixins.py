"""The methods of calibrated estimators: what they need, and what they return."""

import itertools

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from sumwise import (
    BaggingClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sumwise.errors import ExplanationError, ParameterError
from sumwise.inspection import partial_dependence, permutation_importance
from tests.estimators.sklearn_checks import (
    WEIGHTS_ARE_REPETITIONS,
    parametrize_with_checks,
    run_check,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3)).round(1)
Y = X[:, 0] + RNG.normal(size=90)
CLASSIFIERS = [GradientBoostingClassifier, RandomForestClassifier, ExtraTreesClassifier]
REGRESSORS = [GradientBoostingRegressor, RandomForestRegressor, ExtraTreesRegressor]


@pytest.mark.parametrize("kind", [*CLASSIFIERS, *REGRESSORS])
def test_intervals_and_sets_need_a_parameter(kind):
    is_class = kind in CLASSIFIERS
    method = "predict_set" if is_class else "predict_interval"
    model = kind(n_estimators=3, random_state=0)
    with pytest.raises(NotFittedError):
        getattr(model, method)(X)
    model.fit(X, Y > 0 if is_class else Y)
    with pytest.raises(ParameterError, match=f"{method} needs conformal=True: set it before fit"):
        getattr(model, method)(X)
    with pytest.raises(ParameterError, match="fitted without it"):
        getattr(model.set_params(conformal=True), method)(X)
    found = getattr(model.fit(X, Y > 0 if is_class else Y), method)(X[:5], 0.5)
    assert found.shape == (5, 2)
    assert found.dtype == (np.bool_ if is_class else np.float64)


@pytest.mark.parametrize("kind", [GradientBoostingRegressor, RandomForestRegressor])
def test_intervals_grow_with_the_coverage(kind):
    model = kind(n_estimators=10, conformal=True, random_state=0).fit(X, Y)
    bounds = [model.predict_interval(X, coverage) for coverage in (0.2, 0.5, 0.8, 0.9)]
    for narrow, wide in itertools.pairwise(bounds):
        assert (wide[:, 0] <= narrow[:, 0]).all()
        assert (narrow[:, 1] <= wide[:, 1]).all()


def test_a_new_fit_forgets_the_old_one():
    model = GradientBoostingClassifier(n_estimators=3, calibrate="logistic", conformal=True)
    model.fit(X, Y > 0).set_params(calibrate=None, conformal=False).fit(X, Y > 0)
    assert not hasattr(model, "calibration_")
    assert not hasattr(model, "conformal_")


def test_calibrated_models_can_be_scored_and_searched():
    model = RandomForestClassifier(10, calibrate="isotonic", random_state=0)
    assert cross_val_score(model, X, Y > 0, scoring="neg_log_loss", cv=3).mean() > -0.8


@pytest.mark.parametrize("kind", [GradientBoostingClassifier, RandomForestClassifier])
def test_partial_dependence_is_one_of_calibrated_probabilities(kind):
    model = kind(n_estimators=10, calibrate="logistic", random_state=0).fit(X, Y > 0)
    found = partial_dependence(model, X, [0], response_method="predict_proba", grid_resolution=5)
    moved = X.copy()
    moved[:, 0] = found.grid_values[0][0]
    expected = model.predict_proba(moved)[:, 1].mean()
    np.testing.assert_allclose(found.average[0, 0], expected)


@pytest.mark.parametrize("kind", [GradientBoostingClassifier, RandomForestClassifier])
def test_permutation_importance_is_one_of_calibrated_probabilities(kind):
    model = kind(n_estimators=10, calibrate="logistic", random_state=0).fit(X, Y > 0)
    options = {"scoring": "neg_log_loss", "n_repeats": 2, "random_state": 0}
    found = permutation_importance(model, X, Y > 0, **options)
    expected = permutation_importance(make_pipeline(model), X, Y > 0, **options)
    np.testing.assert_allclose(found.importances, expected.importances)


@pytest.mark.parametrize("kind", [RandomForestClassifier, BaggingClassifier])
def test_explanations_are_of_probabilities_before_calibration(kind):
    model = kind(n_estimators=10, calibrate="logistic", random_state=0).fit(X, Y > 0)
    plain = kind(n_estimators=10, random_state=0).fit(X, Y > 0)
    found = model.explain(X[:5])
    assert found.scale == "probability before calibration"
    total = found.values.sum(axis=1) + found.base_values
    np.testing.assert_allclose(total, plain.predict_proba(X[:5])[:, 1], atol=1e-12)
    vote = VotingClassifier([("a", model), ("b", plain)], votes="soft").fit(X, Y > 0)
    with pytest.raises(ExplanationError, match="add up to its probability before calibration"):
        vote.explain(X[:5])


# Some classes of the checks' small data have only one row: some folds lack them.
FOLD_FAILURES = (
    *WEIGHTS_ARE_REPETITIONS,
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_f_contiguous_array_estimator",
    "check_fit2d_predict1d",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
)
# Calibrated probabilities are those of the rows as they are, without class weights. There is no
# calibration of several outputs.
FOREST_FAILURES = (
    *WEIGHTS_ARE_REPETITIONS,
    "check_class_weight_classifiers",
    "check_classifier_multioutput",
    "check_classifiers_multilabel_representation_invariance",
    "check_classifiers_multilabel_output_format_predict",
    "check_classifiers_multilabel_output_format_predict_proba",
    "check_classifiers_multilabel_output_format_decision_function",
)
FAST = {"n_estimators": 5, "conformal": True, "calibration_rows": 2, "random_state": 0}


@parametrize_with_checks([GradientBoostingRegressor(**FAST, min_samples_leaf=1)])
def test_sklearn_checks_of_intervals(estimator, check):
    run_check(estimator, check)


@parametrize_with_checks([RandomForestRegressor(n_estimators=5, conformal=True)])
def test_sklearn_checks_of_out_of_bag_intervals(estimator, check):
    run_check(estimator, check, WEIGHTS_ARE_REPETITIONS)


@parametrize_with_checks(
    [GradientBoostingClassifier(**FAST, min_samples_leaf=1, calibrate="temperature")]
)
def test_sklearn_checks_of_calibration(estimator, check):
    run_check(estimator, check, FOLD_FAILURES)


@parametrize_with_checks(
    [RandomForestClassifier(n_estimators=20, conformal=True, calibrate="logistic")]
)
def test_sklearn_checks_of_out_of_bag_calibration(estimator, check):
    run_check(estimator, check, FOREST_FAILURES)
