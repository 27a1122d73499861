"""All losses among peers: the bits of a single process that has all rows, in few messages."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sumwise.errors import DataError, ParameterError
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import (
    REGRESSION_LOSSES,
    CustomLoss,
    Exponential,
    Huber,
    Logistic,
    Multinomial,
    MultiTarget,
    Poisson,
    Quantile,
    Squared,
    Tweedie,
    base,
    peer_sums,
)
from sumwise.losses.robust import _Robust
from tests.threaded_peers import run_together

NO_WEIGHT = np.empty(0)
N_PEERS = 3


class HalfSquare:
    """A custom loss, whose methods refuse to see no rows."""

    def value(self, y, raw):
        assert y.size
        return 0.5 * (raw - y) ** 2

    def gradient(self, y, raw):
        assert y.size
        return raw - y, np.ones_like(raw)


REGRESSION = {
    name: Huber(delta=1.5) if kind is Huber else kind() for name, kind in REGRESSION_LOSSES.items()
}
CLASSIFICATION = {
    "logistic": Logistic(),
    "exponential": Exponential(),
    "multinomial": Multinomial(3),
}
SEPARABLE = {
    "quantiles": Quantile([0.2, 0.5, 0.9]),
    "two targets": MultiTarget([Squared(), Squared()]),
    "two counts": MultiTarget([Poisson(), Poisson()]),
}
LOSSES = {**REGRESSION, **CLASSIFICATION, **SEPARABLE, "custom": CustomLoss(HalfSquare())}
EXTREME = [0.0, -0.0, 5e-324, 1e-30, 1e200, 1e308, -1e308, np.inf, -np.inf, np.nan]


class Data:
    """Rows of all processes, of which some are used; each has an owner."""

    def __init__(self, loss, n_rows, seed, weighted, extreme=None):
        rng = np.random.default_rng(seed)
        self.loss, self.owners = loss, rng.integers(rng.integers(1, N_PEERS + 1), size=n_rows)
        self.raw = rng.normal(size=(loss.n_outputs, n_rows)) * 10.0 ** rng.integers(-3, 3)
        if extreme is not None and n_rows:
            self.raw[rng.integers(loss.n_outputs), rng.integers(n_rows)] = extreme
        self.target = self._draw_target(rng, n_rows)
        self.weight = rng.random(n_rows) * 2.0 ** rng.integers(-60, 60, n_rows)
        self.weight = self.weight if weighted else NO_WEIGHT
        self.is_used = rng.random(n_rows) < rng.choice([0.7, 1.0])

    def _draw_target(self, rng, n_rows):
        if isinstance(self.loss, Multinomial):
            return rng.integers(3, size=n_rows).astype(np.float64)
        if type(self.loss) in (Logistic, Exponential):
            return rng.integers(2, size=n_rows, dtype=np.uint8)
        shape = (n_rows, 2) if isinstance(self.loss, MultiTarget) else n_rows
        return np.asarray(rng.random(shape), order="F")  # valid for all losses

    def take(self, mask):
        """Return target, scores, weight and used rows, of the rows of a mask."""
        rows = np.flatnonzero(self.is_used[mask]).astype(np.uint32)
        target = np.asarray(self.target[mask], order="F")
        weight = self.weight[mask] if self.weight.size else self.weight
        return target, np.ascontiguousarray(self.raw[:, mask]), weight, rows

    def compare(self, function):
        """Compare a function's results among peers with that of a single process."""
        expected = find_bits(function, *self.take(self.owners >= 0))
        masks = [self.owners == rank for rank in range(N_PEERS)]
        results = run_together(
            N_PEERS, lambda peers: find_bits(function, *self.take(masks[peers.rank]), peers)
        )
        assert results == [expected] * N_PEERS


def find_bits(function, *args):
    """Return the bytes of a result; without rows, it is that there is none."""
    try:
        with np.errstate(all="ignore"):
            found = function(*args)
    except ZeroDivisionError:
        return "none"
    return np.float64(found).tobytes()


