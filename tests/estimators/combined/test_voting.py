import numpy as np
import pytest
import sklearn.ensemble
from scipy.sparse import csr_array
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from sumwise import VotingClassifier
from sumwise.errors import ParameterError
from sumwise.estimators.combined.votes import are_alike, hash_rows

X, Y = load_iris(return_X_y=True)
HARD_X, HARD_Y = make_classification(300, n_classes=3, n_informative=4, flip_y=0.2, random_state=0)
MEMBERS = [
    ("tree", DecisionTreeClassifier(max_depth=2, random_state=0)),
    ("bayes", GaussianNB()),
    ("near", KNeighborsClassifier()),
]


def always(*labels, kind=DummyClassifier):
    """Members that vote for one class on every row."""
    return [kind(strategy="constant", constant=label) for label in labels]


@pytest.mark.parametrize("voting", ["hard", "soft"])
@pytest.mark.parametrize("weights", [None, [1, 2, 3.5]])
def test_votes_equal_scikit_learns(voting, weights):
    labels = np.array(["x", "y", "z"])[HARD_Y]
    theirs = sklearn.ensemble.VotingClassifier(MEMBERS, voting=voting, weights=weights)
    theirs.fit(HARD_X, labels)
    rule = "plurality" if weights is None else "weighted"
    ours = VotingClassifier(MEMBERS, rule=rule, votes=voting, weights=weights).fit(HARD_X, labels)
    has_tie = (np.sort(ours.predict_shares(HARD_X))[:, -2:] @ [-1, 1]) < 1e-9
    assert 0 <= has_tie.mean() < 0.5
    np.testing.assert_array_equal(ours.predict(HARD_X)[~has_tie], theirs.predict(HARD_X)[~has_tie])
    if voting == "soft":
        np.testing.assert_allclose(ours.predict_proba(HARD_X), theirs.predict_proba(HARD_X))
    else:
        assert not hasattr(ours, "predict_proba")
        indices = theirs.transform(HARD_X).T
        np.testing.assert_array_equal(ours.predict_members(HARD_X), theirs.classes_[indices])


@pytest.mark.parametrize(
    ("labels", "expected"),
    [((0, 0, 1), 0), ((0, 0, 1, 1), -1), ((0, 1, 2), -1), ((0, 0, 0, 1, 2), 0), ((2,), 2)],
)
def test_majority_needs_more_than_half_of_all_votes(labels, expected):
    model = VotingClassifier(always(*labels), rule="majority", votes="hard").fit(X, Y)
    predicted, is_rejected = model.predict_with_reject(X)
    np.testing.assert_array_equal(predicted, np.full(150, expected))
    assert is_rejected.all() == is_rejected.any() == (expected == -1)
    np.testing.assert_array_equal(model.predict(X), predicted)


def test_report_tells_rejected_from_wrong_rows():
    model = VotingClassifier(MEMBERS[:2], rule="majority", votes="hard").fit(HARD_X, HARD_Y)
    first, second = model.predict_members(HARD_X)
    report = model.reject_report(HARD_X, HARD_Y)
    agree = first == second
    assert report.coverage == pytest.approx(agree.mean())
    assert report.accuracy == pytest.approx((first == HARD_Y)[agree].mean())
    assert report.n_rejected == (~agree).sum() > 0
    assert model.score(HARD_X, HARD_Y) == pytest.approx(report.coverage * report.accuracy)


def test_labels_of_rejected_rows():
    names = np.array(["a", "b", "c"])[Y]
    members = always("a", "b")
    for given, expected in [("auto", "reject"), ("unknown class", "unknown class"), (None, None)]:
        model = VotingClassifier(
            [member.fit(X, names) for member in members],
            rule="majority",
            votes="hard",
            reject_label=given,
            prefit=True,
        )
        assert set(model.fit(X, names).predict(X)) == {expected}
    with pytest.raises(ParameterError, match="is one of the classes"):
        VotingClassifier(MEMBERS, rule="majority", reject_label=2).fit(X, Y)


