"""Members of ensembles of every kind, and how alike they are."""

import traceback
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import sumwise
from sumwise import diversity_matrix, member_predictions
from sumwise.diversity import kappa
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.members import fit_member, member_probabilities

X, TARGET = load_iris(return_X_y=True)
# Labels that could be taken for indices of others, and text.
LABELS = {"text": np.array(["no", "perhaps", "yes"]), "shifted": np.array([1, 2, 3])}

STUMP = DecisionTreeClassifier(max_depth=1, random_state=0)
NAMED = [("bayes", GaussianNB()), ("gone", "drop"), ("tree", DecisionTreeClassifier(max_depth=2))]
ENSEMBLES = {
    "bagging": BaggingClassifier(DecisionTreeClassifier(), 4, max_features=0.5, random_state=0),
    "forest": RandomForestClassifier(4, max_depth=2, random_state=0),
    "extra trees": ExtraTreesClassifier(4, max_depth=2, random_state=0),
    "AdaBoost": AdaBoostClassifier(STUMP, n_estimators=4, random_state=0),
    "voting": VotingClassifier(NAMED),
    "stacking": StackingClassifier(NAMED, cv=3),
    "our voting": sumwise.VotingClassifier(NAMED),
    "our soft voting": sumwise.VotingClassifier(NAMED, votes="soft"),
    "our calibrated voting": sumwise.VotingClassifier(NAMED, calibrate="sigmoid", cv=3),
    "our average": sumwise.BayesianAveragingClassifier(NAMED, n_draws=10, cv=3),
    "our selection": sumwise.EnsembleSelectionClassifier(
        [("stump", STUMP), *NAMED], method="reduced_error", n_selected=2, cv=3
    ),
    "our stacking": sumwise.StackingClassifier(NAMED, cv=3),
    "our models of folds": sumwise.StackingClassifier(NAMED, cv=3, refit=False),
}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("name", ENSEMBLES)
@pytest.mark.parametrize("as_frame", [False, True])
def test_members_predict_labels_of_the_ensemble(name, labels, as_frame):
    rows = pd.DataFrame(X, columns=list("abcd")) if as_frame else X
    y = LABELS[labels][TARGET]
    model = ENSEMBLES[name].fit(rows, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # such as for names that a member does not know
        members = member_predictions(model, rows)
    is_named = name in ("voting", "stacking") or name.startswith("our")
    expected = ("bayes", "tree") if is_named else ("0", "1", "2", "3")
    assert members.labels == expected
    assert members.values.shape == (150, len(expected))
    assert set(members.values.ravel()) <= set(y)
    assert ((members.values == y[:, None]).mean(axis=0) > 0.5).all()


def test_prefitted_members_know_labels():
    y = LABELS["shifted"][TARGET]
    fitted = [("bayes", GaussianNB().fit(X, y)), ("tree", STUMP.fit(X, y))]
    model = StackingClassifier(fitted, cv="prefit").fit(X, y)
    np.testing.assert_array_equal(
        member_predictions(model, X).values[:, 0], fitted[0][1].predict(X)
    )


def test_members_that_missed_a_class():
    y = LABELS["shifted"][np.r_[np.zeros(5, int), np.ones(70, int), np.full(75, 2)]]
    model = BaggingClassifier(KNeighborsClassifier(1), 8, max_samples=10, random_state=0).fit(X, y)
    assert any(member.classes_.size < 3 for member in model.estimators_)
    values = member_predictions(model, X).values
    votes = np.array([np.bincount(row, minlength=4).argmax() for row in values])
    assert (votes == model.predict(X)).mean() > 0.9


def test_members_without_names_have_those_of_their_ensemble():
    model = sumwise.VotingClassifier([GaussianNB(), STUMP]).fit(X, TARGET)
    assert diversity_matrix(model, X).labels == ("gaussiannb", "decisiontreeclassifier")


def test_models_of_folds_predict_together():
    members = [("bayes", GaussianNB()), ("tree", DecisionTreeClassifier(random_state=0))]
    stack = sumwise.StackingClassifier(members, cv=3, refit=False).fit(X, TARGET)
    votes = np.stack([model.predict(X) for model in stack.estimators_[1].models])
    expected = np.array([np.bincount(column, minlength=3).argmax() for column in votes.T])
    np.testing.assert_array_equal(member_predictions(stack, X).values[:, 1], expected)
    trees = [("tree", sumwise.GradientBoostingRegressor(n_estimators=3))]
    stack = sumwise.StackingRegressor(trees, cv=3, refit=False).fit(X, TARGET)
    mean = np.mean([model.predict(X) for model in stack.estimators_[0].models], axis=0)
    np.testing.assert_allclose(member_predictions(stack, X).values[:, 0], mean)


def test_regressors_have_members_too():
    model = RandomForestRegressor(3, random_state=0).fit(X, TARGET)
    members = member_predictions(model, X)
    np.testing.assert_allclose(members.values.mean(axis=1), model.predict(X))


def test_lists_and_dicts_of_models():
    bayes, tree = GaussianNB().fit(X, TARGET), STUMP.fit(X, TARGET)
    boosted = sumwise.GradientBoostingClassifier(n_estimators=2).fit(X, TARGET)
    models = [tree, bayes, tree, boosted]
    matrix = diversity_matrix(models, X)
    assert matrix.labels == (
        "DecisionTreeClassifier 0",
        "GaussianNB",
        "DecisionTreeClassifier 2",
        "GradientBoostingClassifier",
    )
    assert matrix.values[0, 2] == 1
    assert matrix.values[0, 1] == kappa(tree.predict(X), bayes.predict(X))
    for named in ({"a": tree, "b": bayes}, [("a", tree), ("b", bayes)]):
        assert diversity_matrix(named, X).labels == ("a", "b")


def test_matrices_of_ensembles_and_of_their_predictions_are_equal():
    model = ENSEMBLES["forest"].fit(X, TARGET)
    weight = np.arange(150.0)
    members = member_predictions(model, X)
    expected = diversity_matrix(model, X, TARGET, "q_statistic", sample_weight=weight)
    for given in (members, members.values, members.values.tolist()):
        found = diversity_matrix(given, None, TARGET, "q_statistic", sample_weight=weight)
        assert found.labels == expected.labels
        np.testing.assert_array_equal(found.values, expected.values)


def test_what_has_no_members():
    boosted = GradientBoostingClassifier(n_estimators=2).fit(X, TARGET)
    with pytest.raises(DataError, match=r"GradientBoostingClassifier has no members .*list of"):
        member_predictions(boosted, X)
    with pytest.raises(DataError, match="LogisticRegression has no members"):
        member_predictions(LogisticRegression(max_iter=1000).fit(X, TARGET), X)
    with pytest.raises(DataError, match="each distinguish only some of the classes"):
        member_predictions(OneVsRestClassifier(GaussianNB()).fit(X, TARGET), X)
    with pytest.raises(NotFittedError):
        member_predictions(RandomForestClassifier(), X)


def test_inputs_are_checked():
    with pytest.raises(ParameterError, match="needs X"):
        diversity_matrix([STUMP.fit(X, TARGET), GaussianNB().fit(X, TARGET)])
    with pytest.raises(ParameterError, match="compares labels, and AdaBoostRegressor predicts"):
        diversity_matrix(AdaBoostRegressor(n_estimators=2).fit(X, TARGET), X)
    with pytest.raises(ParameterError, match=r"list or dict of fitted models, got ndarray"):
        member_predictions(X, X)
    with pytest.raises(DataError, match="1 column"):
        diversity_matrix([STUMP.fit(X, TARGET)], X)
    two_targets = np.column_stack([TARGET, TARGET])
    forest = RandomForestClassifier(2, random_state=0).fit(X, two_targets)
    with pytest.raises(DataError, match=r"member 0 predicts an array of shape \(150, 2\)"):
        member_predictions(forest, X)


def test_many_features_and_two_classes():
    rows, y = make_classification(200, 10, random_state=0)
    model = BaggingClassifier(STUMP, 5, max_features=3, random_state=0).fit(rows, y == 1)
    assert diversity_matrix(model, rows, y == 1, "double_fault").values.shape == (5, 5)


# --- fitting ---


def fail_with(error):
    """Return a learner whose fit fails."""

    class Failing(GaussianNB):
        def fit(self, X, y):
            raise error

    return Failing()


class TwoPartError(Exception):
    """Cannot be made from a message alone."""

    def __init__(self, code, message):
        super().__init__(code, message)


def test_an_error_names_the_member_and_keeps_its_type():
    for error in (ValueError("too small"), DataError("too small"), NotFittedError("too small")):
        with pytest.raises(type(error)) as caught:
            fit_member("member 'a'", fail_with(error), X, TARGET, {})
        assert type(caught.value) is type(error)
        assert str(caught.value) == "member 'a' (Failing) failed to fit: too small"
        assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [KeyError("x"), TwoPartError(7, "x"), OSError(2, "gone")])
