"""Classification of several outputs: one label of each for every row."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
import sklearn.tree
from scipy.sparse import csr_matrix
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import hamming_loss

import sumwise
from sumwise import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sumwise.errors import DataError, ModelFileError, ParameterError
from sumwise.inspection import export_graphviz, export_text
from sumwise.plotting import tree_layout

FORESTS = [RandomForestClassifier, ExtraTreesClassifier]
MODELS = [DecisionTreeClassifier, *FORESTS]


def draw_data(n_rows=240):
    """Numbers that no two splits tie with, and labels of two, three and two classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 5))
    noise = rng.normal(size=(n_rows, 3))
    y = np.column_stack(
        [
            X[:, 0] + noise[:, 0] > 0,
            np.digitize(X[:, 1] + 0.5 * noise[:, 1], [-0.5, 0.5]),
            X[:, 0] * X[:, 2] + 0.3 * noise[:, 2] > 0,
        ]
    )
    return X, y.astype(int)


X, Y = draw_data()
LABELS = Y[:, [0, 2]]  # of two classes each
SMALL = {"n_estimators": 10, "random_state": 0}


def make(model, **params):
    return model(**{"random_state": 0, **params})


@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("depth", [1, 3])
def test_trees_are_those_of_scikit_learn(criterion, weighted, depth):
    params = {"criterion": criterion, "max_depth": depth, "min_samples_leaf": 5}
    weight = np.random.default_rng(1).random(len(X)) if weighted else None
    ours = make(DecisionTreeClassifier, **params).fit(X, Y, weight)
    theirs = make(sklearn.tree.DecisionTreeClassifier, **params).fit(X, Y, weight)
    for own, other in zip(ours.predict_proba(X), theirs.predict_proba(X), strict=True):
        np.testing.assert_allclose(own, other)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=1e-5)
    path, expected = (m.cost_complexity_pruning_path(X, Y, weight) for m in (ours, theirs))
    np.testing.assert_allclose(path.impurities[[0, -1]], expected.impurities[[0, -1]])
    assert path.ccp_alphas[-1] == pytest.approx(expected.ccp_alphas[-1])


@pytest.mark.parametrize("model", MODELS)
def test_attributes_and_shapes_are_those_of_scikit_learn(model):
    names = np.array(["no", "yes"])[Y[:, 0]]
    labels = np.column_stack([names, Y[:, 1].astype(str)])
    fitted = make(model).fit(X, labels)
    assert [own.tolist() for own in fitted.classes_] == [["no", "yes"], ["0", "1", "2"]]
    assert fitted.n_classes_ == [2, 3]
    assert fitted.n_outputs_ == 2
    found = fitted.predict(X)
    assert found.shape == labels.shape
    assert set(found[:, 0]) == {"no", "yes"}
    shares, logs = fitted.predict_proba(X), fitted.predict_log_proba(X)
    assert [own.shape for own in shares] == [(len(X), 2), (len(X), 3)]
    for own, log in zip(shares, logs, strict=True):
        np.testing.assert_allclose(own.sum(axis=1), 1.0)
        np.testing.assert_allclose(np.exp(log), own)


@pytest.mark.parametrize("forest", FORESTS)
def test_forests_are_as_good_as_those_of_scikit_learn(forest):
    data, labels = make_multilabel_classification(800, 15, n_classes=4, random_state=0)
    other = getattr(sklearn.ensemble, forest.__name__)
    ours, theirs = (
        hamming_loss(
            labels[400:], kind(60, random_state=0).fit(data[:400], labels[:400]).predict(data[400:])
        )
        for kind in (forest, other)
    )
    assert ours < theirs + 0.02


@pytest.mark.parametrize("forest", FORESTS)
def test_members_predict_what_the_forest_averages(forest):
    model = forest(**SMALL).fit(X, Y)
    for output in range(3):
        members = [tree.predict_proba(X)[output] for tree in model]
        np.testing.assert_allclose(model.predict_proba(X)[output], np.mean(members, axis=0))
    assert model[3].n_classes_ == [2, 3, 2]


def test_an_output_of_one_class():
    labels = np.column_stack([np.full(len(X), 7), Y[:, 0]])
    model = RandomForestClassifier(**SMALL).fit(X, labels)
    assert model.n_classes_ == [1, 2]
    assert (model.predict(X)[:, 0] == 7).all()


