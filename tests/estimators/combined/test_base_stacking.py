import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import ensemble
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sumwise import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    StackingClassifier,
    StackingRegressor,
)
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.combined import out_of_fold
from sumwise.estimators.combined.out_of_fold import FoldModels
from tests.estimators.combined.stacks import (
    CANCER,
    DIABETES,
    IRIS,
    make_members,
    make_regressors,
)

# --- leaks ---


def fit_on_noise(cv, n_rows=300):
    """Fit a tree that memorizes random labels."""
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(n_rows, 5)), rng.randint(2, size=n_rows)
    members = [("tree", DecisionTreeClassifier(random_state=0)), ("bayes", GaussianNB())]
    return StackingClassifier(members, cv=cv).fit(X, y)


def is_misled(stack):
    """Whether the meta-learner relies on worthless predictions."""
    return np.abs(stack.final_estimator_.coef_[:, :2]).max() > 0.4


def test_predictions_of_rows_that_were_seen_mislead_and_are_found():
    everything = np.arange(300)
    leaky = fit_on_noise([(everything, everything)])
    assert leaky.leak_check()
    assert leaky.leak_check().rows.size == 300
    assert is_misled(leaky)


@pytest.mark.parametrize("cv", [5, KFold(20), LeaveOneOut()], ids=str)
def test_out_of_fold_predictions_do_not_mislead(cv):
    stack = fit_on_noise(cv, 100 if isinstance(cv, LeaveOneOut) else 300)
    assert not stack.leak_check()
    assert not is_misled(stack)


def test_a_leak_in_the_fold_loop_would_be_seen(monkeypatch):
    """The test above fails if models are fitted on all rows instead of those of their fold."""
    fit_clone = out_of_fold.fit_clone

    def fit_on_all(label, estimator, X, y, params):
        rng = np.random.RandomState(0)
        X, y = rng.normal(size=(300, 5)), rng.randint(2, size=300)
        return fit_clone(label, estimator, X, y, params)

    monkeypatch.setattr(out_of_fold, "fit_clone", fit_on_all)
    assert is_misled(fit_on_noise(5))


@pytest.mark.parametrize("share_bins", [True, False])
def test_no_target_of_a_row_reaches_its_own_meta_features(share_bins):
    """The targets of a fold affect the models of other folds, but not its own outputs."""
    X, y = DIABETES
    changed = y.copy()
    changed[:100] += 1000.0
    cv = [(np.arange(100, 442), np.arange(100))]
    members = [("trees", GradientBoostingRegressor(n_estimators=5))]
    stacks = [
        StackingRegressor(members, DecisionTreeRegressor(), cv=cv, share_bins=share_bins).fit(X, t)
        for t in (y, changed)
    ]
    trees = [stack.final_estimator_.tree_ for stack in stacks]
    assert trees[0].threshold.tolist() == trees[1].threshold.tolist()


def test_groups_are_held_out_together():
    X, y = CANCER
    groups = np.arange(len(y)) % 50
    stack = StackingClassifier(make_members(), cv=GroupKFold(3)).fit(X, y, groups=groups)
    assert not stack.leak_check()
    blind = StackingClassifier(make_members(), cv=3).fit(X, y, groups=groups)
    assert blind.leak_check().rows_of_seen_groups.size == len(y)


def test_groups_reach_members_that_hold_out_rows():
    X, y = CANCER
    groups = np.arange(len(y)) // 4
    member = GradientBoostingClassifier(n_estimators=20, early_stopping=True, random_state=0)
    plain = clone(member).fit(X, y, groups=groups)
    stack = StackingClassifier([("stops", member)], cv=GroupKFold(3), share_bins=False)
    stack.fit(X, y, groups=groups)
    np.testing.assert_array_equal(
        stack.estimators_[0].history_["validation_loss"], plain.history_["validation_loss"]
    )
    inner = StackingClassifier(make_members(), cv=GroupKFold(3))
    stack = StackingClassifier(make_members(), inner, cv=GroupKFold(3)).fit(X, y, groups=groups)
    assert not stack.final_estimator_.leak_check()


def test_rows_that_are_never_held_out_do_not_train_the_meta_learner():
    X, y = DIABETES
    stack = StackingRegressor(make_regressors(), cv=TimeSeriesSplit(3), passthrough=True)
    weight = np.ones(len(y))
    stack.fit(X, y, sample_weight=weight)
    assert not stack.leak_check()
    assert stack.leak_check().n_left_out == 112
    weight[:112] = 50.0  # they do train the members; their weights must not go astray
    assert stack.fit(X, y, sample_weight=weight).predict(X).shape == y.shape


