import pickle

import numpy as np
import pytest
import sklearn
from sklearn import ensemble
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.linear_model import BayesianRidge, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sumwise import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    MultiResponseLinear,
    StackingClassifier,
    StackingRegressor,
)
from sumwise.errors import ParameterError
from tests.estimators.combined.stacks import (
    CANCER,
    DIABETES,
    IRIS,
    make_members,
    make_regressors,
)
from tests.estimators.sklearn_checks import parametrize_with_checks

SMALL = {"n_estimators": 3, "min_samples_leaf": 1, "n_jobs": 1}


@parametrize_with_checks(
    [
        StackingClassifier(
            [
                ("ours", GradientBoostingClassifier(**SMALL)),
                ("tree", DecisionTreeClassifier(max_depth=3, random_state=0)),
            ],
            cv=3,
        ),
        StackingRegressor(
            [
                ("ours", GradientBoostingRegressor(**SMALL)),
                ("tree", DecisionTreeRegressor(max_depth=3, random_state=0)),
            ],
            cv=3,
            refit=False,
        ),
    ]
)
def test_sklearn_checks(estimator, check):
    check(estimator)


# --- the same as scikit-learn ---


@pytest.mark.parametrize("data", [IRIS, CANCER], ids=["three", "two"])
@pytest.mark.parametrize("passthrough", [False, True])
@pytest.mark.parametrize("method", ["auto", "predict"])
def test_equals_scikit_learn(data, passthrough, method):
    X, y = data
    options = {"cv": 3, "passthrough": passthrough, "stack_method": method}
    final = make_pipeline(StandardScaler(), LogisticRegression())
    theirs = ensemble.StackingClassifier(make_members(), final, **options).fit(X, y)
    ours = StackingClassifier(make_members(), final, share_bins=False, **options).fit(X, y)
    np.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.transform(X), theirs.transform(X))
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    assert ours.stack_method_ == theirs.stack_method_


def test_decision_values_equal_scikit_learn():
    X, y = CANCER
    members = [("ridge", RidgeClassifier()), ("svc", LinearSVC(random_state=0, C=1e-4))]
    options = {"cv": 3, "stack_method": "decision_function"}
    theirs = ensemble.StackingClassifier(members, LogisticRegression(), **options).fit(X, y)
    ours = StackingClassifier(members, LogisticRegression(), **options).fit(X, y)
    np.testing.assert_array_equal(ours.decision_function(X), theirs.decision_function(X))


def test_regression_equals_scikit_learn():
    X, y = DIABETES
    weight = np.random.RandomState(0).rand(len(y))
    theirs = ensemble.StackingRegressor(make_regressors(), Ridge(), cv=3)
    ours = StackingRegressor(make_regressors(), Ridge(), cv=3, share_bins=False)
    theirs.fit(X, y, sample_weight=weight)
    ours.fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(
        StackingRegressor(make_regressors(), Ridge(), cv=3, share_bins=False, n_jobs=2)
        .fit(X, y, sample_weight=weight)
        .predict(X),
        ours.predict(X),
    )


# --- meta-features and meta-learners ---


def test_the_default_for_classes_regresses_indicators_on_probabilities():
    X, y = IRIS
    members = make_members()
    names = np.array(["setosa", "versicolor", "virginica"])
    stack = StackingClassifier(members, cv=KFold(3, shuffle=True, random_state=0), share_bins=False)
    stack.fit(X, names[y])
    cv = KFold(3, shuffle=True, random_state=0)
    features = np.hstack(
        [cross_val_predict(member, X, y, cv=cv, method="predict_proba") for _, member in members]
    )
    expected = MultiResponseLinear().fit(features, y)
    np.testing.assert_allclose(stack.final_estimator_.coef_, expected.coef_, atol=1e-12)
    assert stack.transform(X).shape == (len(y), 6)
    assert stack.predict(X[:1]) == ["setosa"]
    np.testing.assert_allclose(stack.predict_proba(X).sum(axis=1), 1.0)


def test_stacking_c_uses_own_class_of_two_classes_and_of_labels():
    X, y = CANCER
    final = MultiResponseLinear(own_class_only=True, nonnegative=True)
    for method in ("auto", "predict"):
        stack = StackingClassifier(make_members(), final, cv=3, stack_method=method).fit(X, y)
        coef = stack.final_estimator_.coef_
        assert coef.shape == (2, 4)
        assert not coef[0, 1::2].any()
        assert not coef[1, 0::2].any()
        assert (coef >= 0).all()
        assert stack.score(X, y) > 0.9


