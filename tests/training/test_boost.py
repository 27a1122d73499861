"""The boosting loop against a naive one, and what a round sees."""

import numpy as np
import pytest

from sumwise.data.binning import BinMapper
from sumwise.errors import TrainingError
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import Exponential, Logistic, Multinomial, Squared
from sumwise.sampling import Columns, Subsample
from sumwise.training.boost import BoostingSettings, TrainingRows, TrainingTable, boost
from sumwise.training.stopping import EarlyStopping
from sumwise.tree import GrowthSettings
from tests.naive import grow as naive
from tests.naive.predict import predict_binned

N_ROWS = 240
NO_ROWS = np.empty(0, dtype=np.uint32)


def make_data(seed=0, n_rows=N_ROWS):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5)).round(1)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0]) ** 2 + np.nan_to_num(X[:, 1]) + 0.3 * rng.normal(size=n_rows)
    return X, y


def make_rows(target, train=None, valid=NO_ROWS, weight=None, init_score=None):
    train = np.arange(target.size, dtype=np.uint32) if train is None else train
    weight = np.empty(0) if weight is None else weight
    return TrainingRows(target, weight, train, valid, init_score)


def fit(X, rows, loss=None, n_threads=1, past=None, growth=None, **settings):
    growth = GrowthSettings(min_samples_leaf=5, **(growth or {}))
    with Team(n_threads) as team:
        mapper = BinMapper.fit(X)
        data = mapper.transform(X, team)
        settings = BoostingSettings(loss or Squared(), growth, **{"n_rounds": 5, **settings})
        return boost(TrainingTable([X], data, mapper), rows, settings, team, past), data, mapper


def predict(ensemble, X):
    with Team(1) as team:
        return ensemble.predict_raw(X, team)


def half_and_half(n_rows=N_ROWS):
    rows = np.random.default_rng(9).permutation(n_rows).astype(np.uint32)
    return np.sort(rows[: n_rows // 2]), np.sort(rows[n_rows // 2 :])


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
@pytest.mark.parametrize("rate", [None, 0.6])
def test_equals_a_naive_loop(growth, rate):
    X, y = make_data()
    train, valid = half_and_half()
    weight = np.random.default_rng(1).random(N_ROWS) + 0.5
    rows = make_rows(y, train, valid, weight)
    sampler = None if rate is None else Subsample(rate)
    limits = {"max_depth": 3} if growth == "symmetric" else {"max_leaves": 7}
    result, data, mapper = fit(
        X, rows, sampler=sampler, seed=3, growth={"growth": growth, **limits}
    )
    ensemble = result.ensemble
    options = naive.GrowOptions(
        growth=growth,
        **limits,
        min_samples_leaf=5,
        min_child_weight=1e-3,
        l2=1.0,
        learning_rate=0.1,
        wide=True,
    )
    codes, n_value_bins = data.table.columns, data.table.n_value_bins
    raw = np.repeat(ensemble.base_score, N_ROWS)
    for round_idx in range(5):
        seen = train if sampler is None else sampler.sample(train, 3, round_idx)
        g, h = weight * (raw - y), weight
        twin = naive.grow_tree(codes, n_value_bins, g, h, seen.astype(np.int64), options)
        first = ensemble.start[round_idx]
        nodes = slice(first, first + twin.n_nodes)
        assert ensemble.feature[nodes].tolist() == twin.feature
        assert ensemble.value[nodes].tolist() == twin.value
        assert ensemble.gain[nodes].tolist() == twin.gain
        for node in np.flatnonzero(np.array(twin.feature) >= 0):
            expected = mapper.threshold(twin.feature[node], twin.split_bin[node])
            assert ensemble.threshold[first + node] == expected
        raw = raw + np.array(twin.value)[predict_binned(twin, codes)]
    assert predict(ensemble, X)[:, 0].tolist() == raw.tolist()


LOSSES = [Squared(), Logistic(), Exponential(), Multinomial(3)]
IDS = ["squared", "logistic", "exponential", "multinomial"]


def target_for(loss, y):
    if isinstance(loss, Squared):
        return y
    n_classes = max(2, loss.n_outputs)
    return np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes)).astype(float)


@pytest.mark.parametrize("loss", LOSSES, ids=IDS)
@pytest.mark.parametrize("rate", [None, 0.5])
def test_losses_of_the_history_are_those_of_the_model(loss, rate):
    """Training scores and predictions agree to the last bit, for seen and unseen rows."""
    X, y = make_data()
    target = target_for(loss, y)
    train, valid = half_and_half()
    rows = make_rows(target, train, valid)
    sampler = None if rate is None else Subsample(rate)
    result, _, _ = fit(
        X, rows, loss, sampler=sampler, stopping=EarlyStopping(100), track_training_loss=True
    )
    ensemble = result.ensemble
    assert ensemble.n_rounds == int(np.argmin(result.history["validation_loss"])) + 1
    with Team(1) as team:
        stages = list(ensemble.staged_predict_raw(X, team))
    assert len(stages) == ensemble.n_rounds
    for stage, train_loss, valid_loss in zip(
        stages, result.history["training_loss"], result.history["validation_loss"], strict=False
    ):
        raw = np.ascontiguousarray(stage.T)
        assert loss.value(target, raw, rows.weight, train) == train_loss
        assert loss.value(target, raw, rows.weight, valid) == valid_loss
    assert np.all(np.diff(result.history["training_loss"]) < 0)


