"""Sparse input of all other estimators, and of boosters: the same model as of dense input."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

import sumwise
from sumwise import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    AveragingRegressor,
    BaggingClassifier,
    BaggingRegressor,
    BayesianAveragingClassifier,
    BayesianAveragingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    EnsembleSelectionClassifier,
    EnsembleSelectionRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    Linear,
    MultiResponseLinear,
    OutputCodeClassifier,
    OutputFlippingClassifier,
    OutputSmearingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    Snapshot,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    member_predictions,
    oob_permutation_importance,
)
from sumwise.errors import DataError


def make_data(n_rows=150, n_features=24):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((n_rows, n_features)) < 0.12, rng.normal(size=(n_rows, n_features)), 0)
    X = X.round(1)
    X[:, -1] = 0.0  # an empty column
    X[0] = 0.0  # and an empty row
    y = X[:, :8].sum(axis=1) + 0.2 * rng.normal(size=n_rows)
    return X, y


X, Y = make_data()
LABELS = np.array(["no", "yes", "very"])[(Y > 0.0) * 1 + (Y > 0.5) * 1]
S = sparse.csr_array(X)
FEW = {"n_estimators": 4, "random_state": 0}


def read_file(model, path):
    model.save(path)
    return path.read_bytes()


def predict(model, rows):
    return model.predict_proba(rows) if hasattr(model, "predict_proba") else model.predict(rows)


def get_target(model):
    return LABELS if hasattr(model, "classes_") or get_tags(model).classifier_tags else Y


# Forests

TREES = {
    "tree": DecisionTreeClassifier(random_state=0),
    "number": DecisionTreeRegressor(random_state=0, ccp_alpha=0.001),
    "random splits": DecisionTreeRegressor(splitter="random", random_state=0),
    "forest": RandomForestClassifier(**FEW),
    "entropy": RandomForestClassifier(**FEW, criterion="entropy", class_weight="balanced"),
    "pruned": RandomForestRegressor(**FEW, prune="oob", max_leaf_nodes=9),
    "some features": RandomForestRegressor(**FEW, max_features=0.4),
    "extra": ExtraTreesClassifier(**FEW),
    "extra numbers": ExtraTreesRegressor(**FEW, bootstrap=True, max_features_per_tree=0.5),
    "few bins": ExtraTreesRegressor(**FEW, max_bins=5),
}


@pytest.mark.parametrize("model", TREES.values(), ids=TREES)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("most_stored", [0.0, 1.0])
def test_forests_have_the_same_bytes(model, kind, most_stored, tmp_path, monkeypatch):
    monkeypatch.setattr("sumwise.tree.forest_table._MOST_STORED", most_stored)
    y, holes = get_target(model), X.astype(kind)
    holes[np.random.default_rng(1).random(X.shape) < 0.02] = np.nan
    weight = np.random.default_rng(2).integers(0, 3, len(Y))
    for given in (None, weight):
        dense = clone(model).fit(holes, y, given)
        expected = read_file(dense, tmp_path / "dense")
        for form in (sparse.csr_matrix, sparse.csc_array):
            own = clone(model).fit(form(holes), y, given)
            assert read_file(own, tmp_path / "sparse") == expected
            assert np.array_equal(predict(own, form(holes)), predict(dense, holes))
            assert np.array_equal(own.apply(form(holes[:1])), dense.apply(holes[:1]))
    loaded = sumwise.load(tmp_path / "sparse")
    assert np.array_equal(predict(loaded, form(holes)), predict(dense, holes))


def test_what_forests_tell_of_sparse_rows(monkeypatch):
    dense = RandomForestClassifier(n_estimators=20, oob_score=True, random_state=0).fit(X, LABELS)
    forest = RandomForestClassifier(n_estimators=20, oob_score=True, random_state=0).fit(S, LABELS)
    assert forest.oob_score_ == dense.oob_score_
    monkeypatch.setattr(
        "sumwise.data.sparse.byte_tables._PART_BYTES", 7 * X.shape[1]
    )  # 7 rows each
    assert np.array_equal(forest.predict_proba(S), dense.predict_proba(X))
    assert np.array_equal(forest.apply(S), dense.apply(X))
    paths, starts = forest.decision_path(S)
    expected, _ = dense.decision_path(X)
    assert (paths != expected).nnz == 0
    assert starts[-1] == paths.shape[1]
    for kind in ("permutation", "unbiased"):
        own, other = (f.oob_importances(M, LABELS, kind=kind) for f, M in ((forest, S), (dense, X)))
        assert np.array_equal(own.mean, other.mean)
    more = forest.set_params(warm_start=True, n_estimators=25).fit(S, LABELS)
    at_once = RandomForestClassifier(n_estimators=25, random_state=0).fit(X, LABELS)
    assert np.array_equal(more.predict_proba(X), at_once.predict_proba(X))
    tree = DecisionTreeClassifier(random_state=0)
    paths = [tree.cost_complexity_pruning_path(M, LABELS).ccp_alphas for M in (X, S)]
    assert np.array_equal(*paths)


@pytest.mark.parametrize("make", [RandomForestRegressor, AdaBoostRegressor])
def test_tables_that_are_too_large_are_refused(make, monkeypatch):
    monkeypatch.setattr("sumwise.data.sparse.byte_tables.find_memory", lambda: 2 * X.size - 100)
    if make is AdaBoostRegressor:  # features with one value take nothing
        monkeypatch.setattr("sumwise.data.sparse.byte_tables.find_memory", lambda: X.size)
    with pytest.raises(DataError, match=r"a byte for each value: .* use gradient boosting"):
        make(**FEW).fit(S, Y)
    assert make(**FEW).fit(X, Y).predict(S).shape == (len(Y),)


@pytest.mark.parametrize("fill", [0.0, np.nan])
@pytest.mark.parametrize("make", [ExtraTreesRegressor, AdaBoostRegressor])
def test_frames_with_sparse_columns(make, fill):
    values = X if fill == 0 else np.where(X == 0, np.nan, X)
    names = [f"x{f}" for f in range(X.shape[1])]
    plain = pd.DataFrame(values, columns=names)
    frame = plain.astype(pd.SparseDtype(float, fill))
    dense, own = make(**FEW).fit(plain, Y), make(**FEW).fit(frame, Y)
    assert own.feature_names_in_.tolist() == names
    assert np.array_equal(own.predict(frame), dense.predict(plain))


# Ensembles of members


def list_members(is_class):
    if is_class:
        return [
            ("linear", LogisticRegression()),
            ("boosting", GradientBoostingClassifier(**FEW)),
            ("forest", RandomForestClassifier(**FEW)),
        ]
    return [
        ("linear", Ridge(solver="lsqr", tol=1e-14)),
        ("boosting", GradientBoostingRegressor(**FEW)),
        ("forest", RandomForestRegressor(**FEW)),
    ]


CLASSIFIERS, REGRESSORS = list_members(True), list_members(False)
BOOSTED, BOOSTED_NUMBERS = CLASSIFIERS[1][1], REGRESSORS[1][1]
ENSEMBLES = {
    "adaboost": AdaBoostClassifier(**FEW),
    "adaboost draws": AdaBoostClassifier(**FEW, method="resample"),
    "adaboost of others": AdaBoostClassifier(LogisticRegression(), n_estimators=3),
    "adaboost of others draws": AdaBoostClassifier(BOOSTED, **FEW, method="resample"),
    "adaboost numbers": AdaBoostRegressor(**FEW),
    "adaboost of forests": AdaBoostRegressor(REGRESSORS[2][1], n_estimators=3, random_state=0),
    "bagging": BaggingClassifier(**FEW, max_features=0.5),
    "bagging of others": BaggingClassifier(LogisticRegression(), **FEW, max_features=0.5),
    "bagging twice": BaggingRegressor(BOOSTED_NUMBERS, **FEW, bootstrap_features=True),
    "flipping": OutputFlippingClassifier(**FEW),
    "flipping others": OutputFlippingClassifier(LogisticRegression(), **FEW),
    "smearing": OutputSmearingRegressor(**FEW),
    "codes": OutputCodeClassifier(BOOSTED, random_state=0),
    "codes of others": OutputCodeClassifier(LogisticRegression(), random_state=0),
    "votes": VotingClassifier(CLASSIFIERS, cv=2, rule="weighted", weights="learned"),
    "average": AveragingRegressor(REGRESSORS, cv=2, weights="least_squares"),
    "bayesian": BayesianAveragingClassifier(CLASSIFIERS, cv=2, n_draws=20, random_state=0),
    "bayesian numbers": BayesianAveragingRegressor(REGRESSORS, cv=2),
    "selection": EnsembleSelectionClassifier(CLASSIFIERS, cv=2, n_selected=3),
    "selection numbers": EnsembleSelectionRegressor(REGRESSORS, cv=2, n_selected=3),
    "stack": StackingClassifier(CLASSIFIERS, cv=2),
    "stack with X": StackingClassifier(CLASSIFIERS, cv=2, passthrough=True),
    "stack of numbers": StackingRegressor(REGRESSORS, cv=2),
    "stack on a forest": StackingRegressor(
        REGRESSORS[1:], RandomForestRegressor(**FEW), cv=2, passthrough=True
    ),
    "responses": MultiResponseLinear(),
}
FORMATS = ("csr_matrix", "csc_array", "coo_matrix", "coo_array", "lil_array", "bsr_array")


def assert_alike(own, other):
    """Linear models of scikit-learn are not the same to the last bit."""
    if own.dtype.kind == "f":
        np.testing.assert_allclose(own, other, rtol=1e-5, atol=1e-7)
    else:
        assert np.array_equal(own, other)


@pytest.mark.parametrize("model", ENSEMBLES.values(), ids=ENSEMBLES)
def test_ensembles_of_sparse_rows(model):
    y = get_target(model)
    assert get_tags(model).input_tags.sparse
    expected = predict(clone(model).fit(X, y), X)
    for name in FORMATS[:2]:
        rows = getattr(sparse, name)(X)
        own = clone(model).fit(rows, y)
        assert_alike(predict(own, rows), expected)
    for name in FORMATS[2:]:
        rows = getattr(sparse, name)(X)
        assert_alike(predict(own, rows), expected)
    assert_alike(predict(own, rows.tocsr()[:1]), expected[:1])
    assert np.array_equal(predict(pickle.loads(pickle.dumps(own)), rows), predict(own, rows))


def test_members_out_of_bag_of_sparse_rows():
    for base in (None, LogisticRegression()):
        bags = [
            BaggingClassifier(base, n_estimators=20, oob_score=True, random_state=0).fit(M, LABELS)
            for M in (X, S)
        ]
        assert bags[0].oob_score_ == bags[1].oob_score_
        importances = [
            oob_permutation_importance(bag, M, LABELS, random_state=0)
            for bag, M in zip(bags, (X, S), strict=True)
        ]
        np.testing.assert_allclose(
            importances[0].importances_mean, importances[1].importances_mean, atol=1e-12
        )
    own = member_predictions(VotingClassifier(CLASSIFIERS).fit(S, LABELS), S)
    assert own.values.shape == (len(Y), 3)


def test_responses_to_many_sparse_features():
    wide = sparse.random(20, 9000, 0.01, format="csr", random_state=0)
    with pytest.raises(DataError, match="passthrough=False or a final_estimator"):
        MultiResponseLinear().fit(wide, np.arange(20) % 2)


# Boosters

PARTS = {
    "plain": {},
    "dart": {"booster": "dart"},
    "forest": {"booster": "forest"},
    "ordered": {"booster": "ordered"},
}


@pytest.mark.parametrize("params", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
def test_boosters_have_the_same_bytes(params, growth, tmp_path):
    params = {**FEW, **params, "growth": growth, "max_depth": 3, "min_samples_leaf": 3}
    for make, y in (
        (GradientBoostingRegressor, Y),
        (GradientBoostingClassifier, LABELS),
    ):
        models = [make(**params).fit(M, y) for M in (X, S)]
        own, other = (read_file(model, tmp_path / "model") for model in models)
        assert own == other


MORE = {
    "stopping": {"early_stopping": True, "n_iter_no_change": 1},
    "out of bag": {"early_stopping": "oob", "sampler": "subsample"},
    "goss": {"sampler": "goss"},
    "mvs": {"sampler": "mvs"},
    "bayesian": {"sampler": "bayesianbootstrap"},
    "medians": {"loss": "absolute_error"},
    "quantile": {"loss": sumwise.Quantile(0.8)},
    "huber": {"loss": "huber"},
    "dart of medians": {"booster": "dart", "loss": "absolute_error"},
    "ordered stops": {"booster": "ordered", "early_stopping": True},
    "linear": {"booster": "linear"},
    "linear stops": {"booster": Linear(l1=0.01, l2=0.1), "early_stopping": True},
    "linear draws": {"booster": "linear", "sampler": "subsample"},
}


@pytest.mark.parametrize("params", MORE.values(), ids=MORE)
def test_options_have_the_same_bytes(params, tmp_path):
    params = {**FEW, "min_samples_leaf": 3, **params}
    weight = np.random.default_rng(0).random(len(Y))
    models = [GradientBoostingRegressor(**params).fit(M, Y, weight) for M in (X, S)]
    own, other = (read_file(model, tmp_path / "model") for model in models)
    assert own == other
    assert np.array_equal(models[0].predict(S), models[0].predict(X))


@pytest.mark.parametrize("n_rows", [1, 4095, 4096, 8195])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_linear_models_of_many_blocks(n_rows, n_threads, monkeypatch):
    monkeypatch.setattr("sumwise.estimators.input.jobs.count_threads", lambda *_: n_threads)
    monkeypatch.setattr("sumwise.training.boosters.linear._ENTRIES_FOR_ALL", 0)
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((n_rows, 6)) < 0.3, rng.normal(size=(n_rows, 6)), 0)
    dense[rng.random(dense.shape) < 0.01] = np.nan
    y = np.nan_to_num(dense).sum(axis=1) + rng.normal(size=n_rows)
    for zeros in ("value", "missing"):
        params = {**FEW, "booster": "linear", "sparse_zeros": zeros}
        stored = sparse.csr_matrix(dense)
        models = [GradientBoostingRegressor(**params).fit(M, y) for M in (dense, stored)]
        coefficients = [model.ensemble_.coefficient for model in models]
        assert coefficients[0].tobytes() == coefficients[1].tobytes()
        assert np.array_equal(models[1].predict(stored), models[0].predict(dense))
        for own, other in zip(
            models[1].staged_predict(stored), models[0].staged_predict(dense), strict=True
        ):
            assert np.array_equal(own, other)


def test_linear_models_refuse_what_is_too_large():
    for value in (np.inf, 1e151):
        rows = X.copy()
        rows[5, 3] = value
        for given in (rows, sparse.csr_matrix(rows)):
            with pytest.raises(DataError, match="feature 3 of X has values that are infinite"):
                GradientBoostingRegressor(**FEW, booster="linear").fit(given, Y)


def test_continuing_snapshots_and_losses_of_ones_own(tmp_path):
    class Squares:
        def gradient(self, y, raw):
            return raw - y, np.ones_like(y)

    found = []
    for number, rows in enumerate((X, S)):
        path = tmp_path / f"snapshot{number}"
        model = GradientBoostingRegressor(**FEW, callbacks=[Snapshot(path, every=1)]).fit(rows, Y)
        start = sumwise.load(path)
        more = GradientBoostingRegressor(n_estimators=7, random_state=0)
        more.fit(rows, Y, init_model=start)
        again = GradientBoostingRegressor(**{**FEW, "n_estimators": 2}, warm_start=True).fit(
            rows, Y
        )
        again.set_params(n_estimators=4).fit(rows, Y)
        assert np.array_equal(again.predict(rows), model.predict(rows))
        own = GradientBoostingRegressor(**FEW, loss=Squares())
        own.fit(rows, Y)
        found.append((more.predict(rows), own.predict(rows)))
    for dense, stored in zip(*found, strict=True):
        assert np.array_equal(dense, stored)


# What matrices may be like

ESTIMATORS = {
    "boosting": GradientBoostingRegressor(**FEW, min_samples_leaf=3),
    "linear": GradientBoostingRegressor(**FEW, booster="linear"),
    "forest": RandomForestRegressor(**FEW),
    "adaboost": AdaBoostRegressor(**FEW),
}


def make_odd_matrices():
    """Pairs of a sparse matrix and the dense one that it stands for."""
    whole = np.where(X > 0.8, 3, 0)
    for kind in (np.bool_, np.int8, np.uint16, np.int64, np.float32, np.longdouble):
        yield f"{np.dtype(kind)}", sparse.csr_array(whole.astype(kind)), whole.astype(kind)
    for name in ("coo_array", "coo_matrix", "lil_matrix", "dok_array", "bsr_array"):
        yield name, getattr(sparse, name)(X), X
    corner = np.triu(np.tril(X, 3), -3)
    yield "dia_array", sparse.dia_array(corner), corner
    zeros = S.copy()
    zeros.data[::3] = 0.0
    yield "stored zeros", zeros, zeros.toarray()
    turned = S.copy()
    for row in range(len(Y)):
        own = slice(turned.indptr[row], turned.indptr[row + 1])
        turned.indices[own], turned.data[own] = turned.indices[own][::-1], turned.data[own][::-1]
    turned.has_sorted_indices = False
    yield "unsorted", turned, X
    rows, columns = S.nonzero()
    half = (np.tile(S.data / 2, 2), (np.tile(rows, 2), np.tile(columns, 2)))
    yield "twice", sparse.coo_array(half, shape=S.shape), X
    long = S.copy()
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    yield "int64", long, X
    yield "empty", sparse.csr_array(X.shape), np.zeros(X.shape)
    holes = S.copy()
    holes.data[::5] = np.nan
    yield "missing", holes, holes.toarray()


ODD = {name: (stored, dense) for name, stored, dense in make_odd_matrices()}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("model", ESTIMATORS.values(), ids=ESTIMATORS)
def test_matrices_of_any_kind(model, name):
    stored, dense = ODD[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        own, other = clone(model).fit(stored, Y), clone(model).fit(dense, Y)
        assert np.array_equal(own.predict(stored), other.predict(dense))
        assert np.array_equal(other.predict(stored), own.predict(dense))


@pytest.mark.parametrize("name", ["boosting", "forest", "adaboost"])
def test_infinite_values_are_values(name):
    rows = X.copy()
    rows[3, 1], rows[9, 2] = np.inf, -np.inf
    stored = sparse.csr_array(rows)
    models = [clone(ESTIMATORS[name]).fit(M, Y) for M in (rows, stored)]
    assert np.array_equal(models[0].predict(rows), models[1].predict(stored))


def test_what_sparse_rows_cannot_be():
    for make in (RandomForestRegressor, GradientBoostingRegressor):
        with pytest.raises(DataError, match="features of a sparse X are numbers"):
            make(**FEW, categorical_features=[1]).fit(S, Y)
        frame = pd.DataFrame({"a": np.arange(20.0), "b": list("ab") * 10})
        model = make(**FEW).fit(frame, np.arange(20))
        with pytest.raises(DataError, match=r"sparse X are numbers, and .* fitted on categories"):
            model.predict(sparse.csr_array(np.ones((3, 2))))
        for bad in (sparse.csr_array((0, 3)), sparse.csr_array((3, 0))):
            with pytest.raises(ValueError, match="Found array with 0"):
                make(**FEW).fit(bad, Y[: bad.shape[0]])
        with pytest.raises(ValueError, match="Complex data not supported"):
            make(**FEW).fit(S.astype(complex), Y)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            make(**FEW).fit(S, Y[:-1])
        with pytest.raises(ValueError, match="X has 3 features, but"):
            make(**FEW).fit(S, Y).predict(S[:, :3])


# Text

WORDS = {
    "sea": "the boat left the harbor and a gull cried over the waves near the pier",
    "hill": "we walked up the steep path where goats and snow and stones were waiting",
    "town": "a tram rang twice while people with umbrellas crossed the wet square",
}

SHARED = "and then it was late so the day came to an end with some rain"


def write_corpus(n_texts=150):
    rng = np.random.default_rng(0)
    topics = rng.choice(list(WORDS), n_texts)
    texts = []
    for topic in topics:
        own = rng.choice(WORDS[topic].split(), 5).tolist()
        texts.append(" ".join([*own, *rng.choice(SHARED.split(), 6)]))
    return texts, topics


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(n_estimators=20, random_state=0),
        ExtraTreesClassifier(n_estimators=20, random_state=0),
        GradientBoostingClassifier(n_estimators=20),
        GradientBoostingClassifier(n_estimators=20, booster="linear", learning_rate=0.5),
        AdaBoostClassifier(),
        BaggingClassifier(n_estimators=20, random_state=0),
        VotingClassifier(CLASSIFIERS, votes="soft"),
        StackingClassifier(CLASSIFIERS),
    ],
    ids=lambda model: type(model).__name__,
)
def test_texts_in_a_pipeline(model):
    texts, topics = write_corpus()
    pipeline = make_pipeline(TfidfVectorizer(), clone(model)).fit(texts[:100], topics[:100])
    assert pipeline.score(texts[100:], topics[100:]) > 0.6
    assert pipeline.predict_proba(texts[:1]).shape == (1, 3)
