"""Linear leaves: against a twin and LightGBM, for every growth, in files and in stages."""

import pickle

import lightgbm
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone

from sumwise import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LinearLeaves,
    Plain,
    Quantile,
    TargetStatistics,
    load,
)
from sumwise.errors import DataError, ModelFileError, ParameterError
from sumwise.export import trees
from tests.naive import leaf_models as naive

GROWTHS = ["leaf", "depth", "symmetric"]
SMALL = {"n_estimators": 6, "max_leaves": 8, "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 4))
X[:, 2] = X[:, 2].round()
SIGNAL = 2 * X[:, 0] + np.where(X[:, 1] > 0, X[:, 3], -X[:, 3])
Y = SIGNAL + 0.1 * RNG.normal(size=600)
HOLES = np.where(RNG.random(X.shape) < 0.1, np.nan, X)


def fit(X=X, y=Y, weight=None, **params):
    model = GradientBoostingRegressor(**{**SMALL, "leaves": "linear", **params})
    return model.fit(X, y, weight)


def predict_slowly(model, X):
    """The sum of the leaves, one by one."""
    e = model.ensemble_
    first = np.append(0, e.models.size.cumsum())
    scores = np.tile(e.base_score, (len(X), 1))
    for row, leaves in enumerate(model.apply(X)):
        for tree, leaf in enumerate(leaves):
            node = e.start[tree] + leaf
            terms = slice(first[node], first[node + 1])
            x = X[row, e.models.feature[terms]]
            use_value = e.models.size[node] == 0 or not np.isfinite(x).all()
            line = e.models.constant[node] + x @ e.models.coefficient[terms]
            line = min(max(line, e.models.low[node]), e.models.high[node])
            scores[row, e.output[tree]] += e.value[node] if use_value else line
    return scores


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize(
    "table", [X, HOLES, X.astype(np.float32)], ids=["full", "holes", "float32"]
)
def test_the_first_tree_equals_the_twin(growth, table):
    weight = RNG.random(600) + 0.5
    part = LinearLeaves(l2=3.0)
    model = fit(table, Y, weight, leaves=part, growth=growth, n_estimators=1, l2=2.0)
    e, leaf = model.ensemble_, model.apply(table)[:, 0]
    g, first = weight * (e.base_score[0] - Y), np.append(0, e.models.size.cumsum())
    n_models = 0
    for node in np.unique(leaf):
        features = e.models.feature[first[node] : first[node + 1]]
        if not features.size:
            continue
        own = leaf == node
        x = table[own][:, features].astype(np.float64)
        full = np.isfinite(x).all(axis=1)
        found = naive.fit_leaf(x[full], g[own][full], weight[own][full], 2.0, 3.0)
        constant, slopes = found
        np.testing.assert_allclose(0.1 * constant, e.models.constant[node], rtol=1e-6, atol=1e-9)
        coefficient = e.models.coefficient[first[node] : first[node + 1]]
        np.testing.assert_allclose(0.1 * slopes, coefficient, rtol=1e-6, atol=1e-9)
        n_models += 1
    assert n_models > (1 if growth == "symmetric" else 5)
    # Splits and values are those of the tree without models.
    plain = fit(table, Y, weight, leaves="constant", growth=growth, n_estimators=1, l2=2.0)
    for name in ("feature", "threshold", "value", "gain"):
        assert np.array_equal(getattr(plain.ensemble_, name), getattr(e, name))


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("table", [X, HOLES], ids=["full", "holes"])
def test_predictions_are_the_sums_of_leaves(growth, table):
    model = fit(table, growth=growth)
    np.testing.assert_allclose(model.predict(table), predict_slowly(model, table)[:, 0], rtol=1e-12)
    stages = list(model.staged_predict(table))
    assert np.array_equal(stages[-1], model.predict(table))
    for n_rounds in (1, 3):
        short = model.truncate(n_rounds)
        assert np.array_equal(stages[n_rounds - 1], short.predict(table))
    for row in (0, 17):
        assert model.predict(table[row : row + 1])[0] == stages[-1][row]


def test_ranges_of_rounds():
    model = fit(HOLES)
    first, last = (model.predict(HOLES, rounds=rounds) for rounds in ((0, 2), (2, 6)))
    whole = first + last - model.ensemble_.base_score[0]
    np.testing.assert_allclose(whole, model.predict(HOLES), rtol=1e-9)


def test_training_and_prediction_have_the_same_scores():
    model = GradientBoostingRegressor(**SMALL, leaves="linear", sampler="subsample")
    model.set_params(scoring="neg_mean_squared_error", n_iter_no_change=100)
    model.fit(HOLES[:400], Y[:400], X_val=HOLES[400:], y_val=Y[400:])
    losses = [-((stage - Y[400:]) ** 2).mean() for stage in model.staged_predict(HOLES[400:])]
    np.testing.assert_allclose(losses, model.history_["validation_score"][: len(losses)])


def test_lines_need_fewer_leaves():
    x = RNG.uniform(0, 10, (2000, 2))
    y = np.where(x[:, 0] < 5, 3 * x[:, 0], 30 - 2 * x[:, 0]) + x[:, 1]
    lines, steps = (
        GradientBoostingRegressor(leaves=leaves, max_leaves=4, n_estimators=100)
        .fit(x[:1000], y[:1000])
        .predict(x[1000:])
        for leaves in ("linear", "constant")
    )
    errors = [np.abs(p - y[1000:]).mean() for p in (lines, steps)]
    assert errors[0] < 0.5 * errors[1]


def test_as_good_as_lightgbm():
    x = RNG.normal(size=(4000, 5))
    y = x[:, 0] * np.where(x[:, 1] > 0, 2, -1) + np.abs(x[:, 2]) + 0.2 * RNG.normal(size=4000)
    shared = {"n_estimators": 60, "learning_rate": 0.1}
    rival = lightgbm.LGBMRegressor(**shared, linear_tree=True, verbosity=-1, n_jobs=1)
    ours = GradientBoostingRegressor(**shared, leaves="linear")
    found, theirs = (
        np.mean((m.fit(x[:2000], y[:2000]).predict(x[2000:]) - y[2000:]) ** 2)
        for m in (ours, rival)
    )
    assert found < 1.05 * theirs


@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes(growth, n_classes, tmp_path):
    labels = np.digitize(SIGNAL, (0.0, 1.5)[: n_classes - 1])
    model = GradientBoostingClassifier(**SMALL, leaves="linear", growth=growth)
    model.fit(HOLES, labels)
    assert model.score(HOLES, labels) > 0.7
    scores = model.decision_function(HOLES).reshape(600, -1)
    np.testing.assert_allclose(scores, predict_slowly(model, HOLES), rtol=1e-11, atol=1e-13)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(again.predict_proba(HOLES), model.predict_proba(HOLES))


@pytest.mark.parametrize("loss", ["poisson", "squared_log_error", "cross_entropy"])
def test_other_losses_with_hessians(loss):
    y = 0.9 / (1 + np.exp(-SIGNAL))
    linear, constant = (
        fit(HOLES, y, loss=loss, leaves=leaves, verbose=True).history_["training_loss"]
        for leaves in ("linear", "constant")
    )
    assert linear[-1] < constant[-1]


@pytest.mark.parametrize("growth", GROWTHS)
def test_threads_change_no_byte(growth, teams, bytes_of):
    weight = RNG.exponential(size=600)
    params = {"growth": growth, "sampler": "subsample", "n_estimators": 3}
    files = {bytes_of(fit(HOLES, Y, weight, n_jobs=n, **params)) for n in (1, 2, 4)}
    assert len(files) == 1


@pytest.mark.parametrize("splits", ["histogram", "approx", "exact"])
def test_splits(splits):
    model = fit(HOLES, splits=splits, max_bins=16, early_stopping=True)
    np.testing.assert_allclose(model.predict(HOLES), predict_slowly(model, HOLES)[:, 0], rtol=1e-11)


def test_categories_have_no_slopes(tmp_path):
    frame = pd.DataFrame(HOLES, columns=list("abcd"))
    frame["e"] = pd.Categorical(np.array(list("uvwxyz"))[RNG.integers(0, 6, 600)])
    y = Y + 3 * frame["e"].cat.codes.to_numpy() * X[:, 0]
    native, ordered, one = (
        fit(frame, y, categorical_encoding=encoding)
        for encoding in ("native", "ordered", TargetStatistics(permutations=1))
    )
    assert 4 in native.ensemble_.feature
    assert 4 not in native.ensemble_.models.feature
    # Their statistics are numbers, from one permutation.
    assert 4 in ordered.ensemble_.models.feature
    assert np.array_equal(ordered.predict(frame), one.predict(frame))
    for model in (native, ordered):
        model.save(tmp_path / "model")
        assert np.array_equal(load(tmp_path / "model").predict(frame), model.predict(frame))


def test_going_on_is_one_fit(bytes_of):
    whole = fit(HOLES, n_estimators=6)
    first = fit(HOLES, n_estimators=4, warm_start=True)
    assert bytes_of(first.set_params(n_estimators=6).fit(HOLES, Y)) == bytes_of(whole)
    constant = fit(HOLES, leaves="constant", n_estimators=3)
    mixed = GradientBoostingRegressor(**SMALL, leaves="linear")
    mixed.fit(HOLES, Y, init_model=constant)
    np.testing.assert_allclose(
        mixed.truncate(3).predict(HOLES), constant.predict(HOLES), rtol=1e-12
    )
    np.testing.assert_allclose(mixed.predict(HOLES), predict_slowly(mixed, HOLES)[:, 0], rtol=1e-11)


def test_files_and_copies(tmp_path):
    model = fit(HOLES, leaves=LinearLeaves(l2=0.5))
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.leaves == LinearLeaves(l2=0.5)
    for other in (again, pickle.loads(pickle.dumps(model)), clone(model).fit(HOLES, Y)):
        assert np.array_equal(other.predict(HOLES), model.predict(HOLES))
    data = (tmp_path / "model").read_bytes()
    assert data[8] == 4
    fit(leaves="constant").save(tmp_path / "constant")
    assert (tmp_path / "constant").read_bytes()[8] == 2


def test_damaged_models_are_refused(tmp_path, monkeypatch):
    model = fit(HOLES)
    models = model.ensemble_.models
    inner = int(np.flatnonzero(model.ensemble_.feature >= 0)[0])
    for name, value, place in (
        ("feature", 99, 0),
        ("feature", -1, 0),
        ("coefficient", np.nan, 0),
        ("size", 1, inner),
        ("size", -1, inner),
        ("constant", np.inf, 0),
        ("low", np.inf, 0),
        ("high", np.nan, 0),
    ):
        array = getattr(models, name)
        old = array[place]
        array[place] = value
        with pytest.raises(ModelFileError, match=r"not saved.*linear model"):
            model.save(tmp_path / "model")
        with monkeypatch.context() as patch:
            patch.setattr(trees, "check_trees", lambda trees: None)
            model.save(tmp_path / "model")
        array[place] = old
        with pytest.raises(ModelFileError, match="linear model"):
            load(tmp_path / "model")


def test_odd_features():
    # constant in leaves, twice the same, infinite, of very different sizes
    table = np.column_stack(
        [X[:, 0] * 1e6 + 1e9, X[:, 0], X[:, 1] * 1e-8, np.where(X[:, 3] > 1, np.inf, X[:, 3])]
    )
    table = np.column_stack([table, np.full(600, 1e12), X[:, 2] > 0])
    for l2 in (0.0, 1.0):
        model = fit(table, leaves=LinearLeaves(l2=l2), min_samples_leaf=2, n_estimators=20)
        predictions = model.predict(table)
        assert np.isfinite(predictions).all()
        assert np.mean((predictions - Y) ** 2) < 0.5 * Y.var()
    for extrapolate in (False, True):
        model = fit(table, leaves=LinearLeaves(0.0, extrapolate))
        assert np.isfinite(model.predict(np.full((1, 6), 1e308))).all()


def test_beyond_the_rows_of_a_leaf():
    x = np.linspace(0, 10, 400).reshape(-1, 1)
    trend, far = 2 * x[:, 0], np.array([[-5.0], [20.0]])
    stays, goes_on = (
        fit(x, trend, leaves=LinearLeaves(0.0, extrapolate), n_estimators=100, l2=0.0)
        for extrapolate in (False, True)
    )
    np.testing.assert_allclose(stays.predict(x), goes_on.predict(x), atol=1e-9)
    np.testing.assert_allclose(stays.predict(far), [0, 20], atol=0.2)
    np.testing.assert_allclose(goes_on.predict(far), [-10, 40], atol=0.2)


def test_a_learning_rate_of_each_round():
    rates = [0.5, 0.3, 0.1]
    model = fit(HOLES, learning_rate=rates, n_estimators=3)
    single = fit(HOLES, learning_rate=0.5, n_estimators=1)
    assert np.array_equal(next(model.staged_predict(HOLES)), single.predict(HOLES))
    last = slice(model.ensemble_.start[2], None)
    small = np.abs(model.ensemble_.models.constant[last]).max()
    assert small < np.abs(single.ensemble_.models.constant).max()


def test_units_of_features_do_not_matter():
    plain, scaled = fit(X).predict(X), fit(X * [8.0, 0.25, 1024.0, 1.0])
    np.testing.assert_allclose(scaled.predict(X * [8.0, 0.25, 1024.0, 1.0]), plain, rtol=1e-9)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"leaves": "quadratic"}, "leaves='quadratic'; must be one of 'constant', 'linear'"),
        ({"leaves": LinearLeaves(l2=-1)}, r"LinearLeaves\(l2=-1\)"),
        ({"leaves": LinearLeaves(extrapolate=2)}, r"LinearLeaves\(extrapolate=2\)"),
        ({"booster": "dart"}, "goes with booster='plain'"),
        ({"booster": Plain(trees_per_round=2)}, "one tree per round"),
        ({"monotonic_cst": [0, 1, 0, 0]}, "cannot obey monotonic_cst"),
        ({"loss": "absolute_error"}, "'absolute_error' are medians"),
        ({"loss": Quantile([0.1, 0.9])}, "are medians, quantiles"),
        ({"loss": "huber"}, "are medians, quantiles"),
    ],
)
def test_what_linear_leaves_are_not_for(params, message):
    with pytest.raises(ParameterError, match=message):
        fit(**params)


def test_sparse_rows():
    with pytest.raises(DataError, match="needs a dense X"):
        fit(csr_matrix(X))
    model = fit()
    assert np.array_equal(model.predict(csr_matrix(X)), model.predict(X))
    with pytest.raises(ParameterError, match="linear leaves cannot be refitted"):
        model.refit(X, Y)


def test_nested_parameters():
    model = GradientBoostingRegressor(leaves=LinearLeaves())
    assert model.set_params(leaves__l2=5.0).leaves == LinearLeaves(l2=5.0)
    with pytest.raises(ParameterError, match=r"pass leaves=LinearLeaves\(l2=\.\.\.\)"):
        GradientBoostingRegressor(leaves="linear").set_params(leaves__l2=5.0)
