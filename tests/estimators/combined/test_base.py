"""What all ensembles of given members have in common."""

import pickle
from typing import ClassVar

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, RepeatedKFold, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sumwise import (
    AveragingRegressor,
    BayesianAveragingClassifier,
    BayesianAveragingRegressor,
    EnsembleSelectionClassifier,
    EnsembleSelectionRegressor,
    GradientBoostingClassifier,
    VotingClassifier,
)
from sumwise.errors import DataError, ParameterError

X_IRIS, Y_IRIS = load_iris(return_X_y=True)
X_DIABETES, Y_DIABETES = load_diabetes(return_X_y=True)
CLASSIFIERS = [VotingClassifier, BayesianAveragingClassifier, EnsembleSelectionClassifier]
REGRESSORS = [AveragingRegressor, BayesianAveragingRegressor, EnsembleSelectionRegressor]


def class_members():
    return [
        ("tree", DecisionTreeClassifier(max_depth=3, random_state=0)),
        ("bayes", GaussianNB()),
        ("line", make_pipeline(StandardScaler(), LogisticRegression())),
    ]


def number_members():
    return [
        ("tree", DecisionTreeRegressor(max_depth=3, random_state=0)),
        ("line", LinearRegression()),
        ("near", KNeighborsRegressor()),
    ]


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_classifiers_with_labels_of_strings(kind):
    names = np.array(["setosa", "versicolor", "virginica"])[Y_IRIS]
    model = kind(class_members(), **({} if kind is VotingClassifier else {"random_state": 0}))
    model.fit(X_IRIS, names)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert model.score(X_IRIS, names) > 0.9
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X_IRIS), model.predict(X_IRIS))


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_any_number_of_jobs_gives_the_same_model(kind, n_jobs):
    is_class = kind in CLASSIFIERS
    X, y = (X_IRIS, Y_IRIS) if is_class else (X_DIABETES, Y_DIABETES)
    members = class_members() if is_class else number_members()
    options = {} if kind is AveragingRegressor else {"random_state": 0}
    model = kind(members, n_jobs=n_jobs, **options).fit(X, y)
    other = kind(members, **options).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), other.predict(X))
    np.testing.assert_array_equal(model.weights_, other.weights_)


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_fitted_members_are_taken_as_they_are(kind):
    is_class = kind in CLASSIFIERS
    X, y = (X_IRIS, Y_IRIS) if is_class else (X_DIABETES, Y_DIABETES)
    labels = np.array(["a", "b", "c"])[y] if is_class else y
    members = [
        (name, member.fit(X[::2], labels[::2]))
        for name, member in (class_members() if is_class else number_members())
    ]
    model = kind(members, prefit=True).fit(X[1::2], labels[1::2])
    for name, member in model.named_estimators_.items():
        assert member is dict(members)[name]
    frozen = kind([(name, FrozenEstimator(member)) for name, member in members])
    again = clone(frozen).fit(X[1::2], labels[1::2])
    if kind is not BayesianAveragingRegressor and kind is not BayesianAveragingClassifier:
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(ParameterError, match="not fitted; prefit=True"):
        clone(kind(members, prefit=True)).fit(X, labels)


def test_fitted_members_may_know_other_classes():
    labels = np.array(["a", "b", "c"])[Y_IRIS]
    two = GaussianNB().fit(X_IRIS[50:], labels[50:])
    three = GaussianNB().fit(X_IRIS, labels)
    model = VotingClassifier([two, three], prefit=True).fit(X_IRIS[50:], labels[50:])
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.votes_ == "soft"
    expected = three.predict_proba(X_IRIS)
    expected[:, 1:] += two.predict_proba(X_IRIS)
    np.testing.assert_allclose(model.predict_proba(X_IRIS), expected / 2)


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_save_points_to_pickle_and_skops(kind, tmp_path):
    with pytest.raises(TypeError, match=r"pickle, or skops"):
        kind(class_members()).save(tmp_path / "model")


