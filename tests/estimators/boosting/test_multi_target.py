"""Several targets in gradient boosting."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score
from sklearn.utils import get_tags

import sumwise
from sumwise import (
    Columns,
    Dart,
    Forest,
    GradientBoostingRegressor,
    Huber,
    Plain,
    Quantile,
    Subsample,
    TargetStatistics,
)
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
STRATEGIES = ["one_output_per_tree", "multi_output_tree"]
VECTOR = {"multi_strategy": "multi_output_tree"}
both_strategies = pytest.mark.parametrize("strategy", STRATEGIES)


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
        {"leaves": "linear"},
        {"loss": "mape"},
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
        {"sampler": Subsample(0.5), "columns": Columns(by_tree=0.6, by_level=0.9), **VECTOR},
        {"sampler": "goss"},
        {"sampler": "goss", **VECTOR},
        {"sampler": "goss", "loss": "absolute_error", **VECTOR},
        {"sampler": "mvs"},
        {"sampler": "mvs", "loss": "mape", **VECTOR},
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


@both_strategies
@pytest.mark.parametrize("scoring", ["loss", "r2", "neg_mean_absolute_error"])
def test_early_stopping(scoring, strategy):
    parameters = {
        "multi_strategy": strategy,
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


@both_strategies
def test_early_stopping_by_rows_left_out(strategy):
    parameters = {"sampler": Subsample(0.5), "early_stopping": "oob", "multi_strategy": strategy}
    model = fit(Y, n_estimators=300, **parameters)
    assert model.best_iteration_ > 5
    assert model.oob_improvement_.size >= model.best_iteration_


@both_strategies
def test_warm_start_goes_on(strategy):
    model = fit(Y, n_estimators=4, warm_start=True, multi_strategy=strategy)
    model.set_params(n_estimators=8).fit(X, Y)
    assert model.n_trees_ == 24
    at_once = fit(Y, multi_strategy=strategy)
    np.testing.assert_array_equal(model.predict(X_NEW), at_once.predict(X_NEW))
    with pytest.raises(DataError, match="y has 2 targets, but the model to continue from has 3"):
        model.set_params(n_estimators=9).fit(X, Y[:, :2])


@both_strategies
def test_init_score(strategy):
    start = np.tile(Y.mean(axis=0), (N_ROWS, 1))
    model = GradientBoostingRegressor(**SMALL, multi_strategy=strategy)
    model.fit(X, Y, init_score=start)
    predicted = model.predict(X_NEW) + Y.mean(axis=0)
    expected = fit(Y, multi_strategy=strategy).predict(X_NEW)
    np.testing.assert_allclose(predicted, expected, rtol=1e-9)
    with pytest.raises(DataError, match=r"init_score has shape \(400,\), expected \(400, 3\)"):
        model.fit(X, Y, init_score=start[:, 0])


@both_strategies
def test_staged_predictions_end_with_the_prediction(strategy):
    model = fit(Y, multi_strategy=strategy)
    stages = list(model.staged_predict(X_NEW))
    assert len(stages) == 8
    assert stages[0].shape == Y_NEW.shape
    np.testing.assert_array_equal(stages[-1], model.predict(X_NEW))
    np.testing.assert_array_equal(stages[2], model.truncate(3).predict(X_NEW))


@pytest.mark.parametrize(
    "parameters", [{}, {"loss": "poisson"}, {"booster": "linear"}, VECTOR], ids=str
)
def test_files_and_pickles(tmp_path, parameters):
    model = fit(np.exp(0.1 * Y), **parameters)
    model.save(tmp_path / "model.sumwise")
    for copy in (sumwise.load(tmp_path / "model.sumwise"), pickle.loads(pickle.dumps(model))):
        assert copy.n_outputs_ == 3
        np.testing.assert_array_equal(copy.predict(X_NEW), model.predict(X_NEW))


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "huber"])
@both_strategies
def test_the_number_of_threads_changes_nothing(tmp_path, strategy, loss):
    parameters = {"multi_strategy": strategy, "loss": loss, "max_depth": 4}
    files = []
    for n_jobs in (1, 2, 3):
        path = tmp_path / f"{n_jobs}"
        fit(np.exp(0.1 * Y), n_jobs=n_jobs, **parameters).save(path)
        files.append(path.read_bytes())
    assert files[0] == files[1] == files[2]


@both_strategies
def test_importances_are_of_all_targets(strategy):
    importances = fit(Y, multi_strategy=strategy).feature_importances_
    assert importances.sum() == pytest.approx(1.0)
    assert importances[4] < importances[[0, 2, 3]].min()


@both_strategies
def test_sparse_rows(strategy):
    X_zero = np.where(np.nan_to_num(X) > 0.5, np.nan_to_num(X), 0.0)
    model = GradientBoostingRegressor(**SMALL, multi_strategy=strategy)
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


@both_strategies
def test_a_loss_of_ones_own_sees_all_targets(strategy):
    own = fit(Y, loss=SquaredDistance(), early_stopping=True, multi_strategy=strategy)
    ours = fit(Y, early_stopping=True, multi_strategy=strategy)
    np.testing.assert_allclose(own.predict(X_NEW), ours.predict(X_NEW), rtol=1e-9)
    np.testing.assert_allclose(
        own.history_["validation_loss"], 3 * ours.history_["validation_loss"]
    )


def test_a_loss_of_ones_own_needs_an_output_per_target():
    with pytest.raises(ParameterError, match="one output per target, and y has 2"):
        fit(Y[:, :2], loss=SquaredDistance())


@both_strategies
def test_a_loss_may_be_a_function(strategy):
    def squared(y, raw):
        assert y.shape == raw.shape == (N_ROWS, 3)
        return raw - y, np.ones_like(raw)

    start = Y.mean(axis=0)
    own = fit(Y, loss=squared, base_score=start, multi_strategy=strategy)
    ours = fit(Y, base_score=start, multi_strategy=strategy)
    np.testing.assert_allclose(own.predict(X_NEW), ours.predict(X_NEW), rtol=1e-9)


def test_targets_that_cannot_be_used():
    with pytest.raises(DataError, match="y_val has 2 targets, but y has 3"):
        GradientBoostingRegressor(**SMALL).fit(X, Y, X_val=X, y_val=Y[:, :2])
    with pytest.raises(DataError, match="y_val has 1 targets, but y has 3"):
        GradientBoostingRegressor(**SMALL).fit(X, Y, X_val=X, y_val=Y[:, 0])
    with pytest.raises(DataError, match="Input y contains NaN"):
        fit(np.where(Y > 2, np.nan, Y))
    with pytest.raises(DataError, match=r"target 0: y.*at least 0"):
        fit(Y, loss="poisson")
    with pytest.raises(ParameterError, match="several quantiles are of one target"):
        fit(Y, loss=Quantile([0.1, 0.9]))


def test_raw_scores_and_ranges_of_rounds():
    shares = 1.0 / (1.0 + np.exp(-Y))
    model = fit(shares, loss="poisson")
    raw = model.predict(X_NEW, raw=True)
    np.testing.assert_allclose(np.exp(raw), model.predict(X_NEW), rtol=1e-12)
    first = model.predict(X_NEW, rounds=3)
    np.testing.assert_array_equal(first, model.truncate(3).predict(X_NEW))


@both_strategies
def test_several_validation_sets(strategy):
    model = GradientBoostingRegressor(**SMALL, multi_strategy=strategy)
    model.fit(X, Y, eval_set=[(X, Y), (X_NEW, Y_NEW)])
    for name in ("valid_0_loss", "valid_1_loss"):
        assert model.history_[name][-1] < model.history_[name][0]


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "mape"])
def test_leaves_are_refitted_target_by_target(loss):
    model = fit(Y, loss=loss)
    refitted = model.refit(X_NEW, Y_NEW, decay=0.3)
    for k in range(3):
        alone = fit(Y[:, k], loss=loss).refit(X_NEW, Y_NEW[:, k], decay=0.3)
        np.testing.assert_array_equal(refitted.predict(X)[:, k], alone.predict(X))
    with pytest.raises(ParameterError, match="number of targets"):
        model.refit(X_NEW, Y_NEW[:, :2])


# One tree for all targets


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
@pytest.mark.parametrize(
    "loss", ["squared_error", "absolute_error", "huber", "quantile", "log_cosh", "poisson"]
)
def test_one_tree_for_all_targets(growth, loss):
    shares = 1.0 / (1.0 + np.exp(-Y))
    model = fit(shares, growth=growth, loss=loss, n_estimators=40, **VECTOR)
    assert model.score(X, shares) > 0.6
    ensemble = model.ensemble_
    assert ensemble.n_trees == 120
    sizes = np.diff(ensemble.start).reshape(40, 3)
    assert (sizes == sizes[:, :1]).all()
    for name in ("feature", "threshold", "missing_left", "n_rows"):
        values = getattr(ensemble, name)
        for first, size in zip(ensemble.start[:-1].reshape(40, 3), sizes[:, 0], strict=True):
            parts = [values[start : start + size] for start in first]
            assert all((part == parts[0]).all() for part in parts)
    leaves = model.apply(X).reshape(N_ROWS, 40, 3)
    assert (leaves == leaves[:, :, :1]).all()


def test_equal_targets_are_learned_as_one():
    """Gains are those of one target times three, so that splits are the same."""
    same = np.repeat(Y[:, :1], 3, axis=1)
    model = fit(same, growth="depth", **VECTOR)
    predicted = model.predict(X_NEW)
    np.testing.assert_array_equal(predicted, np.repeat(predicted[:, :1], 3, axis=1))
    alone = fit(Y[:, 0], growth="depth")
    np.testing.assert_allclose(predicted[:, 0], alone.predict(X_NEW), atol=0.3)


def test_gains_of_copies_add_up_to_the_gain_of_the_tree():
    first = fit(Y, n_estimators=1, max_leaves=2, **VECTOR).ensemble_
    gains = first.gain[first.feature >= 0]
    residual = Y - Y.mean(axis=0)
    goes_left = np.where(
        np.isnan(X[:, first.feature[0]]),
        first.missing_left[0],
        X[:, first.feature[0]] <= first.threshold[0],
    ).astype(bool)
    for k in range(3):
        scores = [
            residual[rows, k].sum() ** 2 / (rows.sum() + 1.0)
            for rows in (goes_left, ~goes_left, np.ones(N_ROWS, dtype=bool))
        ]
        assert gains[k] == pytest.approx(0.5 * (scores[0] + scores[1] - scores[2]), rel=1e-9)


def test_weights_of_one_tree_for_all_targets():
    weight = np.random.RandomState(2).randint(0, 4, N_ROWS)
    rows = np.repeat(np.arange(N_ROWS), weight)
    model = GradientBoostingRegressor(**SMALL, **VECTOR, min_samples_leaf=1, max_bins=20)
    coarse = np.round(X, 0)
    weighted = model.fit(coarse, Y, sample_weight=weight).predict(coarse)
    repeated = model.fit(coarse[rows], Y[rows]).predict(coarse)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-6)


def test_one_target_does_not_need_a_strategy():
    model = fit(Y[:, 0], **VECTOR, booster="dart")
    np.testing.assert_array_equal(model.predict(X_NEW), fit(Y[:, 0], booster="dart").predict(X_NEW))


def test_learning_rates_of_rounds():
    rates = [0.3] * 4 + [0.1] * 4
    model = fit(Y, learning_rate=rates, **VECTOR)
    first = fit(Y, learning_rate=0.3, n_estimators=4, **VECTOR)
    np.testing.assert_array_equal(model.predict(X_NEW, rounds=4), first.predict(X_NEW))
    assert (model.predict(X_NEW) != fit(Y, learning_rate=0.3, **VECTOR).predict(X_NEW)).any()


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        ({"booster": "dart"}, "booster='dart'"),
        ({"booster": Plain(trees_per_round=2)}, r"booster=Plain\(trees_per_round=2\)"),
        ({"booster": "linear"}, "booster='linear'"),
        ({"splits": "exact"}, "splits='exact'"),
        ({"splits": "approx"}, "splits='approx'"),
        ({"leaves": "linear"}, "leaves='linear'"),
        ({"monotonic_cst": [1, 0, 0, 0, 0]}, "monotonic_cst="),
        ({"interaction_cst": "pairwise"}, "interaction_cst="),
    ],
)
def test_what_one_tree_for_all_targets_cannot_do(parameters, what):
    rule = "cannot be combined with multi_strategy='multi_output_tree'"
    with pytest.raises(ParameterError, match=f"{what}.* {rule}.*'one_output_per_tree'"):
        fit(Y, **parameters, **VECTOR)


def test_unknown_strategies():
    with pytest.raises(ParameterError, match="multi_strategy='vector'"):
        fit(Y, multi_strategy="vector")


def test_categories_of_one_tree_for_all_targets():
    pd = pytest.importorskip("pandas")
    rng = np.random.RandomState(0)
    codes = rng.randint(0, 12, 600)
    effects = rng.randn(12, 2)
    frame = pd.DataFrame({"b": rng.randn(600), "a": np.char.add("c", codes.astype(str))})
    targets = effects[codes] + 0.1 * rng.randn(600, 2)
    model = GradientBoostingRegressor(**SMALL, learning_rate=0.5, **VECTOR)
    with pytest.raises(ParameterError, match=r"feature 1 is categorical.*native_limit=0"):
        model.fit(frame, targets)
    model.set_params(categorical_encoding=TargetStatistics(native_limit=0)).fit(frame, targets)
    assert model.score(frame, targets) > 0.8


def test_files_without_several_targets_stay_as_they_were(tmp_path):
    fit(Y[:, 0]).save(tmp_path / "model")
    assert b"multi_strategy" not in (tmp_path / "model").read_bytes()
    fit(Y, **VECTOR).save(tmp_path / "model")
    assert sumwise.load(tmp_path / "model").multi_strategy == "multi_output_tree"