def test_random_ties_are_seeded_by_row():
    def fit(seed):
        return VotingClassifier(always(0, 1), votes="hard", random_state=seed).fit(X, Y)

    predicted = fit(0).predict(X)
    assert 0.3 < predicted.mean() < 0.7
    np.testing.assert_array_equal(fit(0).predict(X), predicted)
    assert (fit(1).predict(X) != predicted).any()
    model = fit(0)
    order = np.random.default_rng(0).permutation(150)[:60]
    np.testing.assert_array_equal(model.predict(X[order]), predicted[order])
    np.testing.assert_array_equal(model.predict(X[:1]), predicted[:1])


def test_rows_are_hashed_by_their_values():
    frame = pytest.importorskip("pandas").DataFrame({"a": ["x", "y", "x"], "b": [1, 2, 1]})
    keys = hash_rows(frame, np.arange(3))
    assert keys[0] == keys[2] != keys[1]
    rows = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]])
    keys = hash_rows(rows, np.arange(3))
    assert keys[0] == keys[1] != keys[2]
    np.testing.assert_array_equal(hash_rows(csr_array(rows), np.arange(3)), keys)


def test_ties_by_confidence():
    members = [
        ("sure", DecisionTreeClassifier(random_state=0)),  # probabilities of 0 and 1
        ("prior", DummyClassifier()),  # always the first class, with a third
    ]
    model = VotingClassifier(members, votes="hard", tie="confidence").fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), Y)
    with pytest.raises(ParameterError, match="'svm' has no predict_proba"):
        VotingClassifier([("svm", LinearSVC())], tie="confidence").fit(X, Y)


def test_learned_weights_leave_useless_members_out():
    members = [*MEMBERS, ("constant", DummyClassifier())]
    learned = VotingClassifier(members, rule="weighted", weights="learned", votes="soft")
    assert learned.fit(X, Y).weights_[3] < 0.05
    accurate = VotingClassifier(members, rule="weighted", weights="accuracy").fit(X, Y)
    assert accurate.weights_[3] == pytest.approx(1 / 3 / (1 / 3 + 3 * 0.95), abs=0.01)
    for model in (learned, accurate):
        assert model.weights_.min() >= 0.0
        assert model.weights_.sum() == pytest.approx(1.0)


def test_unlike_learners_vote_with_labels_unless_calibrated():
    assert VotingClassifier(MEMBERS).fit(X, Y).votes_ == "hard"
    assert VotingClassifier(MEMBERS, calibrate="sigmoid").fit(X, Y).votes_ == "soft"
    trees = [DecisionTreeClassifier(max_depth=d) for d in (1, 2)]
    assert VotingClassifier(trees).fit(X, Y).votes_ == "soft"
    assert VotingClassifier([SVC(), SVC(C=2.0)]).fit(X, Y).votes_ == "hard"


def test_which_learners_are_alike():
    line = LogisticRegression()
    piped = make_pipeline(StandardScaler(), LogisticRegression())
    search = GridSearchCV(line, {"C": [1.0]})
    assert are_alike([line, piped, search])
    assert not are_alike([line, GaussianNB()])
    assert not are_alike([search, GridSearchCV(GaussianNB(), {})])
    assert are_alike([CalibratedClassifierCV(line), CalibratedClassifierCV(GaussianNB())])
    bags = [sklearn.ensemble.BaggingClassifier(member) for member in (line, GaussianNB())]
    assert not are_alike(bags)


@pytest.mark.parametrize("calibrate", ["sigmoid", CalibratedClassifierCV(method="isotonic", cv=3)])
def test_calibrated_members_vote_with_probabilities(calibrate):
    members = [("svm", LinearSVC()), ("bayes", GaussianNB())]
    model = VotingClassifier(members, calibrate=calibrate).fit(X, Y)
    assert isinstance(model.named_estimators_.svm, CalibratedClassifierCV)
    expected = np.mean([m.predict_proba(X) for m in model.estimators_], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), expected)
    assert model.score(X, Y) > 0.9


def test_fitted_members_are_calibrated_without_fitting_them():
    names = np.array(["a", "b", "c"])[Y]
    members = [LinearSVC().fit(X[::2], names[::2]), GaussianNB().fit(X[::2], names[::2])]
    before = members[0].coef_.copy()
    model = VotingClassifier(members, prefit=True, calibrate="sigmoid")
    model.fit(X[1::2], names[1::2])
    assert model.score(X, names) > 0.9
    np.testing.assert_array_equal(members[0].coef_, before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "loudest"}, "rule="),
        ({"tie": "first"}, "tie="),
        ({"votes": "both"}, "votes="),
        ({"weights": [1, 1, 1], "rule": "majority"}, "rule='weighted'"),
        ({"rule": "weighted"}, "needs weights"),
        ({"rule": "weighted", "weights": "best"}, "weights="),
        ({"calibrate": "yes"}, "calibrate="),
        ({"calibrate": "sigmoid", "votes": "hard"}, "only one"),
    ],
)
def test_parameters_are_checked(options, message):
    with pytest.raises(ParameterError, match=message):
        VotingClassifier(MEMBERS, **options).fit(X, Y)


