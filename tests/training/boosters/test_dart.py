"""DART against a slow twin, and what it remembers."""

import numpy as np
import pytest

from sumwise import Dart
from sumwise.errors import ParameterError
from sumwise.losses import Multinomial
from sumwise.training.stopping import EarlyStopping
from tests.naive.predict import predict_binned
from tests.training.boosters.fits import LEARNING_RATE, fit, grow_naive, make_data, predict

BOOSTERS = [
    Dart(0.5, skip_drop=0.0),
    Dart(0.9, skip_drop=0.2, normalize="forest"),
    Dart(1.0, max_drop=2, skip_drop=0.0),
]


@pytest.mark.parametrize("booster", BOOSTERS, ids=repr)
def test_equals_a_naive_loop(booster):
    _, y, train, _ = make_data()
    result, data = fit(booster)
    ensemble = result.ensemble
    start = float(ensemble.base_score[0])
    scaled = []  # predictions of each round, as they are now
    n_dropped = 0
    for round_idx in range(8):
        dropped = booster.choose_rounds(round_idx, 0)
        n_dropped += dropped.size
        kept = start + sum(scaled[k] for k in range(round_idx) if k not in dropped)
        kept = np.broadcast_to(kept, y.shape)
        twin = grow_naive(data, kept - y, np.ones_like(y), train)
        nodes = slice(ensemble.start[round_idx], ensemble.start[round_idx] + twin.n_nodes)
        assert ensemble.feature[nodes].tolist() == twin.feature
        new, old = booster.find_factors(dropped.size, LEARNING_RATE)
        for k in dropped:
            scaled[k] = old * scaled[k]
        scaled.append(new * np.array(twin.value)[predict_binned(twin, data.table.columns)])
    assert n_dropped > 5
    X, *_ = make_data()
    np.testing.assert_allclose(predict(ensemble, X)[:, 0], start + sum(scaled), rtol=1e-12)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_scores_of_the_history_are_those_of_the_model(n_outputs):
    """The model of any number of rounds is the one that training had then."""
    loss = Multinomial(3) if n_outputs == 3 else None
    booster = Dart(0.6, skip_drop=0.0)
    whole, _ = fit(booster, loss=loss, track_training_loss=True)
    for n_rounds in (1, 3, 8):
        short, _ = fit(booster, loss=loss, n_rounds=n_rounds)
        losses = short.history["validation_loss"]
        assert np.array_equal(losses, whole.history["validation_loss"][:n_rounds])
    assert whole.ensemble.stages == "rescaled"
    assert whole.ensemble.n_rounds == 8


def test_early_stopping_keeps_the_values_of_the_best_round():
    booster = Dart(0.6, skip_drop=0.0)
    stopped, _ = fit(booster, n_rounds=60, stopping=EarlyStopping(8))
    best = stopped.ensemble.n_rounds
    assert best == int(np.argmin(stopped.history["validation_loss"])) + 1
    assert best < len(stopped.history["validation_loss"])
    exact, _ = fit(booster, n_rounds=best)
    for name in ("feature", "threshold", "value"):
        assert np.array_equal(getattr(stopped.ensemble, name), getattr(exact.ensemble, name))


def test_threads_change_nothing():
    results = [fit(BOOSTERS[0], n_threads)[0] for n_threads in (1, 3)]
    assert np.array_equal(results[0].ensemble.value, results[1].ensemble.value)


def test_fewer_rounds_are_not_known():
    ensemble = fit(BOOSTERS[0])[0].ensemble
    assert ensemble.truncate(8).n_rounds == 8
    with pytest.raises(ParameterError, match="later rounds have rescaled the trees"):
        ensemble.truncate(3)


def test_share_of_dropped_rounds():
    seeds = range(300)
    counts = [Dart(0.3, None, skip_drop=0.5).choose_rounds(20, seed).size for seed in seeds]
    assert np.mean(np.array(counts) == 0) == pytest.approx(0.5, abs=0.1)
    assert np.mean(counts) == pytest.approx(0.5 * 0.3 * 20, abs=0.4)
    each = np.zeros(20)
    for seed in seeds:
        dropped = Dart(1.0, 3, skip_drop=0.0).choose_rounds(20, seed)
        assert dropped.size == 3
        assert np.all(np.diff(dropped) > 0)
        each[dropped] += 1
    assert np.all(np.abs(each - 45) < 4 * np.sqrt(45))


def test_factors_keep_the_weight_of_what_was_dropped():
    assert Dart().find_factors(0, 0.1) == (1.0, 1.0)
    assert Dart().find_factors(3, 1.0) == (1 / 4, 3 / 4)
    assert Dart(normalize="forest").find_factors(3, 1.0) == (1 / 2, 1 / 2)


@pytest.mark.parametrize(
    "part",
    [Dart(-0.1), Dart(1.1), Dart(max_drop=0), Dart(max_drop=1.5), Dart(skip_drop=2), Dart("a")],
)
def test_parameters_that_cannot_be(part):
    with pytest.raises(ParameterError, match=r"Dart\("):
        part.check()
    with pytest.raises(ParameterError, match="must be 'tree' or 'forest'"):
        Dart(normalize="trees").check()