def test_a_class_of_rows_that_are_never_held_out():
    X, y = IRIS
    later = np.flatnonzero(y > 0)
    cv = [(np.setdiff1d(np.arange(150), part), part) for part in (later[::2], later[1::2])]
    stack = StackingClassifier(make_members(), cv=cv).fit(X, y)
    probability = stack.predict_proba(X)
    assert probability.shape == (150, 3)
    assert not probability[:, 0].any()
    assert set(stack.predict(X)) == {1, 2}


def test_rows_that_are_held_out_several_times_are_averaged():
    X, y = IRIS
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    stack = StackingClassifier(make_members(), cv=cv).fit(X, y)
    assert not stack.leak_check()
    assert stack.score(X, y) > 0.9
    with pytest.raises(ParameterError, match="labels of member 'leaf' cannot be averaged"):
        StackingClassifier(make_members(), LogisticRegression(), cv=cv, stack_method="predict").fit(
            X, y
        )


# --- members ---


def test_fold_models_are_kept_without_a_refit():
    X, y = IRIS
    stack = StackingClassifier(make_members(), cv=4, refit=False).fit(X, y)
    (leaf, bayes) = stack.estimators_
    assert isinstance(leaf, FoldModels)
    assert len(leaf) == len(bayes) == 4
    mean = np.mean([model.predict_proba(X) for model in bayes.models], axis=0)
    np.testing.assert_allclose(stack.transform(X)[:, 3:], mean)
    assert stack.n_features_in_ == 4
    assert "FoldModels" in repr(leaf)
    labels = StackingClassifier(
        make_members(), LogisticRegression(), cv=4, refit=False, stack_method="predict"
    ).fit(X, y)
    assert set(np.unique(labels.transform(X))) <= {0.0, 1.0, 2.0}


def test_members_fitted_before():
    X, y = IRIS
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    members = [(name, clone(member).fit(X[::2], names[::2])) for name, member in make_members()]
    for method in ("auto", "predict"):
        stack = StackingClassifier(members, cv="prefit", stack_method=method)
        stack.fit(X[1::2], names[1::2])
        assert stack.estimators_[0] is members[0][1]
        assert stack.score(X, names) > 0.9
    report = stack.leak_check()
    assert report
    assert report.leaks is None
    assert str(report).startswith("unknown")


def test_members_without_names_are_called_by_their_class():
    members = [GaussianNB(), GradientBoostingClassifier(n_estimators=2)]
    stack = StackingClassifier(members, cv=2).set_params(gaussiannb__var_smoothing=1e-8)
    stack.fit(*IRIS)
    assert list(stack.named_estimators_) == ["gaussiannb", "gradientboostingclassifier"]
    assert stack.named_estimators_.gaussiannb.var_smoothing == 1e-8
    assert stack.get_feature_names_out()[0] == "stackingclassifier_gaussiannb0"


def test_a_member_can_be_dropped():
    X, y = IRIS
    stack = StackingClassifier(make_members(), cv=3).set_params(bayes="drop").fit(X, y)
    assert len(stack.estimators_) == 1
    assert stack.named_estimators_["bayes"] == "drop"
    assert stack.named_estimators["bayes"] == "drop"
    assert stack.transform(X).shape == (150, 3)


def test_members_that_are_pipelines_and_frames():
    X, y = load_iris(return_X_y=True, as_frame=True)
    members = [
        ("pipe", make_pipeline(StandardScaler(), LogisticRegression())),
        ("ours", GradientBoostingClassifier(n_estimators=5)),
    ]
    arrays = StackingClassifier(members, cv=3).fit(X.to_numpy(), y.to_numpy())
    expected = arrays.predict_proba(X.to_numpy())
    stack = StackingClassifier(members, cv=3).fit(X, y)
    np.testing.assert_array_equal(stack.predict_proba(X), expected)
    assert stack.feature_names_in_.tolist() == X.columns.tolist()
    frame = pl.from_pandas(X)
    stack = StackingClassifier(members[1:], cv=3).fit(frame.lazy(), pl.from_pandas(y))
    assert stack.predict(frame.lazy()).shape == (150,)


