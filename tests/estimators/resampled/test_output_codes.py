"""Output codes: columns, decoding, and what is refused."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
import sklearn.multiclass
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from sumwise import OutputCodeClassifier, member_predictions
from sumwise.combine.output_codes import make_exhaustive_code
from sumwise.errors import DataError, ParameterError

X, Y = load_iris(return_X_y=True)
LABELS = np.array(["no", "perhaps", "yes"])[Y]
DIGITS, DIGIT = load_digits(return_X_y=True)


@pytest.mark.parametrize("code", ["random", "exhaustive", "data"])
@pytest.mark.parametrize("decoding", ["loss", "hamming"])
@pytest.mark.parametrize("learner", [LogisticRegression(max_iter=500), DecisionTreeClassifier()])
def test_codes_learn(code, decoding, learner):
    model = OutputCodeClassifier(learner, code=code, decoding=decoding, random_state=0)
    model.fit(X, LABELS)
    assert len(model.estimators_) == model.code_book_.shape[1]
    # One of three classes in a row cannot be cut off by a line: only losses tell by how much.
    assert model.score(X, LABELS) > (0.85 if decoding == "loss" else 0.7)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_columns_are_what_members_learn():
    model = OutputCodeClassifier(GaussianNB(), code="exhaustive").fit(X, Y)
    np.testing.assert_array_equal(model.code_book_, make_exhaustive_code(3))
    for column, member in zip(model.code_book_.T, model.estimators_, strict=True):
        same = GaussianNB().fit(X, column[Y] > 0)
        np.testing.assert_array_equal(member.predict_proba(X), same.predict_proba(X))


def test_classes_that_are_left_out_are_not_seen():
    pairs = np.array([[1, 1, 0], [-1, 0, 1], [0, -1, -1]])
    model = OutputCodeClassifier(GaussianNB(), code=pairs).fit(X, Y)
    for column, member in zip(pairs.T, model.estimators_, strict=True):
        assert member.class_count_.sum() == 100
        assert np.isin(Y, np.flatnonzero(column)).sum() == 100
    assert model.score(X, Y) > 0.9


def test_log_loss_decoding_takes_the_likeliest_class():
    model = OutputCodeClassifier(GaussianNB(), code="exhaustive").fit(X, Y)
    sides = np.stack([member.predict_proba(X)[:, 1] for member in model.estimators_], axis=1)
    likelihood = np.stack(
        [np.where(word > 0, sides, 1 - sides).prod(axis=1) for word in model.code_book_], axis=1
    )
    clear = likelihood.max(axis=1) > 1e-9
    np.testing.assert_array_equal(model.predict(X)[clear], likelihood.argmax(axis=1)[clear])


def test_squared_loss_of_decision_values_is_sklearns_decoding():
    theirs = sklearn.multiclass.OutputCodeClassifier(
        RidgeClassifier(), code_size=3, random_state=0
    ).fit(X, Y)
    code = theirs.code_book_.astype(int)
    kept = np.abs(code.sum(axis=0)) < 3  # scikit-learn draws columns of one side, too
    theirs.code_book_ = theirs.code_book_[:, kept]
    theirs.estimators_ = [e for e, keep in zip(theirs.estimators_, kept, strict=True) if keep]
    ours = OutputCodeClassifier(RidgeClassifier(), code=code[:, kept], loss="squared").fit(X, Y)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_longer_codes_correct_more_errors():
    learner = DecisionTreeClassifier(max_depth=5, random_state=0)
    scores = [
        OutputCodeClassifier(learner, code_size=size, random_state=0)
        .fit(DIGITS[:700], DIGIT[:700])
        .score(DIGITS[700:], DIGIT[700:])
        for size in (1, 5)
    ]
    assert scores[1] > scores[0] + 0.03


def test_data_driven_codes_part_what_is_not_confused():
    model = OutputCodeClassifier(LogisticRegression(max_iter=500), code="data").fit(X, Y)
    # The first class of iris is easy, the other two are like each other.
    assert model.code_book_.tolist() == [[1, 0], [-1, 1], [-1, -1]]


def test_two_classes_need_one_member():
    for code in ("random", "exhaustive", "data"):
        model = OutputCodeClassifier(LinearSVC(), code=code).fit(X[:100], Y[:100])
        assert len(model.estimators_) == 1
        assert model.score(X[:100], Y[:100]) > 0.95


def test_results_do_not_depend_on_jobs():
    first, second = (
        OutputCodeClassifier(DecisionTreeClassifier(random_state=0), random_state=0, n_jobs=n_jobs)
        .fit(X, Y)
        .predict_distances(X)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(first, second)


def test_frames_and_weights():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = OutputCodeClassifier(LogisticRegression(max_iter=500), code="exhaustive")
    model.fit(frame, LABELS, sample_weight=(Y < 2).astype(float) + 1e-9)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert (model.predict(frame) == "yes").mean() < 0.1
    with pytest.raises(TypeError, match="does not support sample weights"):
        OutputCodeClassifier(KNeighborsClassifier()).fit(X, Y, np.ones(150))


class Consumer(ClassifierMixin, BaseEstimator):
    def fit(self, X, y, mark=None):
        self.classes_, self.mark_ = np.unique(y), mark
        return self

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


def test_metadata_is_routed():
    with sklearn.config_context(enable_metadata_routing=True):
        learner = Consumer().set_fit_request(mark=True)
        pairs = np.array([[1, 1, 0], [-1, 0, 1], [0, -1, -1]])
        model = OutputCodeClassifier(learner, code=pairs).fit(X, Y, mark=Y)
        for column, member in zip(pairs.T, model.estimators_, strict=True):
            assert set(member.mark_) == set(np.flatnonzero(column))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"code": "gray"}, "code='gray'"),
        ({"code": [[1], [-1]]}, "must be of shape"),
        ({"code": [[2, 1], [-1, 1], [1, -1]]}, "values 1, -1 and 0"),
        ({"code": [[1, 1], [1, -1], [1, 1]]}, "column 0 of code has one side only"),
        ({"code": [[1], [-1], [1]]}, "two classes have the same code"),
        ({"code_size": 0}, "code_size=0"),
        ({"code_size": 0.4}, "need at least 2 to differ"),
        ({"decoding": "viterbi"}, "decoding='viterbi'"),
        ({"loss": "log"}, "loss='log'"),
        ({"estimator": object()}, "must be a classifier"),
    ],
)
def test_what_cannot_be_is_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        OutputCodeClassifier(**{"estimator": LogisticRegression(), **parameters}).fit(X, Y)


def test_bad_rows():
    model = OutputCodeClassifier(LogisticRegression())
    with pytest.raises(DataError, match="11 classes: use a random code"):
        model.set_params(code="exhaustive").fit(DIGITS[:150], np.arange(150) % 12)
    with pytest.raises(DataError, match="'rare' has one"):
        model.set_params(code="data").fit(X, ["rare", *LABELS[1:]])
    model.set_params(code="random").fit(X, Y)
    with pytest.raises(DataError, match="each distinguish only some of the classes"):
        member_predictions(model, X)
    with pytest.raises(TypeError, match="use pickle"):
        model.save("model.sumwise")


@pytest.mark.parametrize("decoding", ["loss", "hamming"])
@pytest.mark.parametrize("code", ["random", "exhaustive", "data", [[1, -1]]])
def test_one_class_needs_no_members(code, decoding):
    model = OutputCodeClassifier(GaussianNB(), code=code, decoding=decoding).fit(X, ["a"] * 150)
    assert (model.estimators_, model.n_classes_, model.code_book_.shape) == ([], 1, (1, 0))
    np.testing.assert_array_equal(model.predict(X[:2]), ["a", "a"])
    if decoding == "loss":
        np.testing.assert_array_equal(model.predict_proba(X[:2]), np.ones((2, 1)))


@pytest.mark.parametrize("code", ["random", "exhaustive", "data"])
def test_probabilities(code):
    model = OutputCodeClassifier(GaussianNB(), code=code, random_state=0).fit(X, LABELS)
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (shares >= 0.0).all()
    assert np.mean(model.classes_[shares.argmax(axis=1)] == LABELS) > 0.9
    np.testing.assert_allclose(model.predict_proba(X[7:9]), shares[7:9], rtol=1e-9)
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(model.predict_log_proba(X), np.log(shares))


def test_probabilities_of_two_classes_are_those_of_the_member():
    model = OutputCodeClassifier(GaussianNB()).fit(X[:100], LABELS[:100])
    (member,) = model.estimators_
    side = member.predict_proba(X)[:, 1]
    columns = [side, 1.0 - side] if model.code_book_[0, 0] == 1 else [1.0 - side, side]
    np.testing.assert_allclose(model.predict_proba(X), np.column_stack(columns), atol=1e-12)


def test_probabilities_are_there_if_members_have_them_and_can_be_calibrated():
    assert not hasattr(OutputCodeClassifier(LinearSVC()), "predict_proba")
    voting = OutputCodeClassifier(LogisticRegression(), decoding="hamming")
    assert not hasattr(voting, "predict_proba")
    assert not hasattr(voting, "predict_log_proba")
    assert not hasattr(OutputCodeClassifier(LinearSVC()).fit(X, Y), "predict_log_proba")
    model = CalibratedClassifierCV(OutputCodeClassifier(GaussianNB(), random_state=0)).fit(X, Y)
    assert model.score(X, Y) > 0.9


def test_a_member_that_fails_is_named():
    missing = np.where(X > 7.0, np.nan, X)
    model = OutputCodeClassifier(GaussianNB())
    with pytest.raises(
        ValueError, match=r"member 0 \(GaussianNB\) failed to fit: Input X contains"
    ):
        model.fit(missing, Y)


def test_progress_is_shown_on_standard_error(capsys):
    model = OutputCodeClassifier(GaussianNB(), random_state=0).fit(X, Y)
    assert capsys.readouterr() == ("", "")
    model.set_params(verbose=10).fit(X, Y)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "3 out of   3" in shown.err