def test_a_column_is_one_output():
    model = RandomForestClassifier(**SMALL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, Y[:, :1])
    assert model.n_outputs_ == 1
    assert isinstance(model.classes_, np.ndarray)


def test_frames_and_sparse_matrices():
    frame = pd.DataFrame({"a": Y[:, 0], "b": np.array(list("xyz"))[Y[:, 1]]})
    model = RandomForestClassifier(**SMALL).fit(pd.DataFrame(X, columns=list("pqrst")), frame)
    assert model.predict(pd.DataFrame(X, columns=list("pqrst")))[:, 1].tolist()[0] in "xyz"
    sparse = csr_matrix(np.where(X > 0.5, X, 0.0))
    for kind, target in (
        (RandomForestClassifier, Y),
        (DecisionTreeClassifier, Y),
        (RandomForestRegressor, X[:, :2]),
        (DecisionTreeRegressor, X[:, :2]),
    ):
        ours = make(kind).fit(sparse, target)
        dense = make(kind).fit(sparse.toarray(), target)
        np.testing.assert_array_equal(ours.predict(sparse), dense.predict(sparse.toarray()))


# --- out of bag ---


def test_out_of_bag_values_have_the_shape_of_scikit_learn():
    params = {**SMALL, "n_estimators": 40, "oob_score": True}
    ours = RandomForestClassifier(**params).fit(X, LABELS)
    theirs = sklearn.ensemble.RandomForestClassifier(**params).fit(X, LABELS)
    assert ours.oob_decision_function_.shape == theirs.oob_decision_function_.shape
    np.testing.assert_allclose(ours.oob_decision_function_.sum(axis=1), 1.0)
    guess = ours.oob_decision_function_.argmax(axis=1)
    assert ours.oob_score_ == (guess == LABELS).all(axis=1).mean()
    assert ours.oob_score_ == pytest.approx(theirs.oob_score_, abs=0.08)


def test_out_of_bag_scores_of_many_classes_need_a_metric():
    model = RandomForestClassifier(40, oob_score=True, random_state=0)
    with pytest.raises(ParameterError, match=r"multiclass-multioutput.* pass a metric"):
        model.fit(X, Y)
    assert not hasattr(model, "forest_")
    model.set_params(oob_score=lambda y, guess: (y == guess).mean()).fit(X, Y)
    assert 0.6 < model.oob_score_ < 1
    assert model.oob_decision_function_.shape == (len(X), 3, 3)
    assert (model.oob_decision_function_[:, 2, [0, 2]] == 0).all()


def test_importances_out_of_bag_find_the_features():
    model = RandomForestClassifier(40, random_state=0).fit(X, Y)
    for kind in ("permutation", "unbiased"):
        found = model.oob_importances(X, Y, kind=kind).mean
        assert found[:3].min() > 3 * np.abs(found[3:]).max()


@pytest.mark.parametrize(
    "params", [{"prune": "oob"}, {"leaf_posterior": "oob"}, {"ccp_alpha": 0.01}], ids=str
)
def test_smaller_trees(params):
    whole = RandomForestClassifier(**SMALL).fit(X, Y)
    model = RandomForestClassifier(**SMALL, **params).fit(X, Y)
    shares = model.predict_proba(X)
    assert all(np.allclose(own.sum(axis=1), 1) for own in shares)
    is_smaller = model.forest_.feature.size < whole.forest_.feature.size
    assert is_smaller or params == {"leaf_posterior": "oob"}


# --- weights of classes ---


@pytest.mark.parametrize(
    "class_weight", ["balanced", [{0: 1, 1: 3}, {0: 2.5}, {}], [None, {2: 0.5}, None]], ids=str
)
def test_class_weights_multiply(class_weight):
    params = {"class_weight": class_weight, "max_depth": 2}
    ours = make(DecisionTreeClassifier, **params).fit(X, Y)
    if class_weight[0] is not None:
        theirs = make(sklearn.tree.DecisionTreeClassifier, **params)
        if isinstance(class_weight, list):  # theirs wants all classes
            full = [{0: 1, 1: 3}, {0: 2.5, 1: 1, 2: 1}, {0: 1, 1: 1}]
            theirs.set_params(class_weight=full)
        for own, other in zip(
            ours.predict_proba(X), theirs.fit(X, Y).predict_proba(X), strict=True
        ):
            np.testing.assert_allclose(own, other)
    else:
        weight = np.where(Y[:, 1] == 2, 0.5, 1.0)
        other = make(DecisionTreeClassifier, max_depth=2).fit(X, Y, weight)
        for own, expected in zip(ours.predict_proba(X), other.predict_proba(X), strict=True):
            np.testing.assert_allclose(own, expected)