def test_categories_pass_through_to_the_meta_learner():
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X.assign(kind=pd.Categorical(np.array(["u", "v", "w"])[y.to_numpy()]))
    final = GradientBoostingClassifier(n_estimators=20, min_samples_leaf=5)
    members = [("ours", GradientBoostingClassifier(n_estimators=3, max_leaves=2))]
    stack = StackingClassifier(members, final, cv=3, passthrough=True).fit(X, y)
    assert stack.final_estimator_.feature_names_in_[-1] == "kind"
    assert stack.score(X, y) == 1.0


def test_texts_are_passed_on():
    from sklearn.feature_extraction.text import CountVectorizer

    texts = ["good fine", "bad poor", "good good", "poor bad bad"] * 5
    member = make_pipeline(CountVectorizer(), LogisticRegression())
    stack = StackingClassifier([("words", member)], cv=2).fit(texts, [1, 0, 1, 0] * 5)
    assert stack.predict(["fine", "poor"]).tolist() == [1, 0]


# --- shared bins ---


def test_shared_bins_give_nearly_the_same_stack():
    X, y = CANCER
    shared, alone = (
        StackingClassifier(make_members(20), cv=3, share_bins=share).fit(X, y)
        for share in (True, False)
    )
    # All rows train the final members, so these have the same bins.
    np.testing.assert_array_equal(
        shared.estimators_[0].predict_proba(X), alone.estimators_[0].predict_proba(X)
    )
    assert np.abs(shared.predict_proba(X) - alone.predict_proba(X)).mean() < 0.02


def test_x_is_binned_once_for_each_way_to_read_it(monkeypatch):
    calls = []
    read = out_of_fold.SharedTable.read

    def count(*arguments):
        calls.append(arguments)
        return read(*arguments)

    monkeypatch.setattr(out_of_fold.SharedTable, "read", count)
    X, y = IRIS
    members = [
        ("a", GradientBoostingClassifier(n_estimators=2)),
        ("b", GradientBoostingClassifier(n_estimators=2, growth="symmetric")),
        ("c", GradientBoostingClassifier(n_estimators=2, max_bins=10)),
        ("d", make_pipeline(GradientBoostingClassifier(n_estimators=2))),
    ]
    StackingClassifier(members, cv=3).fit(X, y)
    assert len(calls) == 2
    StackingClassifier(members, cv=3, share_bins=False).fit(X, y)
    assert len(calls) == 2


@pytest.mark.parametrize("refit", [True, False])
def test_any_number_of_threads_gives_the_same_stack(refit, monkeypatch):
    X, y = CANCER
    members = [
        ("leaf", GradientBoostingClassifier(n_estimators=5)),
        ("drawn", GradientBoostingClassifier(n_estimators=5, sampler="subsample", random_state=0)),
    ]
    one = StackingClassifier(members, cv=3, refit=refit)
    one.set_params(leaf__n_jobs=1, drawn__n_jobs=1).fit(X, y)
    monkeypatch.setattr(out_of_fold, "count_threads", lambda n_jobs, n_steps: 3)
    three = StackingClassifier(members, cv=3, refit=refit).fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(X), three.predict_proba(X))


def test_an_error_in_one_fit_ends_the_others(monkeypatch):
    monkeypatch.setattr(out_of_fold, "count_threads", lambda n_jobs, n_steps: 2)
    X, y = IRIS
    members = [
        ("good", GradientBoostingClassifier(n_estimators=100_000)),
        ("bad", GradientBoostingClassifier(growth="sideways")),
    ]
    with pytest.raises(ParameterError, match="growth='sideways'"):
        StackingClassifier(members, cv=2).fit(X, y)


def test_fits_that_are_watched_run_one_after_the_other(monkeypatch):
    monkeypatch.setattr(out_of_fold, "count_threads", lambda n_jobs, n_steps: 2)
    rounds = []
    member = GradientBoostingClassifier(
        n_estimators=3, callbacks=[lambda state: rounds.append(state.round_number)]
    )
    StackingClassifier([("told", member)], cv=2).fit(*IRIS)
    assert rounds == [1, 2, 3] * 3


