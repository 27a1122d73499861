"""Robust losses: initial scores, parameters, a changing delta, several levels."""

import numpy as np
import pytest
from sklearn._loss.loss import HuberLoss

from sumwise import Fair, Huber, Quantile
from sumwise.errors import ParameterError
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import Absolute, Location, LogCosh, Percentage

NO_WEIGHT = np.empty(0)
RNG = np.random.default_rng(0)
TARGET = RNG.standard_t(2, 301)
WEIGHT = RNG.random(301)
ROWS = np.arange(301, dtype=np.uint32)


def best_of_grid(loss, weight):
    """Minimize by brute force on a fine grid."""
    grid = np.linspace(TARGET.min(), TARGET.max(), 20_001)
    values = [
        loss.value(TARGET, np.full((1, 301), score), weight, ROWS) for score in grid[::100].tolist()
    ]
    near = grid[max(0, 100 * (np.argmin(values) - 1)) : 100 * (np.argmin(values) + 1)]
    return min(loss.value(TARGET, np.full((1, 301), score), weight, ROWS) for score in near)


@pytest.mark.parametrize(
    "loss",
    [Absolute(), Quantile(0.2), Quantile(0.9), Percentage()],
    ids=["absolute", "low", "high", "percentage"],
)
@pytest.mark.parametrize("weight", [NO_WEIGHT, WEIGHT], ids=["plain", "weighted"])
def test_no_score_is_better_than_the_initial_one(loss, weight):
    start = loss.initial_score(TARGET, weight, ROWS)
    value = loss.value(TARGET, np.repeat(start[:, None], 301, axis=1), weight, ROWS)
    assert value <= best_of_grid(loss, weight)