def test_soft_votes_need_probabilities():
    with pytest.raises(ParameterError, match="calibrate='sigmoid'"):
        VotingClassifier([("svm", LinearSVC())], votes="soft").fit(X, Y)


@pytest.mark.parametrize("voting", ["hard", "soft"])
@pytest.mark.parametrize("flat", [True, False])
def test_transform_equals_scikit_learns(voting, flat):
    labels = np.array(["x", "y", "z"])[HARD_Y]
    theirs = sklearn.ensemble.VotingClassifier(MEMBERS, voting=voting, flatten_transform=flat)
    theirs.fit(HARD_X, labels)
    ours = VotingClassifier(MEMBERS, votes=voting, flatten_transform=flat).fit(HARD_X, labels)
    np.testing.assert_allclose(ours.transform(HARD_X), theirs.transform(HARD_X))
    if voting == "soft" and not flat:
        with pytest.raises(ParameterError, match="flatten_transform=False"):
            ours.get_feature_names_out()
    else:
        names = theirs.get_feature_names_out().tolist()
        assert ours.get_feature_names_out().tolist() == names


def test_weights_need_no_rule_of_their_own():
    """As in scikit-learn."""
    named = VotingClassifier(MEMBERS, rule="weighted", weights=[1, 2, 4], random_state=0)
    plain = VotingClassifier(MEMBERS, weights=[1, 2, 4], random_state=0)
    for model in (named, plain):
        model.fit(HARD_X, HARD_Y)
    np.testing.assert_array_equal(plain.predict_shares(HARD_X), named.predict_shares(HARD_X))
    np.testing.assert_array_equal(plain.predict(HARD_X), named.predict(HARD_X))


def test_probabilities_wherever_the_members_have_them():
    model = VotingClassifier(MEMBERS, weights=[1, 2, 4])
    assert hasattr(model, "predict_proba")
    model.fit(HARD_X, HARD_Y)
    assert model.votes_ == "hard"
    each = [member.predict_proba(HARD_X) for member in model.estimators_]
    expected = np.average(each, axis=0, weights=[1, 2, 4])
    np.testing.assert_allclose(model.predict_proba(HARD_X), expected)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(model.predict_log_proba(HARD_X), np.log(expected))
    calibrated = CalibratedClassifierCV(VotingClassifier(MEMBERS), cv=2).fit(HARD_X, HARD_Y)
    assert calibrated.score(HARD_X, HARD_Y) > 0.5


@pytest.mark.parametrize(
    ("members", "options", "reason"),
    [
        ([("bayes", GaussianNB()), ("svm", LinearSVC())], {}, "member 'svm' has none"),
        (MEMBERS, {"votes": "hard"}, "votes='hard'"),
        (MEMBERS, {"votes": "loud"}, "votes='loud'"),
    ],
)
def test_without_probabilities_the_methods_are_absent(members, options, reason):
    model = VotingClassifier(members, **options)
    for method in ("predict_proba", "predict_log_proba"):
        with pytest.raises(AttributeError) as caught:
            getattr(model, method)
        assert reason in str(caught.value.__cause__)
    if options.get("votes") != "loud":
        assert not hasattr(model.fit(X, Y), "predict_proba")


def test_a_frozen_member_is_what_the_user_gave():
    names = np.array(["a", "b", "c"])[Y]
    frozen = FrozenEstimator(GaussianNB().fit(X[::2], names[::2]))
    model = VotingClassifier([("frozen", frozen), ("tree", MEMBERS[0][1])], votes="soft")
    model.fit(X, names)
    assert model.estimators_[0] is frozen
    expected = (frozen.predict_proba(X) + model.estimators_[1].predict_proba(X)) / 2
    np.testing.assert_allclose(model.predict_proba(X), expected)
