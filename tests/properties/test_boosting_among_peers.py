"""Fits on pages of several processes: the bytes of a fit on one table, for each kind of loss."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from sumwise.data.paged import PagedData
from sumwise.errors import ParameterError
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import (
    REGRESSION_LOSSES,
    CustomLoss,
    Huber,
    Logistic,
    Multinomial,
    MultiTarget,
    Quantile,
    Squared,
)
from sumwise.peers import ALONE, Shards
from sumwise.sampling import DrawnRows, RowSampler
from sumwise.training.boost import (
    BoostingSettings,
    EvaluatedRows,
    TrainingRows,
    TrainingTable,
    boost,
)
from sumwise.training.boosters import Dart, Forest, Plain
from sumwise.training.stopping import EarlyStopping
from sumwise.tree import GrowthSettings
from tests.threaded_peers import run_together
from tests.tree.test_paged_grower import make_categories, make_table

N_ROWS = 260
BOOSTERS = {"plain": Plain(), "three trees": Plain(3), "dart": Dart(), "forest": Forest()}


class HalfSquare:
    """A custom loss of one output."""

    def gradient(self, y, raw):
        return raw - y, np.ones_like(raw)

    def value(self, y, raw):
        return 0.5 * (raw - y) ** 2


LOSSES = {
    **{name: kind() for name, kind in REGRESSION_LOSSES.items()},
    "fixed huber": Huber(0.8),
    "high quantile": Quantile(0.9),
    "quantiles": Quantile([0.2, 0.5, 0.9]),
    "logistic": Logistic(),
    "multinomial": Multinomial(3),
    "two squares": MultiTarget([Squared(), Squared()]),
    "two hubers": MultiTarget([Huber(), Huber()]),
    "custom": CustomLoss(HalfSquare()),
}


class ByTarget(RowSampler):
    """Draws rows and gives them factors by their targets: alike in any process."""

    has_factors = leaves_out_alike = works_among_peers = True

    def draw(self, source):
        share = (7.0 * source.target[source.rows] + 0.3 * source.number) % 1.0
        is_drawn = share < 0.8
        return DrawnRows(source.rows[is_drawn], 0.5 + share[is_drawn])


class Problem:
    """Rows of all processes; each has the rows between two ends."""

    def __init__(self, seed, loss, weighted=False, offset=False, ties=False, **settings):
        rng = np.random.default_rng(seed)
        self.table = (make_categories if seed % 3 == 0 else make_table)(seed, N_ROWS)
        self.loss, self.settings = loss, settings
        signal = self.table.codes[0] / max(1, self.table.codes[0].max())
        y = 0.7 * signal + 0.3 * rng.random(N_ROWS)
        y = y.round(1) if ties else y
        if loss.target_type is np.uint8:
            self.target = (y > 0.5).astype(np.uint8)
        elif isinstance(loss, Multinomial):
            self.target = np.floor(2.99 * y).astype(loss.target_type)
        elif isinstance(loss, MultiTarget):
            self.target = np.asfortranarray(np.column_stack([y, rng.random(N_ROWS)]))
        else:
            self.target = y + 0.05
        self.weight = rng.random(N_ROWS) * 2.0 ** rng.integers(-20, 3, N_ROWS)
        self.weight = self.weight if weighted else np.empty(0)
        self.offset = rng.normal(size=(loss.n_outputs, N_ROWS)) * 0.1 if offset else None
        self.role = rng.choice(3, N_ROWS, p=[0.7, 0.2, 0.1])  # training, validation, neither
        self.role[:9] = 0

    def fit(self, peers=None, ends=(0, N_ROWS), cuts=(), n_threads=1):
        """Return the trees and the history of a fit of this process, or of a single one."""
        rank = 0 if peers is None else peers.rank
        own = slice(ends[rank], ends[rank + 1])
        train, valid = (np.flatnonzero(self.role[own] == k).astype(np.uint32) for k in (0, 1))
        target = np.asarray(self.target[own], order="F")
        weight = self.weight[own] if self.weight.size else self.weight
        offset = None if self.offset is None else np.ascontiguousarray(self.offset[:, own])
        shards = None
        if peers is not None:
            shards = Shards.of_sizes(peers, [rank], [len(target)])
        loss = self.loss.adapt(target, weight, train, offset, ALONE if peers is None else peers)
        rows = TrainingRows(target, weight, train, valid, offset, shards=shards)
        growth = {"min_samples_leaf": 3, "max_leaves": 8, **self.settings.get("growth", {})}
        chosen = BoostingSettings(
            loss,
            GrowthSettings(**growth),
            n_rounds=4,
            booster=self.settings.get("booster"),
            sampler=self.settings.get("sampler"),
            stopping=EarlyStopping(2, 0.0) if loss.has_value else None,
            track_training_loss=True,
            evaluated=[EvaluatedRows("validation", valid)],
            seed=3,
        )
        with Team(n_threads) as team:
            data = self.table.make_whole(team)
            if peers is not None:
                data = self.table.cut(cuts, team, own.start, own.stop)
                if own.start == own.stop:
                    data = PagedData([], data.n_value_bins, data.usable, data.categories)
            result = boost(TrainingTable([], data, self.table.mapper), rows, chosen, team)
        return find_bytes(result)

    def compare(self, ends, cuts, n_threads=1):
        """Compare the fits of all peers with that of one process."""
        expected = self.fit()
        n_peers = len(ends) - 1
        for found in run_together(n_peers, lambda peers: self.fit(peers, ends, cuts, n_threads)):
            assert found == expected


def find_bytes(result):
    trees = {
        name: value.tobytes()
        for name, value in vars(result.ensemble).items()
        if isinstance(value, np.ndarray)
    }
    return trees, {name: np.array(own).tobytes() for name, own in result.history.items()}


@hypothesis_settings(max_examples=60, deadline=None, derandomize=True)
@given(
    name=st.sampled_from(sorted(LOSSES)),
    seed=st.integers(0, 1000),
    weighted=st.booleans(),
    offset=st.booleans(),
    ties=st.booleans(),
    growth=st.sampled_from(["leaf", "symmetric"]),
    bounds=st.lists(st.integers(0, N_ROWS), min_size=1, max_size=3),
    cuts=st.lists(st.integers(0, N_ROWS), max_size=3),
    n_threads=st.sampled_from([1, 2]),
)
@example("huber", 0, True, True, True, "leaf", [0, 100], [], 1)
def test_fits_have_the_bytes_of_one_process(
    name, seed, weighted, offset, ties, growth, bounds, cuts, n_threads
):
    problem = Problem(seed, LOSSES[name], weighted, offset, ties, growth={"growth": growth})
    problem.compare([0, *sorted(bounds), N_ROWS], sorted(cuts), n_threads)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_each_loss(name, weighted):
    Problem(1, LOSSES[name], weighted).compare([0, 70, 70, N_ROWS], [30, 200], 2)


@pytest.mark.parametrize("booster", BOOSTERS)
@pytest.mark.parametrize("name", ["absolute_error", "huber"])
@pytest.mark.parametrize("weighted", [False, True])
def test_refitted_leaves_of_drawn_rows(name, booster, weighted):
    problem = Problem(2, LOSSES[name], weighted, booster=BOOSTERS[booster], sampler=ByTarget())
    problem.compare([0, 150, 150, N_ROWS], [200])


class Failing(HalfSquare):
    """Fails on rows of large targets."""

    def __init__(self, method):
        self.method = method

    def gradient(self, y, raw):
        bad = self.method == "gradient" and (y > 5).any()
        return raw - y, np.full_like(raw, -1.0 if bad else 1.0)

    def value(self, y, raw):
        if self.method == "value" and (y > 5).any():
            raise RuntimeError("no such value")
        return super().value(y, raw)


@pytest.mark.parametrize(
    ("method", "kind", "message"),
    [
        ("gradient", ParameterError, "second derivative is -1"),
        ("value", RuntimeError, "no such value"),
    ],
)
def test_a_custom_loss_that_fails_in_one_process_fails_in_all(method, kind, message):
    problem = Problem(1, CustomLoss(Failing(method)))
    problem.target[200] = 9.0
    problem.role[200] = 0

    def work(peers):
        with pytest.raises(kind, match=message):
            problem.fit(peers, [0, 100, N_ROWS], [])
        return True

    assert run_together(2, work) == [True, True]


def test_a_custom_initial_score_is_refused():
    class Start(HalfSquare):
        def initial_score(self, y, weight):
            return y.mean()

    problem = Problem(1, CustomLoss(Start()))
    with pytest.raises(ParameterError, match=r"Start.initial_score.*base_score"):
        run_together(2, lambda peers: problem.fit(peers, [0, 100, N_ROWS], []))