EACH_CASE = {
    "name": st.sampled_from(sorted(LOSSES)),
    "n_rows": st.integers(0, 40),
    "seed": st.integers(0, 2**32 - 1),
    "weighted": st.booleans(),
}


@settings(max_examples=300, deadline=None)
@given(**EACH_CASE, extreme=st.none() | st.sampled_from(EXTREME))
@example(name="multinomial", n_rows=0, seed=0, weighted=True, extreme=None)
@example(name="quantiles", n_rows=30, seed=1, weighted=True, extreme=np.nan)
def test_mean_losses_have_the_bits_of_one_process(name, n_rows, seed, weighted, extreme):
    is_custom = name == "custom"  # such a loss must be finite
    Data(LOSSES[name], n_rows, seed, weighted, None if is_custom else extreme).compare(
        LOSSES[name].value
    )


@settings(max_examples=200, deadline=None)
@given(**EACH_CASE)
def test_initial_scores_have_the_bits_of_one_process(name, n_rows, seed, weighted):
    loss = LOSSES[name]

    def find(target, raw, weight, rows, *peers):
        return loss.initial_score(target, weight, rows, None, *peers)

    data = Data(loss, n_rows, seed, weighted)
    if data.is_used.any() or not isinstance(loss, _Robust):  # there is no location of no rows
        data.compare(find)


@settings(max_examples=200, deadline=None)
@given(
    loss=st.sampled_from([Huber(), Huber(quantile=0.3), MultiTarget([Huber(), Huber()])]),
    n_rows=st.integers(1, 40),
    seed=st.integers(0, 2**32 - 1),
    weighted=st.booleans(),
    offset=st.booleans(),
    share_of_zeros=st.sampled_from([0.0, 0.95, 1.0]),
)
def test_deltas_have_the_bits_of_one_process(loss, n_rows, seed, weighted, offset, share_of_zeros):
    """If most errors are zero, their mean is taken; if all are, it is one."""
    data = Data(loss, n_rows, seed, weighted)
    data.is_used[0] = True
    if isinstance(loss, MultiTarget):
        data.raw = np.repeat(data.raw[:1], 2, axis=0)
    is_zero = np.random.default_rng(seed).random(n_rows) < share_of_zeros
    data.target[is_zero] = data.raw.T.reshape(data.target.shape)[is_zero]

    def find(target, raw, weight, rows, *peers):
        adapted = loss.adapt(target, weight, rows, raw if offset else None, *peers)
        moved = adapted.at_round(target, raw, weight, rows, *peers)
        return [own.at_output(k).delta for own in (adapted, moved) for k in range(loss.n_outputs)]

    data.compare(find)


@pytest.mark.parametrize("name", ["squared_error", "logistic", "multinomial", "cross_entropy"])
@pytest.mark.parametrize("weighted", [False, True])
def test_initial_scores_by_many_threads(name, weighted, monkeypatch):
    monkeypatch.setattr(base, "_FEW_SCORES", 10)
    monkeypatch.setattr(peer_sums, "_FEW_ROWS", 10)
    loss = LOSSES[name]

    def find(target, raw, weight, rows, *peers):
        with Team(2) as team:
            return loss.initial_score(target, weight, rows, team, *peers)

    for seed in range(5):
        Data(loss, 90, seed, weighted).compare(find)


@pytest.mark.parametrize("weighted", [False, True])
def test_probabilities_may_be_bytes(weighted):
    loss = LOSSES["cross_entropy"]
    data = Data(loss, 40, 0, weighted)
    data.target = (data.target > 0.5).astype(np.uint8)
    data.compare(
        lambda target, raw, weight, *rest: loss._find_constant(target, weight, None, *rest[1:])
    )


@pytest.mark.parametrize("bad", [np.inf, np.nan, 1e308])
@pytest.mark.parametrize("weighted", [False, True])
def test_means_of_targets_that_are_not_finite(bad, weighted):
    loss = Squared()
    data = Data(loss, 20, 0, weighted)
    data.target[3] = bad
    data.compare(
        lambda target, raw, weight, rows, *peers: loss.initial_score(
            target, weight * 1e10, rows, None, *peers
        )
    )