def test_an_error_that_takes_no_message_gets_a_note(error):
    with pytest.raises(type(error)) as caught:
        fit_member("member 'a'", fail_with(error), X, TARGET, {})
    assert caught.value is error
    assert "member 'a' (Failing) failed to fit" in "".join(traceback.format_exception(error))


def test_interrupts_pass():
    with pytest.raises(KeyboardInterrupt) as caught:
        fit_member("member 'a'", fail_with(KeyboardInterrupt()), X, TARGET, {})
    assert not hasattr(caught.value, "__notes__")


def test_what_fit_returns_does_not_matter():
    class Silent(GaussianNB):
        def fit(self, X, y):
            super().fit(X, y)

    model = Silent()
    assert fit_member("member 'a'", model, X, TARGET, {}) is model
    assert model.score(X, TARGET) > 0.9


def test_learners_without_weights_say_so():
    with pytest.raises(TypeError, match=r"^member 'a' \(KNeigh.*does not support sample weights"):
        fit_member(
            "member 'a'", KNeighborsClassifier(), X, TARGET, {"sample_weight": np.ones(len(X))}
        )


@pytest.mark.parametrize("labels", LABELS)
def test_probabilities_of_members_are_those_of_the_classes(labels):
    y = LABELS[labels][TARGET]
    for model in (
        BaggingClassifier(n_estimators=3, random_state=0),
        sumwise.RandomForestClassifier(3, random_state=0),
        VotingClassifier(NAMED, voting="soft"),
    ):
        shares = member_probabilities(model.fit(X, y), X)
        assert shares.shape[::2] == (150, 3)
        assert shares.mean(axis=1) == pytest.approx(model.predict_proba(X), abs=1e-12)


def test_members_without_probabilities_have_none():
    model = VotingClassifier([("bayes", GaussianNB()), ("line", Perceptron())])
    assert member_probabilities(model.fit(X, TARGET), X) is None


def test_classes_that_a_member_has_not_seen_have_probability_zero():
    few = TARGET < 2
    model = BaggingClassifier(n_estimators=2, random_state=0).fit(X, TARGET)
    model.estimators_[0] = DecisionTreeClassifier(max_depth=1).fit(X[few], TARGET[few])
    shares = member_probabilities(model, X)
    assert (shares[:, 0, 2] == 0.0).all()
    assert shares.sum(axis=2) == pytest.approx(1.0)
