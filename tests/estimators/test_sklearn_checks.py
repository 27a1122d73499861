"""scikit-learn's own checks of estimators."""

import pytest
from sklearn.utils import get_tags

from sumwise import (
    Columns,
    Forest,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    Huber,
    Subsample,
    Tweedie,
)
from tests.estimators.sklearn_checks import (
    WEIGHTS_ARE_REPETITIONS,
    parametrize_with_checks,
    run_check,
)

# A leaf counts rows, not weights: only with one-row leaves is a weight the same as repetition.
SMALL = {"n_estimators": 10, "min_samples_leaf": 1}


# Most checks say nothing about the options of an estimator, so that one estimator has several.
# Estimators that take categories are checked with rounded numbers, those that do not with any.
@parametrize_with_checks(
    [
        GradientBoostingClassifier(**SMALL),
        GradientBoostingClassifier(
            **SMALL, growth="depth", categorical_features=None, class_weight="balanced"
        ),
        GradientBoostingClassifier(**SMALL, booster="dart", interaction_cst="no_interactions"),
        GradientBoostingClassifier(**SMALL, growth="symmetric", leaves="linear"),
        GradientBoostingRegressor(**SMALL),
        GradientBoostingRegressor(**SMALL, growth="depth", categorical_features=None),
        GradientBoostingRegressor(**SMALL, growth="symmetric", interaction_cst="pairwise"),
        GradientBoostingRegressor(**SMALL, multi_strategy="multi_output_tree"),
        GradientBoostingRegressor(**SMALL, booster=Forest(bootstrap=False)),
        GradientBoostingRegressor(**SMALL, leaves="linear"),
        # Linear models take numbers as they are: no categories.
        GradientBoostingClassifier(**SMALL, booster="linear", categorical_features=None),
        GradientBoostingRegressor(**SMALL, booster="linear", categorical_features=None),
    ]
)
def test_sklearn_checks(estimator, check):
    check(estimator)


@parametrize_with_checks(
    [
        GradientBoostingRegressor(**SMALL, loss="absolute_error"),
        GradientBoostingRegressor(**SMALL, loss=Huber(quantile=0.8), growth="symmetric"),
        GradientBoostingRegressor(**SMALL, loss="poisson"),
        GradientBoostingRegressor(**SMALL, loss="gamma", growth="depth"),
    ]
)
def test_sklearn_checks_of_losses(estimator, check):
    check(estimator)


@parametrize_with_checks(
    [
        GradientBoostingClassifier(**SMALL, early_stopping=True, n_iter_no_change=3),
        GradientBoostingRegressor(
            **SMALL, sampler=Subsample(rate=0.7), columns=Columns(by_tree=0.8, by_node=0.7)
        ),
        GradientBoostingClassifier(**SMALL, sampler="goss"),
        GradientBoostingRegressor(**SMALL, booster="forest"),
    ]
)
def test_sklearn_checks_with_sampling(estimator, check):
    """Drawing rows at random, like min_samples_leaf, tells a weight of two from two rows."""
    run_check(estimator, check, failures=WEIGHTS_ARE_REPETITIONS)


@pytest.mark.parametrize("chosen", ["auto", ["a"], None])
def test_tags_say_whether_there_are_categories(chosen):
    tags = get_tags(GradientBoostingRegressor(categorical_features=chosen)).input_tags
    assert tags.categorical is (chosen is not None)
    assert tags.string


@pytest.mark.parametrize("loss", ["auto", "log_loss", "exponential"])
def test_tags_say_that_exponential_loss_is_for_two_classes(loss):
    tags = get_tags(GradientBoostingClassifier(loss=loss))
    assert tags.input_tags.allow_nan
    assert tags.input_tags.sparse
    assert tags.classifier_tags.multi_class is (loss != "exponential")


def test_tags_say_which_losses_are_of_positive_targets():
    for loss, expected in [("auto", False), ("poisson", True), (Tweedie(), True), (Huber(), False)]:
        tags = get_tags(GradientBoostingRegressor(loss=loss))
        assert tags.target_tags.positive_only is expected
