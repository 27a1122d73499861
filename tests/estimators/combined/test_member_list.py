import inspect
import pickle
import re

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import get_tags

from sumwise import (
    AveragingRegressor,
    BayesianAveragingClassifier,
    BayesianAveragingRegressor,
    EnsembleSelectionClassifier,
    EnsembleSelectionRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
)
from sumwise.errors import ParameterError
from sumwise.estimators.combined.member_list import read_members_rows

KINDS = [
    AveragingRegressor,
    BayesianAveragingClassifier,
    BayesianAveragingRegressor,
    EnsembleSelectionClassifier,
    EnsembleSelectionRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
]
X = np.random.default_rng(0).normal(size=(60, 3))
Y = X @ [1.0, 2.0, 3.0]


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_of_members_are_set_by_name(kind):
    is_class = "Classifier" in kind.__name__
    tree = DecisionTreeClassifier() if is_class else DecisionTreeRegressor()
    model = kind([("tree", tree), ("other", clone(tree))])
    model.set_params(tree__max_depth=1)
    assert model.get_params()["tree__max_depth"] == 1
    assert model.named_estimators.tree.max_depth == 1
    model.set_params(tree="drop")
    assert dict(model.estimators)["tree"] == "drop"
    with pytest.raises(ValueError, match="nothing"):
        model.set_params(nothing=1)


def test_members_without_names_are_called_by_their_class():
    model = AveragingRegressor([Ridge(), Ridge(alpha=2.0), LinearRegression()])
    assert list(model.named_estimators) == ["ridge-1", "ridge-2", "linearregression"]
    model.set_params(**{"ridge-2__alpha": 5.0, "linearregression": "drop"})
    assert model.estimators[1].alpha == 5.0
    model.fit(X, Y)
    assert list(model.named_estimators_) == ["ridge-1", "ridge-2"]
    assert clone(model).get_params()["ridge-2__alpha"] == 5.0


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([], "non-empty list"),
        (LinearRegression(), "non-empty list"),
        ([("a", Ridge()), ("a", Ridge())], "not unique"),
        ([("cv", Ridge())], "conflict"),
        ([("a__b", Ridge())], "must not contain __"),
        ([("a", "drop")], "All estimators are dropped"),
        ([("a", GaussianNB())], "should be a regressor"),
        ([("a", Ridge)], "should be a regressor instance"),
        ([(1, Ridge())], "strings"),
    ],
)
def test_what_is_no_list_of_members_is_refused(members, message):
    with pytest.raises(ParameterError, match=message):
        AveragingRegressor(members).fit(X, Y)
    with pytest.raises(ParameterError, match=message):
        StackingRegressor(members).fit(X, Y)


def test_tags_say_what_all_readers_of_x_can_take():
    """The meta-learner reads X only with passthrough."""
    members = [("ours", GradientBoostingRegressor()), ("hist", HistGradientBoostingRegressor())]
    assert get_tags(AveragingRegressor(members)).input_tags.allow_nan
    assert not get_tags(AveragingRegressor(members)).input_tags.string
    assert get_tags(AveragingRegressor(members[:1])).input_tags.string
    assert not get_tags(AveragingRegressor([*members, ("line", Ridge())])).input_tags.allow_nan
    assert get_tags(StackingRegressor(members)).input_tags.allow_nan
    assert not get_tags(StackingRegressor(members, passthrough=True)).input_tags.allow_nan
    assert not get_tags(StackingRegressor("none")).input_tags.allow_nan


@pytest.mark.parametrize("kind", KINDS)
def test_saving_names_what_can(kind):
    with pytest.raises(TypeError, match=r"use pickle, or skops\.io\.dump"):
        kind([("a", Ridge())]).save("members.sumwise")


# --- what all of them do with their members ---


def is_classifier_kind(kind):
    return "Classifier" in kind.__name__


def make_target(kind):
    return np.where(Y > 0.0, "up", "down") if is_classifier_kind(kind) else Y


def make_member(kind, **params):
    tree = DecisionTreeClassifier if is_classifier_kind(kind) else DecisionTreeRegressor
    return tree(**{"max_depth": 2, "random_state": 0, **params})


def make_pair(kind):
    return [("first", make_member(kind)), ("second", make_member(kind, max_depth=1))]


@pytest.mark.parametrize("kind", KINDS)
def test_frozen_members_are_used_as_they_are(kind):
    """Also gradient boosting, whose folds would share a table of bins."""
    y = make_target(kind)
    booster = GradientBoostingClassifier if is_classifier_kind(kind) else GradientBoostingRegressor
    fitted = booster(n_estimators=4, min_samples_leaf=2).fit(X[:40], y[:40])
    bytes_before, outputs_before = pickle.dumps(fitted.ensemble_), fitted.predict(X)
    frozen = FrozenEstimator(fitted)
    model = kind([("frozen", frozen), ("other", booster(n_estimators=2))]).fit(X, y)
    assert model.named_estimators_.get("frozen", frozen) is frozen
    assert pickle.dumps(fitted.ensemble_) == bytes_before
    np.testing.assert_array_equal(fitted.predict(X), outputs_before)
    alone = kind([("frozen", frozen)]).fit(X, y)
    if not is_classifier_kind(kind):
        np.testing.assert_array_equal(alone.transform(X)[:, 0], outputs_before)
    elif hasattr(alone, "votes_"):
        np.testing.assert_array_equal(alone.predict(X), outputs_before)