def test_frames_reach_members_untouched():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"kind": pandas.Categorical(["a", "b"] * 50), "x": np.arange(100.0)})
    y = (frame["kind"] == "a").astype(int)
    booster = GradientBoostingClassifier(n_estimators=5, min_samples_leaf=2)
    model = VotingClassifier([booster, clone(booster)], rule="weighted", weights="accuracy")
    model.fit(frame, y)
    assert model.feature_names_in_.tolist() == ["kind", "x"]
    assert model.score(frame, y) == 1.0
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"x": "z"}))


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_other_frames_reach_members_untouched(library):
    pytest.importorskip(library)
    values = {"kind": ["a", "b"] * 50, "x": np.arange(100.0)}
    frame = getattr(pytest.importorskip(library), "DataFrame", None)
    frame = frame(values) if frame else pytest.importorskip(library).table(values)
    booster = GradientBoostingClassifier(n_estimators=5, min_samples_leaf=2)
    model = EnsembleSelectionClassifier([booster, clone(booster)], cv=2)
    y = np.array([1, 0] * 50)
    assert model.fit(frame, y).score(frame, y) == 1.0


def test_sample_weights_reach_members_and_learned_weights():
    rng = np.random.default_rng(0)
    weight = rng.random(len(Y_DIABETES))
    model = AveragingRegressor([("line", LinearRegression())])
    model.fit(X_DIABETES, Y_DIABETES, sample_weight=weight)
    alone = LinearRegression().fit(X_DIABETES, Y_DIABETES, sample_weight=weight)
    np.testing.assert_allclose(model.predict(X_DIABETES), alone.predict(X_DIABETES))
    model = AveragingRegressor(number_members()[:2], weights="inverse_error")
    plain = model.fit(X_DIABETES, Y_DIABETES).weights_
    weighted = model.fit(X_DIABETES, Y_DIABETES, sample_weight=weight).weights_
    assert (plain != weighted).any()
    with pytest.raises(TypeError, match="does not support sample weights"):
        AveragingRegressor(number_members()).fit(X_DIABETES, Y_DIABETES, sample_weight=weight)
    with pytest.raises(ValueError, match="other"):
        AveragingRegressor(number_members()).fit(X_DIABETES, Y_DIABETES, other=1)


def test_folds_must_not_overlap():
    cv = RepeatedKFold(n_splits=2, n_repeats=2)
    with pytest.raises(DataError, match="more than once"):
        AveragingRegressor(number_members(), weights="least_squares", cv=cv).fit(
            X_DIABETES, Y_DIABETES
        )


def test_rows_that_no_fold_tests_count_nothing():
    cv = TimeSeriesSplit(3)
    model = AveragingRegressor(number_members(), weights="inverse_error", cv=cv)
    model.fit(X_DIABETES, Y_DIABETES)
    tested = [
        LinearRegression().fit(X_DIABETES[a], Y_DIABETES[a]).predict(X_DIABETES[b]) - Y_DIABETES[b]
        for a, b in cv.split(X_DIABETES)
    ]
    assert model.member_errors_[1] == pytest.approx(np.mean(np.concatenate(tested) ** 2))


def test_a_number_of_folds_keeps_groups_together():
    """Each row twice, in one group: a model that saw its twin would know its target."""
    X, y = np.repeat(X_DIABETES, 2, axis=0), np.repeat(Y_DIABETES, 2)
    members = [("near", KNeighborsRegressor(1)), ("line", LinearRegression())]
    model = AveragingRegressor(members, weights="inverse_error", cv=KFold(5, shuffle=True))
    assert model.fit(X, y).weights_[0] > 0.5
    model.set_params(cv=5).fit(X, y, groups=np.repeat(np.arange(len(Y_DIABETES)), 2))
    assert model.weights_[0] < 0.4


class Recorder(GaussianNB):
    """Records the arguments of its fits on the class, because clones share nothing else."""

    fits: ClassVar[list] = []

    def fit(self, X, y, sample_weight=None):
        self.fits.append((self.var_smoothing, sample_weight))
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (VotingClassifier, {}),
        (VotingClassifier, {"rule": "weighted", "weights": "learned"}),
        (VotingClassifier, {"calibrate": "sigmoid", "cv": 3}),
        (BayesianAveragingClassifier, {"n_draws": 10}),
        (EnsembleSelectionClassifier, {}),
    ],
)
def test_members_get_what_they_request(kind, options):
    """Weights go to the member that requests them, in every fold; groups to the splitter."""
    given = {"sample_weight": np.linspace(1.0, 2.0, 150), "groups": np.arange(150) % 50}
    if "cv" in options:  # of the calibration, where groups are for nobody
        del given["groups"]
    with sklearn.config_context(enable_metadata_routing=True):
        asks = Recorder(var_smoothing=1e-8).set_fit_request(sample_weight=True)
        declines = Recorder().set_fit_request(sample_weight=False)
        model = kind([("asks", asks), ("declines", declines)], **{"cv": GroupKFold(3), **options})
        Recorder.fits.clear()
        model.fit(X_IRIS, Y_IRIS, **given)
        assert {smoothing for smoothing, _ in Recorder.fits} == {1e-8, 1e-9}
        for smoothing, weight in Recorder.fits:
            assert (weight is not None) == (smoothing == 1e-8)
        silent = kind([("silent", GaussianNB())])
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            silent.fit(X_IRIS, Y_IRIS, sample_weight=given["sample_weight"])


