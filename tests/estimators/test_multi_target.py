"""Several targets in gradient boosting."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score
from sklearn.utils import get_tags

import sumwise
from sumwise import Columns, Dart, Forest, GradientBoostingRegressor, Huber, Plain, Subsample
from sumwise.errors import DataError, ParameterError

N_ROWS = 400


def make_data(n_rows=N_ROWS, n_targets=3, seed=0, missing=0.1):
    rng = np.random.RandomState(seed)
    X = rng.randn(n_rows, 5)
    signals = [2 * X[:, 0] + X[:, 1], 3 * np.sin(X[:, 2]), X[:, 0] - X[:, 3] ** 2, X[:, 4]]
    y = np.column_stack(signals[:n_targets]) + 0.1 * rng.randn(n_rows, n_targets)
    X[rng.rand(n_rows, 5) < missing] = np.nan
    return X, y


X, Y = make_data()
X_NEW, Y_NEW = make_data(seed=1)
SMALL = {"n_estimators": 8, "random_state": 0}


def fit(y, **parameters):
    return GradientBoostingRegressor(**{**SMALL, **parameters}).fit(X, y)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"growth": "symmetric"},
        {"growth": "depth", "splits": "exact"},
        {"splits": "approx"},
        {"loss": "absolute_error"},
        {"loss": Huber()},
        {"loss": "quantile"},
        {"booster": "ordered"},
        {"booster": "linear", "learning_rate": 0.5},
        {"monotonic_cst": [1, 0, 0, 0, 0]},
    ],
    ids=str,
)
def test_each_target_is_learned_as_if_alone(parameters):
    model = fit(Y, **parameters)
    predicted = model.predict(X_NEW)
    assert predicted.shape == Y_NEW.shape
    assert model.n_outputs_ == 3
    for k in range(3):
        alone = fit(Y[:, k], **parameters).predict(X_NEW)
        np.testing.assert_array_equal(predicted[:, k], alone)


@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie", "cross_entropy"])
def test_links_are_applied_to_every_column(loss):
    shares = 1.0 / (1.0 + np.exp(-Y))
    predicted = fit(shares, loss=loss).predict(X_NEW)
    for k in range(3):
        alone = fit(shares[:, k], loss=loss).predict(X_NEW)
        np.testing.assert_array_equal(predicted[:, k], alone)


@pytest.mark.parametrize(
    "parameters",
    [
        {"sampler": Subsample(0.5), "columns": Columns(by_node=0.5)},
        {"sampler": "goss"},
        {"sampler": "mvs"},
        {"booster": Plain(trees_per_round=2), "sampler": Subsample(0.7)},
        {"booster": Dart(drop_rate=0.5, skip_drop=0.0)},
        {"booster": Forest(), "max_leaves": 64, "min_samples_leaf": 2},
    ],
    ids=str,
)
def test_sampling_and_boosters(parameters):
    model = fit(Y, n_estimators=30, **parameters)
    assert r2_score(Y_NEW, model.predict(X_NEW)) > 0.5


def test_score_is_the_mean_r2_of_the_targets():
    model = fit(Y)
    assert model.score(X_NEW, Y_NEW) == r2_score(Y_NEW, model.predict(X_NEW))
    scores = cross_val_score(GradientBoostingRegressor(**SMALL), X, Y, cv=3)
    assert (scores > 0.3).all()


def test_tags():
    assert get_tags(GradientBoostingRegressor()).target_tags.multi_output


def test_one_column_is_one_target():
    with pytest.warns(match="A column-vector y was passed"):
        model = fit(Y[:, :1])
    np.testing.assert_array_equal(model.predict(X_NEW), fit(Y[:, 0]).predict(X_NEW))


def test_weights():
    weight = np.random.RandomState(2).randint(0, 4, N_ROWS)
    model = GradientBoostingRegressor(**SMALL)
    predicted = model.fit(X, Y, sample_weight=weight).predict(X_NEW)
    for k in range(3):
        alone = model.fit(X, Y[:, k], sample_weight=weight).predict(X_NEW)
        np.testing.assert_array_equal(predicted[:, k], alone)
    assert (predicted != fit(Y).predict(X_NEW)).any()


def test_validation_loss_is_the_mean_of_the_targets():
    model = fit(Y, n_estimators=1, min_samples_leaf=N_ROWS)  # constants
    model.fit(X, Y, X_val=X_NEW, y_val=Y_NEW)
    expected = 0.5 * np.mean((Y_NEW - Y.mean(axis=0)) ** 2)
    assert model.history_["validation_loss"][0] == pytest.approx(expected)


@pytest.mark.parametrize("scoring", ["loss", "r2", "neg_mean_absolute_error"])
def test_early_stopping(scoring):
    parameters = {
        "n_estimators": 400,
        "learning_rate": 0.3,
        "early_stopping": True,
        "scoring": scoring,
        "random_state": 0,
    }
    model = GradientBoostingRegressor(**parameters).fit(X, Y)
    assert 1 < model.best_iteration_ < 400
    model = GradientBoostingRegressor(**parameters).fit(X, Y, X_val=X_NEW, y_val=Y_NEW)
    assert 1 < model.best_iteration_ < 400
    assert model.score(X_NEW, Y_NEW) > 0.6


def test_early_stopping_by_rows_left_out():
    model = fit(Y, n_estimators=300, sampler=Subsample(0.5), early_stopping="oob")
    assert model.best_iteration_ > 5
    assert model.oob_improvement_.size >= model.best_iteration_


def test_warm_start_goes_on():
    model = fit(Y, n_estimators=4, warm_start=True)
    model.set_params(n_estimators=8).fit(X, Y)
    assert model.n_trees_ == 24
    np.testing.assert_array_equal(model.predict(X_NEW), fit(Y).predict(X_NEW))
    with pytest.raises(DataError, match="y has 2 targets, and the model to continue from 3"):
        model.set_params(n_estimators=9).fit(X, Y[:, :2])


def test_init_score():
    start = np.tile(Y.mean(axis=0), (N_ROWS, 1))
    model = GradientBoostingRegressor(**SMALL).fit(X, Y, init_score=start)
    predicted = model.predict(X_NEW) + Y.mean(axis=0)
    np.testing.assert_allclose(predicted, fit(Y).predict(X_NEW), rtol=1e-9)
    with pytest.raises(DataError, match=r"init_score has shape \(400,\), expected \(400, 3\)"):
        model.fit(X, Y, init_score=start[:, 0])


def test_staged_predictions_end_with_the_prediction():
    model = fit(Y)
    stages = list(model.staged_predict(X_NEW))
    assert len(stages) == 8
    assert stages[0].shape == Y_NEW.shape
    np.testing.assert_array_equal(stages[-1], model.predict(X_NEW))
    np.testing.assert_array_equal(stages[2], model.truncate(3).predict(X_NEW))


@pytest.mark.parametrize("parameters", [{}, {"loss": "poisson"}, {"booster": "linear"}], ids=str)
def test_files_and_pickles(tmp_path, parameters):
    model = fit(np.exp(0.1 * Y), **parameters)
    model.save(tmp_path / "model.sumwise")
    for copy in (sumwise.load(tmp_path / "model.sumwise"), pickle.loads(pickle.dumps(model))):
        assert copy.n_outputs_ == 3
        np.testing.assert_array_equal(copy.predict(X_NEW), model.predict(X_NEW))


def test_the_number_of_threads_changes_nothing(tmp_path):
    files = []
    for n_jobs in (1, 2, 3):
        path = tmp_path / f"{n_jobs}"
        fit(Y, n_jobs=n_jobs).save(path)
        files.append(path.read_bytes())
    assert files[0] == files[1] == files[2]


def test_importances_are_of_all_targets():
    importances = fit(Y).feature_importances_
    assert importances.sum() == pytest.approx(1.0)
    assert importances[4] < 0.05 < importances[[0, 2, 3]].min()


def test_sparse_rows():
    X_zero = np.where(np.nan_to_num(X) > 0.5, np.nan_to_num(X), 0.0)
    model = GradientBoostingRegressor(**SMALL)
    of_dense = model.fit(X_zero, Y).predict(X_zero)
    of_sparse = model.fit(sparse.csr_array(X_zero), Y).predict(X_zero)
    np.testing.assert_array_equal(of_sparse, of_dense)


@pytest.mark.parametrize("encoding", ["native", "ordered", "greedy", "leave_one_out"])
def test_categories(encoding):
    pd = pytest.importorskip("pandas")
    rng = np.random.RandomState(0)
    codes = rng.randint(0, 12, 600)
    effects = rng.randn(12, 2)
    frame = pd.DataFrame({"a": np.char.add("c", codes.astype(str)), "b": rng.randn(600)})
    targets = effects[codes] + 0.1 * rng.randn(600, 2)
    model = GradientBoostingRegressor(**SMALL, learning_rate=0.5, categorical_encoding=encoding)
    assert model.fit(frame, targets).score(frame, targets) > 0.8


def test_frames_of_targets():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(Y, columns=["a", "b", "c"])
    np.testing.assert_array_equal(fit(frame).predict(X_NEW), fit(Y).predict(X_NEW))


class SquaredDistance:
    """A loss of one's own that looks at all targets together."""

    n_outputs = 3

    def value(self, y, raw):
        return 0.5 * ((raw - y) ** 2).sum(axis=1)

    def gradient(self, y, raw):
        return raw - y, np.ones_like(raw)

    def initial_score(self, y, weight):
        return np.average(y, axis=0, weights=weight)