@pytest.mark.parametrize("weight", [NO_WEIGHT, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("delta", [0.3, 1.0, 5.0])
def test_huber_starts_near_its_best_where_scikit_learn_does(weight, delta):
    loss = Huber(delta)
    start = loss.initial_score(TARGET, weight, ROWS)
    value = loss.value(TARGET, np.repeat(start[:, None], 301, axis=1), weight, ROWS)
    assert value <= 1.01 * best_of_grid(loss, weight)
    rival = HuberLoss(delta=delta)
    expected = rival.fit_intercept_only(TARGET, weight if weight.size else None)
    assert start[0] == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("weight", [NO_WEIGHT, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("loss", [Fair(0.3), Fair(5.0), LogCosh()], ids=["low", "high", "log_cosh"])
def test_smooth_losses_start_near_their_best(loss, weight):
    start = loss.initial_score(TARGET, weight, ROWS)
    value = loss.value(TARGET, np.repeat(start[:, None], 301, axis=1), weight, ROWS)
    assert value <= 1.01 * best_of_grid(loss, weight)


def test_percentages_weigh_by_the_target_but_never_more_than_one():
    target = np.array([0.0, 0.5, -2.0, 8.0])
    assert Percentage().location_weight(target, NO_WEIGHT).tolist() == [1.0, 1.0, 0.5, 0.125]
    weight = np.array([1.0, 2.0, 3.0, 4.0])
    assert Percentage().location_weight(target, weight).tolist() == [1.0, 2.0, 1.5, 0.5]
    assert Absolute().location_weight(target, weight) is weight


def test_several_levels_are_the_levels_one_by_one():
    levels, raw = [0.1, 0.5, 0.75], RNG.normal(size=(3, 301))
    loss, ones = Quantile(levels), [Quantile(level) for level in levels]
    assert loss.n_outputs == 3
    assert [loss.at_output(k).location for k in range(3)] == [one.location for one in ones]
    starts = [one.initial_score(TARGET, WEIGHT, ROWS)[0] for one in ones]
    assert loss.initial_score(TARGET, WEIGHT, ROWS).tolist() == starts == sorted(starts)
    values = [one.value(TARGET, raw[[k]], WEIGHT, ROWS) for k, one in enumerate(ones)]
    assert loss.value(TARGET, raw, WEIGHT, ROWS) == pytest.approx(np.mean(values))
    found, expected = (np.full((2, 3, 301), np.nan) for _ in range(2))
    with Team(2) as team:
        loss.gradient(team, TARGET, raw, WEIGHT, *found)
        for k, one in enumerate(ones):
            own = expected[:, k : k + 1]
            one.gradient(team, TARGET, raw[[k]], WEIGHT, *own)
    assert np.array_equal(found, expected)


def test_a_list_of_one_level_has_a_column():
    for levels in ([0.3], (0.3,), np.array([0.3])):
        assert (Quantile(levels).link, Quantile(levels).n_outputs) == ("sorted", 1)
    assert (Quantile(0.3).link, Quantile(0.3).n_outputs) == ("identity", 1)


@pytest.mark.parametrize("levels", [[], [0.5, 0.5], [0.9, 0.1]], ids=str)
def test_levels_ascend(levels):
    with pytest.raises(ParameterError, match=r"Quantile\(level=\[.*levels must ascend"):
        Quantile(levels).check()


def test_initial_score_of_chosen_rows():
    rows = np.array([5, 9, 2], dtype=np.uint32)
    assert Absolute().initial_score(TARGET, NO_WEIGHT, rows) == [np.median(TARGET[rows])]


@pytest.mark.parametrize("weight", [NO_WEIGHT, WEIGHT], ids=["plain", "weighted"])
def test_order_of_rows_changes_no_bit(weight):
    orders = [RNG.permutation(ROWS) for _ in range(4)]
    for loss in (Absolute(), Quantile(0.3), Huber(0.5), Huber()):
        fitted = [loss.adapt(TARGET, weight, order, None) for order in orders]
        assert len({repr(each) for each in fitted}) == 1
        starts = {
            each.initial_score(TARGET, weight, order).tobytes()
            for each, order in zip(fitted, orders, strict=True)
        }
        assert len(starts) == 1


def test_absolute_is_twice_the_quantile_of_one_half():
    raw = RNG.normal(size=(1, 301))
    absolute, half = (loss.value(TARGET, raw, WEIGHT, ROWS) for loss in (Absolute(), Quantile(0.5)))
    assert absolute == pytest.approx(2 * half, rel=1e-13)
    assert Absolute().location == Quantile(0.5).location == Location(0.5)


def test_delta_follows_the_errors():
    start = Huber(quantile=0.8).adapt(TARGET, NO_WEIGHT, ROWS, None)
    expected = np.quantile(np.abs(TARGET - np.median(TARGET)), 0.8, method="inverted_cdf")
    assert start.location[:2] == (0.5, pytest.approx(expected))
    raw = (0.9 * TARGET)[None]
    moved = start.at_round(TARGET, raw, NO_WEIGHT, ROWS)
    expected = np.quantile(0.1 * np.abs(TARGET), 0.8, method="inverted_cdf")
    assert moved.location.delta == pytest.approx(expected)
    # losses are measured with the first delta
    assert start.value(TARGET, raw, NO_WEIGHT, ROWS) == Huber(start.delta).value(
        TARGET, raw, NO_WEIGHT, ROWS
    )


def test_delta_from_initial_scores_and_a_given_delta():
    zeros = np.zeros((1, 301))
    fitted = Huber().adapt(TARGET, NO_WEIGHT, ROWS, zeros)
    assert fitted.delta == np.quantile(np.abs(TARGET), 0.9, method="inverted_cdf")
    fixed = Huber(2.0)
    assert fixed.adapt(TARGET, NO_WEIGHT, ROWS, None) is fixed
    assert fixed.at_round(TARGET, zeros, NO_WEIGHT, ROWS) is fixed


@pytest.mark.parametrize(
    ("target", "delta"), [(np.r_[np.zeros(19), 20.0], 1.0), (np.full(20, 3.0), 1.0)]
)
def test_delta_is_positive_where_most_targets_are_the_same(target, delta):
    rows = np.arange(20, dtype=np.uint32)
    assert Huber().adapt(target, NO_WEIGHT, rows, None).delta == delta


@pytest.mark.parametrize(
    "loss",
    [
        Quantile(0),
        Quantile(1),
        Quantile(-0.1),
        Quantile(np.nan),
        Quantile("half"),
        Quantile(True),
        Quantile(None),
        Quantile([0.1, 1.0]),
        Quantile([None]),
        Fair(0),
        Fair(np.inf),
        Huber(0),
        Huber(np.inf),
        Huber("1"),
        Huber(quantile=1),
        Huber(quantile=None),
    ],
    ids=repr,
)
def test_parameters_out_of_range(loss):
    name = type(loss).__name__
    with pytest.raises(ParameterError, match=rf"{name}\(\w+=.*must be (between 0 and 1|above 0)"):
        loss.check()


@pytest.mark.parametrize(
    "loss",
    [Quantile(np.float32(0.5)), Huber(3), Huber(), Quantile(0.001), Quantile((0.1, 0.2)), Fair(3)],
)
def test_parameters_in_range(loss):
    loss.check()