@settings(max_examples=100, deadline=None)
@given(
    loss=st.sampled_from([Poisson(), Tweedie(1.3), SEPARABLE["two counts"], Squared()]),
    n_rows=st.integers(0, 40),
    seed=st.integers(0, 2**32 - 1),
    weighted=st.booleans(),
    extreme=st.none() | st.sampled_from(EXTREME),
)
def test_initial_shifts_have_the_bits_of_one_process(loss, n_rows, seed, weighted, extreme):
    def find(target, raw, weight, rows, *peers):
        return loss.initial_shift(target, weight, rows, raw, *peers)

    Data(loss, n_rows, seed, weighted, extreme).compare(find)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("weighted", [False, True])
def test_results_take_two_messages(name, weighted):
    loss = LOSSES[name]
    data = Data(loss, 30, 0, weighted)

    def work(peers):
        target, raw, weight, rows = data.take(data.owners == peers.rank)
        counts = [peers.n_messages]
        loss.value(target, raw, weight, rows, peers)
        counts.append(peers.n_messages)
        if not loss.is_separable and not isinstance(loss, _Robust):
            loss.initial_score(target, weight, rows, None, peers)
            counts.append(peers.n_messages)
        return np.diff(counts).max()

    assert run_together(N_PEERS, work) == [2] * N_PEERS


@pytest.mark.parametrize(
    ("loss", "bad"),
    [
        (REGRESSION["squared_log_error"], -1.0),
        (REGRESSION["cross_entropy"], 1.5),
        (REGRESSION["poisson"], -0.5),
        (REGRESSION["gamma"], 0.0),
    ],
    ids=["squared_log_error", "cross_entropy", "poisson", "gamma"],
)
def test_all_processes_refuse_the_target_of_one(loss, bad):
    def work(peers):
        target = np.array([[0.5, 0.5], [], [0.5, bad, bad]][peers.rank])
        with pytest.raises(DataError) as caught:
            loss.check_target(target, NO_WEIGHT, peers)
        return str(caught.value)

    messages = run_together(N_PEERS, work)
    assert len(set(messages)) == 1
    assert messages[0].startswith(f"y[1] of process 2 is {bad:g}; loss=")
    assert messages[0].endswith("(2 of 5 targets are not)")


@pytest.mark.parametrize("loss", [Poisson(), Tweedie(), SEPARABLE["two counts"]])
def test_one_positive_target_of_all_processes_is_enough(loss):
    shape = 2 if isinstance(loss, MultiTarget) else ()

    def check(highest):
        def work(peers):
            n_rows = 0 if peers.rank == 1 else 3
            target = np.full((n_rows, 2) if shape else n_rows, highest * (peers.rank == 2))
            loss.check_target(target, NO_WEIGHT, peers)

        run_together(N_PEERS, work)

    check(1.0)
    with pytest.raises(DataError, match="all targets are 0"):
        check(0.0)


def test_a_custom_loss_sees_the_rows_of_its_process():
    loss = LOSSES["custom"]
    empty, no_rows = np.empty((1, 0)), np.empty(0, dtype=np.uint32)
    loss.gradient(None, np.empty(0), empty, NO_WEIGHT, empty, empty)
    without = loss.adapt(np.ones(2), NO_WEIGHT, no_rows, None)
    found = np.full((2, 1, 2), np.nan)
    without.gradient(None, np.ones(2), np.ones((1, 2)), NO_WEIGHT, *found)
    assert not found.any()


def test_a_custom_initial_score_needs_all_rows():
    class Start(HalfSquare):
        def initial_score(self, y, weight):
            return y.mean()

    def work(peers):
        rows = np.arange(2, dtype=np.uint32)
        return CustomLoss(Start()).initial_score(np.ones(2), NO_WEIGHT, rows, None, peers)

    with pytest.raises(ParameterError, match=r"Start.initial_score.*base_score"):
        run_together(2, work)