def test_metadata_is_routed():
    with sklearn.config_context(enable_metadata_routing=True):
        weight = np.ones(len(Y_DIABETES))
        weight[:100] = 0.0
        line = LinearRegression().set_fit_request(sample_weight=True)
        tree = DecisionTreeRegressor(random_state=0).set_fit_request(sample_weight=False)
        groups = np.arange(len(weight)) // 10
        model = AveragingRegressor(
            [("line", line), ("tree", tree)], weights="least_squares", cv=GroupKFold(4)
        )
        model.fit(X_DIABETES, Y_DIABETES, sample_weight=weight, groups=groups)
        alone = LinearRegression().fit(X_DIABETES[100:], Y_DIABETES[100:])
        np.testing.assert_allclose(model.named_estimators_.line.coef_, alone.coef_)
        plain = DecisionTreeRegressor(random_state=0).fit(X_DIABETES, Y_DIABETES)
        assert model.named_estimators_.tree.get_n_leaves() == plain.get_n_leaves()


def test_groups_stay_in_one_fold():
    groups = np.tile(np.arange(50), 4)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))[groups]  # rows of a group are the same
    y = rng.normal(size=50)[groups]
    members = [("near", KNeighborsRegressor(1)), ("line", LinearRegression())]
    model = AveragingRegressor(members, weights="inverse_error")
    leaked = model.fit(X, y).member_errors_[0]
    assert model.fit(X, y, groups=groups).member_errors_[0] > 1.0 > leaked


def test_folds_of_time_leave_rows_out():
    from sklearn.model_selection import TimeSeriesSplit

    model = AveragingRegressor(number_members(), weights="least_squares", cv=TimeSeriesSplit(3))
    assert model.fit(X_DIABETES, Y_DIABETES).weights_.sum() == pytest.approx(1.0)


def test_grid_search_over_members_and_rules():
    X, y = make_classification(120, random_state=0)
    model = VotingClassifier([("tree", DecisionTreeClassifier()), ("bayes", GaussianNB())])
    grid = {"tree__max_depth": [1, 2], "tie": ["random", "confidence"], "bayes": ["drop"]}
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(X, y)
    assert search.best_estimator_.named_estimators_.bayes == "drop"
    assert len(search.best_estimator_.estimators_) == 1


def test_a_fit_that_fails_leaves_no_model():
    model = AveragingRegressor(number_members()).fit(X_DIABETES, Y_DIABETES)
    with pytest.raises(ParameterError):
        model.set_params(weights=[1.0]).fit(X_DIABETES, Y_DIABETES)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        model.predict(X_DIABETES)


def test_an_ensemble_can_be_a_member():
    inner = VotingClassifier(class_members())
    forest = RandomForestClassifier(5, random_state=0)
    model = VotingClassifier([("inner", inner), ("forest", forest)], votes="hard")
    assert model.fit(X_IRIS, Y_IRIS).score(X_IRIS, Y_IRIS) > 0.9
    model.set_params(inner__tree__max_depth=2)
    assert model.get_params()["inner__tree__max_depth"] == 2


def test_progress_has_a_line_for_each_fit(capsys):
    frozen = FrozenEstimator(LinearRegression().fit(X_DIABETES, Y_DIABETES))
    members = [*number_members()[:2], ("frozen", frozen)]
    model = AveragingRegressor(members, weights="inverse_error", cv=3, verbose=True)
    model.fit(X_DIABETES, Y_DIABETES)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" ... ")[0] for line in lines] == [
        "fitting member 1 of 3: tree, 3 folds",
        "fitting member 2 of 3: line, 3 folds",
        "fitting member 1 of 3: tree",
        "fitting member 2 of 3: line",
    ]