def test_rows_drawn_twice_count_twice():
    X, y = DIABETES
    drawn = np.random.RandomState(0).randint(300, size=300)
    cv = [(drawn, np.arange(300, 442))]
    members = [("trees", GradientBoostingRegressor(n_estimators=5))]
    stack = StackingRegressor(members, Ridge(), cv=cv, refit=False).fit(X, y)
    expected = members[0][1].fit(X[drawn], y[drawn])
    np.testing.assert_array_equal(stack.transform(X)[:, 0], expected.predict(X))
    with pytest.raises(ParameterError, match="cv names no training row twice"):
        stack.set_params(share_bins=True).fit(X, y)


def test_share_bins_can_be_demanded():
    with pytest.raises(ParameterError, match="share_bins=True: no member can share bins"):
        StackingClassifier([("bayes", GaussianNB())], share_bins=True).fit(*IRIS)
    with pytest.raises(ParameterError, match="share_bins='yes'"):
        StackingClassifier([("bayes", GaussianNB())], share_bins="yes").fit(*IRIS)


# --- members that were fitted before, weights and classes ---


def test_frozen_members_equal_scikit_learns():
    X, y = CANCER
    names = np.array(["no", "yes"])[y]
    members = [
        (
            "frozen",
            FrozenEstimator(GradientBoostingClassifier(n_estimators=5).fit(X[:200], names[:200])),
        ),
        ("bayes", GaussianNB()),
    ]
    theirs = ensemble.StackingClassifier(members, DecisionTreeClassifier(random_state=0)).fit(
        X, names
    )
    ours = StackingClassifier(members, DecisionTreeClassifier(random_state=0)).fit(X, names)
    assert ours.estimators_[0] is members[0][1]
    np.testing.assert_array_equal(ours.transform(X), theirs.transform(X))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("refit", [True, False])
def test_nobody_knows_which_rows_a_frozen_member_saw(refit):
    X, y = DIABETES
    frozen = FrozenEstimator(Ridge().fit(X, y))
    stack = StackingRegressor([("frozen", frozen), ("ridge", Ridge())], refit=refit).fit(X, y)
    report = stack.leak_check()
    assert report.leaks is None
    assert report
    assert str(report).startswith("unknown")
    np.testing.assert_array_equal(stack.transform(X)[:, 0], frozen.predict(X))


def test_a_frozen_meta_learner_stays_as_it_is():
    X, y = DIABETES
    members = make_regressors()
    final = Ridge().fit(np.zeros((3, 2)), [1.0, 2.0, 3.0])
    stack = StackingRegressor(members, FrozenEstimator(final)).fit(X, y)
    assert set(stack.predict(X)) == {2.0}


def test_folds_without_weight_are_refused():
    X, y = DIABETES
    members = [("a", GradientBoostingRegressor(n_estimators=2)), ("b", Ridge())]
    weight = np.zeros(len(y))
    weight[7] = 1.0
    with pytest.raises(
        DataError, match="all sample weights are zero in the training rows of fold 0"
    ):
        StackingRegressor(members).fit(X, y, sample_weight=weight)


def test_one_class_as_in_scikit_learn():
    """Members and meta-learner decide whether they accept a single class."""
    X, _ = IRIS
    y = np.full(150, "only")
    members = [("bayes", GaussianNB()), ("tree", DecisionTreeClassifier())]
    final = DecisionTreeClassifier()
    theirs = ensemble.StackingClassifier(members, final).fit(X, y)
    ours = StackingClassifier(members, final).fit(X, y)
    np.testing.assert_array_equal(ours.transform(X), theirs.transform(X))
    np.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))
    assert set(ours.predict(X)) == {"only"}
    with pytest.raises(ValueError, match=r"^final_estimator \(LogisticRegression\) failed to fit"):
        StackingClassifier(members, LogisticRegression()).fit(X, y)


def test_progress_names_members_and_folds(capsys):
    X, y = DIABETES
    StackingRegressor(make_regressors(), cv=3, verbose=True).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" ... ")[0] for line in lines] == [
        "fitting member 2 of 2: ridge, 3 folds and all rows",
        "fitting member 1 of 2: leaf, 3 folds and all rows",
        "fitting the meta-learner",
    ]


def test_a_member_with_bad_parameters_is_named_before_bins_are_made():
    X, y = DIABETES
    with pytest.raises(ParameterError, match=r"member 'leaf' \(GradientBoostingReg.*max_bins=1"):
        StackingRegressor([("leaf", GradientBoostingRegressor(max_bins=1))]).fit(X, y)