@pytest.mark.parametrize("loss", LOSSES, ids=IDS)
def test_threads_change_no_bit(loss):
    X, y = make_data()
    rows = make_rows(target_for(loss, y))
    options = {"sampler": Subsample(0.7), "columns": Columns(by_tree=0.8, by_node=0.7), "seed": 5}
    results = [fit(X, rows, loss, n_threads, **options)[0].ensemble for n_threads in (1, 2, 3)]
    for other in results[1:]:
        for name, values in vars(results[0]).items():
            if isinstance(values, np.ndarray):
                assert values.tobytes() == getattr(other, name).tobytes(), name


def test_one_tree_an_output_and_round():
    X, y = make_data()
    loss = Multinomial(3)
    ensemble = fit(X, make_rows(target_for(loss, y)), loss, n_rounds=4)[0].ensemble
    assert ensemble.n_trees == 12
    assert ensemble.n_rounds == 4
    assert ensemble.output.tolist() == [0, 1, 2] * 4
    assert ensemble.link == "softmax"
    assert ensemble.n_features == 5


def test_rows_in_neither_part_do_not_matter():
    X, y = make_data()
    train, valid = half_and_half()
    train = train[10:]
    left_out = np.setdiff1d(np.arange(N_ROWS), np.concatenate([train, valid]))
    spoiled = y.copy()
    spoiled[left_out] = np.nan
    first, _, _ = fit(X, make_rows(y, train, valid), stopping=EarlyStopping(9))
    second, _, _ = fit(X, make_rows(spoiled, train, valid), stopping=EarlyStopping(9))
    assert first.ensemble.value.tolist() == second.ensemble.value.tolist()
    assert first.history["validation_loss"].tolist() == second.history["validation_loss"].tolist()


def test_validation_rows_do_not_shape_trees():
    X, y = make_data()
    train, valid = half_and_half()
    spoiled = y.copy()
    spoiled[valid] += 100
    first, _, _ = fit(X, make_rows(y, train, valid))
    second, _, _ = fit(X, make_rows(spoiled, train, valid))
    assert first.ensemble.value.tolist() == second.ensemble.value.tolist()


def test_stops_and_keeps_the_best_rounds():
    X, _ = make_data()
    noise = np.random.default_rng(0).normal(size=N_ROWS)  # nothing to learn
    train, valid = half_and_half()
    stopping = EarlyStopping(3)
    growth = {"learning_rate": 1.0}
    rows = make_rows(noise, train, valid)
    result, _, _ = fit(X, rows, n_rounds=50, stopping=stopping, growth=growth)
    losses = result.history["validation_loss"]
    assert losses.size < 50
    assert losses.size == stopping.best_round + 3
    assert result.ensemble.n_rounds == stopping.best_round == int(np.argmin(losses)) + 1


def test_scores_to_start_from():
    X, y = make_data()
    start = np.linspace(-1, 1, N_ROWS).reshape(1, -1)
    result, _, _ = fit(X, make_rows(y, init_score=start))
    assert result.ensemble.base_score.tolist() == [0.0]
    # for squared error they are as good as another target
    other, _, _ = fit(X, make_rows(y - start[0], init_score=np.zeros((1, N_ROWS))))
    np.testing.assert_allclose(
        predict(result.ensemble, X), predict(other.ensemble, X), rtol=1e-9, atol=1e-12
    )
    assert start[0, 0] == -1.0  # the user's array is not written to


def test_rounds_are_watched():
    X, y = make_data()
    seen = []
    result, _, _ = fit(
        X,
        make_rows(y),
        callbacks=[lambda state: seen.append((state.round_number, state.scores))],
        track_training_loss=True,
    )
    assert [n for n, _ in seen] == [1, 2, 3, 4, 5]
    found = [losses["training_loss"] for _, losses in seen]
    assert found == result.history["training_loss"].tolist()
    assert "validation_loss" not in seen[0][1]


def test_seed_decides_what_is_random():
    X, y = make_data()

    def values(seed, **settings):
        return fit(X, make_rows(y), seed=seed, **settings)[0].ensemble.value.tolist()

    assert values(0) == values(1)  # nothing is random here
    for settings in ({"sampler": Subsample(0.5)}, {"columns": Columns(by_node=0.4)}):
        assert values(0, **settings) == values(0, **settings)
        assert values(0, **settings) != values(1, **settings)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_scores_without_bound_are_an_error(n_threads):
    X, y = make_data()
    y[3] = np.inf
    with pytest.raises(TrainingError, match="gradients are not finite"):
        fit(X, make_rows(y, init_score=np.zeros((1, N_ROWS))), n_threads=n_threads)