def test_stacking_c_needs_one_column_per_class():
    X, y = CANCER
    final = MultiResponseLinear(own_class_only=True)
    members = [*make_members(), ("ridge", RidgeClassifier())]
    with pytest.raises(ParameterError, match="own_class_only needs one column per class"):
        StackingClassifier(members, final, cv=3).fit(X, y)
    with pytest.raises(ParameterError, match="own_class_only needs one column per class"):
        StackingClassifier(make_members(), final, cv=3, passthrough=True).fit(X, y)


def test_the_default_for_numbers_is_least_squares():
    X, y = DIABETES
    stack = StackingRegressor(make_regressors(), cv=3, share_bins=False).fit(X, y)
    features = np.column_stack(
        [cross_val_predict(member, X, y, cv=3) for _, member in make_regressors()]
    )
    design = np.column_stack([np.ones(len(y)), features])
    intercept, *coef = np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose(stack.final_estimator_.coef_, coef)
    np.testing.assert_allclose(stack.final_estimator_.intercept_, intercept)


def test_a_stack_of_stacks():
    X, y = IRIS
    inner = StackingClassifier(
        [("tree", DecisionTreeClassifier(max_depth=2)), ("bayes", GaussianNB())], cv=3
    )
    stack = StackingClassifier(make_members(), inner, cv=3, passthrough=True).fit(X, y)
    assert stack.score(X, y) > 0.9
    assert not stack.leak_check()
    assert not stack.final_estimator_.leak_check()
    assert stack.final_estimator_.n_features_in_ == 2 * 3 + 4
    stack.set_params(final_estimator__tree__max_depth=1)
    assert inner.estimators[0][1].max_depth == 1
    member = StackingClassifier([("inner", inner), ("bayes", GaussianNB())], cv=3).fit(X, y)
    assert member.score(X, y) > 0.9


def test_meta_learners_may_pass_parameters_of_predict():
    X, y = DIABETES
    stack = StackingRegressor(make_regressors(), BayesianRidge(), cv=3).fit(X, y)
    mean, spread = stack.predict(X, return_std=True)
    assert mean.shape == spread.shape == y.shape


# --- scikit-learn's machinery ---


def test_grid_search_clone_and_pickle():
    X, y = IRIS
    grid = {"leaf__max_leaves": [2, 5], "final_estimator": [None, LogisticRegression()]}
    search = GridSearchCV(StackingClassifier(make_members(), cv=2), grid, cv=2).fit(X, y)
    assert search.best_score_ > 0.8
    best = search.best_estimator_
    again = pickle.loads(pickle.dumps(best))
    np.testing.assert_array_equal(again.predict_proba(X), best.predict_proba(X))
    assert not hasattr(clone(best), "estimators_")
    assert cross_val_score(best, X, y, cv=2).mean() > 0.8


def test_the_model_keeps_nothing_as_long_as_x():
    X, y = DIABETES
    sizes = []
    for repeat in (1, 8):
        many, targets = np.tile(X, (repeat, 1)), np.tile(y, repeat)
        stack = StackingRegressor([("ridge", Ridge())], cv=3)
        stack.fit(many, targets, sample_weight=np.ones(len(targets)))
        sizes.append(len(pickle.dumps(stack)))
    assert sizes[1] - sizes[0] < 3 * len(y) * 8