def test_balanced_subsamples():
    model = RandomForestClassifier(**SMALL, class_weight="balanced_subsample").fit(X, Y)
    stump = RandomForestClassifier(
        **SMALL, class_weight="balanced_subsample", max_depth=1, max_features=None
    ).fit(X, LABELS[:, [0, 0]])
    # The weights of one output are those of two that are the same, squared: still balanced.
    assert model.n_outputs_ == 3
    assert stump.predict_proba(X)[0] == pytest.approx(stump.predict_proba(X)[1])


@pytest.mark.parametrize(
    ("class_weight", "target", "message"),
    [
        ({0: 1}, Y, "3 outputs: must be .* a list of one dict per output"),
        ([{0: 1}], Y, "3 outputs"),
        ([{0: 1}], Y[:, 0], "1 outputs: must be 'balanced', a dict"),
        (["balanced", {}, {}], Y, "a list must have one dict"),
        ([{5: 1}, {}, {}], Y, "class_weight has 5"),
    ],
    ids=str,
)
@pytest.mark.parametrize("model", [DecisionTreeClassifier, RandomForestClassifier])
def test_class_weights_that_do_not_fit(model, class_weight, target, message):
    with pytest.raises(ValueError, match=message):
        make(model, class_weight=class_weight).fit(X, target)


# --- files and threads ---


@pytest.mark.parametrize("model", MODELS)
def test_files_and_threads(model, tmp_path):
    files = set()
    for n_jobs in (1, 2, 3):
        fitted = make(model, n_jobs=n_jobs).fit(X, Y)
        fitted.save(tmp_path / "model")
        files.add((tmp_path / "model").read_bytes())
    assert len(files) == 1
    for again in (sumwise.load(tmp_path / "model"), pickle.loads(pickle.dumps(fitted))):
        assert [own.tolist() for own in again.classes_] == [[0, 1], [0, 1, 2], [0, 1]]
        assert again.n_outputs_ == 3
        for own, other in zip(again.predict_proba(X), fitted.predict_proba(X), strict=True):
            np.testing.assert_array_equal(own, other)


def test_files_with_other_numbers_of_classes_are_refused(tmp_path):
    model = make(DecisionTreeClassifier).fit(X, Y)
    for classes in ([np.arange(2), np.arange(3)], [np.arange(7)], [np.arange(7), np.arange(0)]):
        model.classes_ = classes
        model.save(tmp_path / "model")
        with pytest.raises(ModelFileError, match="classes_ has"):
            sumwise.load(tmp_path / "model")


def test_more_trees():
    model = RandomForestClassifier(5, warm_start=True, random_state=0).fit(X, Y)
    model.set_params(n_estimators=12).fit(X, Y)
    at_once = RandomForestClassifier(12, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), at_once.predict(X))
    model.set_params(n_estimators=15)
    with pytest.raises(DataError, match="y has 1 targets, and the trees to continue from have 3"):
        model.fit(X, Y[:, 0])
    with pytest.raises(DataError, match=r"y\[:, 1\] has classes"):
        model.fit(X, Y + np.array([0, 1, 0]))
    assert len(model) == 12


def test_what_is_refused():
    with pytest.raises(ParameterError, match="not supported with multiple outputs"):
        DecisionTreeClassifier(monotonic_cst=[1, 0, 0, 0, 0]).fit(X, LABELS)
    with pytest.raises(ValueError, match="continuous"):
        DecisionTreeClassifier().fit(X, X[:, :2])
    with pytest.raises(DataError, match="y has 1200 classes"):
        RandomForestClassifier().fit(np.zeros((1200, 1)), np.arange(2400).reshape(1200, 2))
    for model in (DecisionTreeClassifier(), RandomForestRegressor()):
        with pytest.raises(DataError, match=r"y is sparse.* y.toarray\(\)"):
            model.fit(X, csr_matrix(Y))


def test_trees_are_written_and_laid_out():
    model = make(RandomForestClassifier, n_estimators=3, max_depth=2).fit(X, Y)
    text = export_text(model, 1)
    assert text.count("value: [") == model[1].get_n_leaves()
    assert "value = [" in export_graphviz(model, tree=2, filled=True)
    assert tree_layout(model, 1).text
