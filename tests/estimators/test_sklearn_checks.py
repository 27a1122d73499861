"""scikit-learn's own checks of estimators."""

import pytest
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from sumwise import (
    Columns,
    Forest,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    Huber,
    Subsample,
    Tweedie,
)

# A leaf counts rows, not weights: only with one-row leaves is a weight the same as repetition.
SMALL = {"n_estimators": 10, "min_samples_leaf": 1}


# Estimators that take categories are checked with rounded numbers, those that do not with any.
CATEGORIES = {"leaf": "auto", "depth": None, "symmetric": "auto"}


@parametrize_with_checks(
    [
        estimator(**SMALL, growth=growth, categorical_features=CATEGORIES[growth])
        for estimator in (GradientBoostingClassifier, GradientBoostingRegressor)
        for growth in ("leaf", "depth", "symmetric")
    ]
    + [
        GradientBoostingClassifier(**SMALL, interaction_cst="no_interactions"),
        GradientBoostingRegressor(**SMALL, growth="symmetric", interaction_cst="pairwise"),
        GradientBoostingRegressor(**SMALL, multi_strategy="multi_output_tree"),
    ]
)
def test_sklearn_checks(estimator, check):
    check(estimator)


# Linear models take numbers as they are: no categories.
@parametrize_with_checks(
    [
        GradientBoostingClassifier(**SMALL, booster="dart"),
        GradientBoostingRegressor(**SMALL, booster=Forest(bootstrap=False)),
        GradientBoostingClassifier(**SMALL, booster="linear", categorical_features=None),
        GradientBoostingRegressor(**SMALL, booster="linear", categorical_features=None),
        GradientBoostingClassifier(**SMALL, leaves="linear", growth="symmetric"),
        GradientBoostingRegressor(**SMALL, leaves="linear"),
    ]
)
def test_sklearn_checks_of_boosters(estimator, check):
    check(estimator)


@parametrize_with_checks(
    [
        GradientBoostingClassifier(**SMALL, class_weight="balanced"),
        GradientBoostingRegressor(**SMALL, loss="absolute_error"),
        GradientBoostingRegressor(**SMALL, loss=Huber(quantile=0.8)),
        GradientBoostingRegressor(**SMALL, loss="poisson"),
        GradientBoostingRegressor(**SMALL, loss="gamma"),
    ]
)
def test_sklearn_checks_of_losses(estimator, check):
    check(estimator)


def expect_to_draw_by_row(estimator):
    """Drawing rows at random, like min_samples_leaf, tells a weight of two from two rows."""
    reason = "rows are drawn at random, whatever they weigh"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@parametrize_with_checks(
    [
        GradientBoostingClassifier(**SMALL, early_stopping=True, n_iter_no_change=3),
        GradientBoostingRegressor(
            **SMALL, sampler=Subsample(rate=0.7), columns=Columns(by_tree=0.8, by_node=0.7)
        ),
        GradientBoostingClassifier(**SMALL, sampler="goss"),
        GradientBoostingRegressor(**SMALL, booster="forest"),
    ],
    expected_failed_checks=expect_to_draw_by_row,
)
def test_sklearn_checks_with_sampling(estimator, check):
    check(estimator)


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