class OnlyPredicts(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_members_without_weights():
    members = [("plain", OnlyPredicts())]
    with pytest.raises(TypeError, match="OnlyPredicts does not support sample weights"):
        StackingClassifier(members, cv=2).fit(*IRIS, sample_weight=np.ones(150))
    assert StackingClassifier(members, cv=2).fit(*IRIS).stack_method_ == ["predict"]


def test_methods_follow_the_meta_learner():
    assert hasattr(StackingClassifier(make_members()), "predict_proba")
    assert not hasattr(StackingClassifier(make_members()), "decision_function")
    ridge = StackingClassifier(make_members(), RidgeClassifier())
    assert not hasattr(ridge, "predict_proba")
    assert hasattr(ridge, "decision_function")


@pytest.mark.parametrize(
    ("estimators", "message"),
    [
        ([], "non-empty list"),
        ([("a", "drop")], "All estimators are dropped"),
        ([("a", GaussianNB)], "should be a classifier instance"),
        ([("a", "skip"), ("b", GaussianNB())], "'skip' is not an estimator"),
        ([("a", GaussianNB()), ("a", GaussianNB())], "not unique"),
    ],
)
def test_bad_members(estimators, message):
    with pytest.raises(ValueError, match=message):
        StackingClassifier(estimators).fit(*IRIS)


def test_other_bad_parameters():
    X, y = IRIS
    members = make_members()
    with pytest.raises(ParameterError, match="must be a classifier"):
        StackingClassifier(members, Ridge()).fit(X, y)
    with pytest.raises(ParameterError, match="must be a regressor"):
        StackingRegressor(make_regressors(), GaussianNB()).fit(X, y)
    with pytest.raises(ParameterError, match=r"Classifier \('leaf'\) should be a regressor"):
        StackingRegressor(members).fit(X, y)
    with pytest.raises(ParameterError, match="no method decision_function"):
        StackingClassifier(members[1:], stack_method="decision_function").fit(X, y)
    with pytest.raises(ParameterError, match="stack_method='odds'"):
        StackingClassifier(members, stack_method="odds").fit(X, y)
    with pytest.raises(ParameterError, match="takes sample_weight and groups"):
        StackingClassifier(members).fit(X, y, color="red")


def test_names_of_columns_are_checked():
    X, y = load_iris(return_X_y=True, as_frame=True)
    stack = StackingClassifier(make_members(), cv=2, passthrough=True).fit(X, y)
    assert stack.get_feature_names_out()[-4:].tolist() == X.columns.tolist()
    with pytest.raises(ValueError, match="not equal to feature_names_in_"):
        stack.get_feature_names_out(["a", "b", "c", "d"])
    unnamed = StackingClassifier(make_members(), cv=2, passthrough=True).fit(*IRIS)
    assert unnamed.get_feature_names_out()[-1] == "x3"
    with pytest.raises(ValueError, match="should have length equal"):
        unnamed.get_feature_names_out(["a"])


def test_a_stack_cannot_be_saved_and_says_what_can():
    stack = StackingClassifier(make_members(), cv=2).fit(*IRIS)
    with pytest.raises(TypeError, match=r"use pickle, or skops.io.dump"):
        stack.save("stack.sumwise")


def test_metadata_is_routed():
    X, y = CANCER
    weight = np.random.RandomState(0).rand(len(y))
    groups = np.arange(len(y)) // 4
    with sklearn.config_context(enable_metadata_routing=True):
        requests = {"sample_weight": True, "groups": False}
        members = [
            ("weighs", GradientBoostingClassifier(**SMALL).set_fit_request(**requests)),
            ("does_not", GaussianNB().set_fit_request(sample_weight=False)),
        ]
        stack = StackingClassifier(members, cv=GroupKFold(3))
        stack.fit(X, y, sample_weight=weight, groups=groups)
        assert not stack.leak_check()
        expected = GradientBoostingClassifier(**SMALL).fit(X, y, weight)
        np.testing.assert_array_equal(
            stack.estimators_[0].predict_proba(X), expected.predict_proba(X)
        )
        np.testing.assert_array_equal(
            stack.estimators_[1].predict_proba(X), GaussianNB().fit(X, y).predict_proba(X)
        )
        with pytest.raises(TypeError, match="unexpected"):
            stack.fit(X, y, color="red")
        final = BayesianRidge().set_predict_request(return_std=True)
        regressor = StackingRegressor(make_regressors(), final, cv=3).fit(*DIABETES)
        assert len(regressor.predict(DIABETES[0], return_std=True)) == 2


def test_logarithms_of_probabilities():
    X, y = IRIS
    stack = StackingClassifier(make_members()[1:]).fit(X, y)
    with np.errstate(divide="ignore"):
        expected = np.log(stack.predict_proba(X))
    np.testing.assert_array_equal(stack.predict_log_proba(X), expected)
    assert not hasattr(StackingClassifier(make_members(), LinearSVC()), "predict_log_proba")