def test_a_loss_of_ones_own_sees_all_targets():
    own = fit(Y, loss=SquaredDistance(), early_stopping=True)
    ours = fit(Y, early_stopping=True)
    np.testing.assert_allclose(own.predict(X_NEW), ours.predict(X_NEW), rtol=1e-9)
    np.testing.assert_allclose(
        own.history_["validation_loss"], 3 * ours.history_["validation_loss"]
    )


def test_a_loss_of_ones_own_needs_an_output_per_target():
    with pytest.raises(ParameterError, match="one output per target, and y has 2"):
        fit(Y[:, :2], loss=SquaredDistance())


def test_targets_that_cannot_be_used():
    with pytest.raises(DataError, match="y_val has 2 targets, and y 3"):
        GradientBoostingRegressor(**SMALL).fit(X, Y, X_val=X, y_val=Y[:, :2])
    with pytest.raises(DataError, match="y_val has 1 targets, and y 3"):
        GradientBoostingRegressor(**SMALL).fit(X, Y, X_val=X, y_val=Y[:, 0])
    with pytest.raises(DataError, match="Input y contains NaN"):
        fit(np.where(Y > 2, np.nan, Y))
    with pytest.raises(DataError, match=r"target 0: y.*at least 0"):
        fit(Y, loss="poisson")