@pytest.mark.parametrize("kind", KINDS)
def test_members_whose_fit_returns_nothing(kind):
    class Silent(type(make_member(kind))):
        def fit(self, X, y, sample_weight=None):
            super().fit(X, y, sample_weight)

    y = make_target(kind)
    silent = kind([(name, Silent(**member.get_params())) for name, member in make_pair(kind)])
    usual = kind(make_pair(kind))
    for model in (silent, usual):
        model.set_params(**({"random_state": 0} if "random_state" in model.get_params() else {}))
        model.fit(X, y)
    np.testing.assert_array_equal(silent.predict(X), usual.predict(X))


@pytest.mark.parametrize("kind", KINDS)
def test_rows_as_lists_become_one_array(kind):
    class Strict(type(make_member(kind))):
        def fit(self, X, y, sample_weight=None):
            assert isinstance(X, np.ndarray)
            return super().fit(X, y, sample_weight)

        def predict(self, X):
            assert isinstance(X, np.ndarray)
            return super().predict(X)

    y = make_target(kind)
    model = kind([("strict", Strict(max_depth=2))]).fit(X.tolist(), y.tolist())
    assert model.n_features_in_ == 3
    np.testing.assert_array_equal(model.predict(X.tolist()), model.predict(X))
    np.testing.assert_array_equal(model.transform(X.tolist()), model.transform(X))


def test_lists_of_texts_stay_lists():
    texts = ["a b", "b a", "y z", "z y"] * 10
    learner = make_pipeline(CountVectorizer(token_pattern="[a-z]"), MultinomialNB())
    for kind in KINDS:
        if is_classifier_kind(kind):
            model = kind([("first", learner), ("second", learner)]).fit(texts, [0, 0, 1, 1] * 10)
            assert model.predict(["a", "z"]).tolist() == [0, 1]
    assert read_members_rows([["a", 1], ["b", 2]]).tolist() == [["a", 1], ["b", 2]]


# An error ends joblib's processes, and new ones take seconds to start: one kind stands for all.
@pytest.mark.parametrize(
    ("kind", "backend", "n_jobs"),
    [(kind, "threading", n_jobs) for kind in KINDS for n_jobs in (None, 2)]
    + [(VotingClassifier, "loky", 2)],
)
def test_a_member_that_fails_is_named(kind, backend, n_jobs):
    bad = make_member(kind, max_depth=-1)
    members = [*make_pair(kind), ("bad", bad)]
    pattern = rf"member 'bad' \({type(bad).__name__}\) failed to fit: The 'max_depth' parameter"
    with parallel_config(backend), pytest.raises(ValueError, match=pattern):
        kind(members, n_jobs=n_jobs).fit(X, make_target(kind))


@pytest.mark.parametrize("kind", [k for k in KINDS if k is not BayesianAveragingClassifier])
def test_a_member_that_fails_to_predict_is_named(kind):
    class Moody(type(make_member(kind))):
        """Predicts until it is told to fail."""

        fails = False

        def predict(self, X):
            if self.fails:
                raise RuntimeError("no")
            return super().predict(X)

    own = inspect.signature(kind).parameters
    votes = {"stack_method": "predict", "votes": "hard"}
    options = {name: value for name, value in votes.items() if name in own}
    model = kind([("moody", Moody(max_depth=2))], **options).fit(X, make_target(kind))
    Moody.fails = True
    with pytest.raises(RuntimeError, match=r"member 'moody' \(Moody\) failed to predict: no"):
        model.predict(X)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_that_fails_leaves_no_old_model(kind):
    y = make_target(kind)
    model = kind(make_pair(kind)).fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X[:-1], y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert not [name for name in vars(model) if name.endswith("_") and not name.startswith("_")]


@pytest.mark.parametrize("kind", KINDS)
def test_progress_goes_to_standard_error_if_asked_for(kind, capsys):
    y = make_target(kind)
    kind(make_pair(kind)).fit(X, y)
    assert capsys.readouterr() == ("", "")
    model = kind(make_pair(kind), verbose=True)
    options = {"random_state": 0} if "random_state" in model.get_params() else {}
    plain = kind(make_pair(kind), **options).fit(X, y)
    capsys.readouterr()
    model.set_params(**options).fit(X, y)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "member 1 of " in shown.err
    assert re.fullmatch(r"(fitting [^\n]+ \.\.\. \d+\.\d s\n)+", shown.err)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if is_classifier_kind(kind)])
def test_one_class_alone(kind):
    model = kind(make_pair(kind)).fit(X, ["only"] * len(X))
    assert model.classes_.tolist() == ["only"]
    assert set(model.predict(X)) == {"only"}
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((len(X), 1)))
    np.testing.assert_array_equal(model.predict_log_proba(X), np.zeros((len(X), 1)))


@pytest.mark.parametrize("kind", KINDS)
def test_outputs_of_members_as_features(kind):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    y = make_target(kind)
    model = kind(make_pair(kind)).fit(frame, y)
    names = model.get_feature_names_out()
    transformed = model.transform(frame)
    assert transformed.shape == (len(X), names.size)
    assert names[0].startswith(f"{kind.__name__.lower()}_first")
    assert names[-1].startswith(f"{kind.__name__.lower()}_")
    shown = model.set_output(transform="pandas").transform(frame)
    assert shown.columns.tolist() == names.tolist()
    np.testing.assert_array_equal(shown, transformed)
    again = clone(model).fit_transform(frame, y)
    assert again.shape == shown.shape
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        model.get_feature_names_out(["x", "y", "z"])
    with pytest.raises(NotFittedError):
        clone(model).get_feature_names_out()


@pytest.mark.parametrize("kind", KINDS)
def test_dropped_members_stay_by_name(kind):
    model = kind([*make_pair(kind), ("third", "drop")]).fit(X, make_target(kind))
    assert model.named_estimators_.third == "drop"
    assert "third" not in "".join(model.get_feature_names_out())
