"""Ordered boosting against its transcription; what it promises, and what it refuses."""

import numpy as np
import pandas as pd
import pytest

from sumwise import (
    BayesianBootstrap,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    Ordered,
    Subsample,
    load,
)
from sumwise.data.binning import BinMapper
from sumwise.data.categories.target_statistics import permute_rows
from sumwise.errors import ParameterError
from sumwise.estimators.input import jobs
from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import Logistic, Squared
from sumwise.sampling import Columns
from sumwise.training.boost import BoostingSettings, TrainingRows, TrainingTable, boost
from sumwise.tree import GrowthSettings, TreeGrower
from sumwise.tree.prefixes import PrefixModels
from tests.naive import grow as naive
from tests.naive.ordered_boosting import ordered_boosting
from tests.naive.predict import predict_binned

GROWTHS = ["leaf", "depth", "symmetric"]


def make_table(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3)).round(1)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0]) ** 2 + np.nan_to_num(X[:, 1]) + 0.3 * rng.normal(size=n_rows)
    return X, y


# The algorithm


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=["squared", "logistic"])
def test_all_prefixes_are_the_algorithm_of_the_article(growth, loss):
    X, y = make_table(24)
    if isinstance(loss, Logistic):
        y = (y > y.mean()).astype(np.float64)
    train = np.delete(np.arange(24, dtype=np.uint32), [3, 11])
    settings = GrowthSettings(
        growth=growth, max_depth=2, max_leaves=4, min_samples_leaf=2, learning_rate=0.5
    )
    options = naive.GrowOptions(
        growth=growth,
        max_depth=2,
        max_leaves=4,
        min_samples_leaf=2,
        min_child_weight=1e-3,
        l2=1.0,
        wide=True,
        learning_rate=0.5,
    )
    rows = TrainingRows(y, np.empty(0), train, np.array([3, 11], dtype=np.uint32))
    with Team(1) as team:
        mapper = BinMapper.fit(X)
        data = mapper.transform(X, team)
        fit = BoostingSettings(loss, settings, 3, booster=Ordered(1, "all"), seed=5)
        result = boost(TrainingTable([X], data, mapper), rows, fit, team)
        found = result.ensemble.predict_raw(X, team)[:, 0]

        def gradient(scores):
            g, h = np.empty((1, 24)), np.empty((1, 24))
            loss.gradient(team, y, scores[None, :], np.empty(0), g, h)
            return g[0], h[0]

        def learn(g, h, own):
            table = data.table
            tree = naive.grow_tree(table.columns, table.n_value_bins, g, h, own, options)
            return lambda row: tree.value[int(predict_binned(tree, table.columns[:, [row]])[0])]

        order = permute_rows(train, 5, 0).tolist()
        expected = ordered_boosting(learn, gradient, order, 24, 3)
    assert result.ensemble.base_score.tolist() == [0.0]
    np.testing.assert_array_equal(found, expected)


def add_trees(y, n_trees=3):
    """Add trees of fixed splits to models of prefixes; return the scores of rows, and the order.

    The splits come from other targets: they are given, as those of another permutation.
    """
    X, base = make_table(y.size)
    rows = np.arange(y.size, dtype=np.uint32)
    order = permute_rows(rows, 3, 1)
    with Team(1) as team:
        mapper = BinMapper.fit(X)
        settings = GrowthSettings(growth="symmetric", max_depth=3, min_samples_leaf=1)
        grower = TreeGrower(mapper.transform(X, team), mapper, settings, Columns(), y.size, team)
        models = PrefixModels(grower, order, np.zeros((1, y.size)), team)
        scores = np.zeros(y.size)
        for number in range(n_trees):
            key = random.make_key(0, random.TREES, number)
            tree = grower.grow_on_gradients(-base, np.ones(y.size), rows, key, np.empty(0))
            grower.find_leaves(tree, rows)
            own = models.scores[0] - y[models.rows]
            models.add_values(tree, 0, own, np.ones(own.size), scores)
    return scores, order


def test_a_row_never_hears_of_itself_or_of_later_rows():
    y = np.random.default_rng(2).normal(size=100)
    before, order = add_trees(y)
    for place in (0, 1, 17, 64, 99):
        changed = y.copy()
        changed[order[place]] += 5.0
        after, _ = add_trees(changed)
        # The scale of integers may be another: nothing but rounding.
        own = order[: place + 1]
        np.testing.assert_allclose(after[own], before[own], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n_rows", [1, 2, 3, 50])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_models_of_prefixes_learn_by_their_own_gradients(n_rows, n_threads):
    X, y = make_table(n_rows)
    rows = np.arange(n_rows, dtype=np.uint32)
    order = permute_rows(rows, 3, 1)
    with Team(n_threads) as team:
        mapper = BinMapper.fit(X)
        settings = GrowthSettings(max_leaves=4, min_samples_leaf=1, learning_rate=0.5)
        grower = TreeGrower(mapper.transform(X, team), mapper, settings, Columns(), n_rows, team)
        models = PrefixModels(grower, order, np.zeros((1, n_rows)), team)
        found, expected = np.zeros(n_rows), np.zeros(n_rows)
        of_model = {}
        for number in range(3):
            key = random.make_key(0, random.TREES, number)
            tree = grower.grow_on_gradients(found - y, np.ones(n_rows), rows, key, np.empty(0))
            leaf = grower.find_leaves(tree, rows).astype(np.int64)
            own = models.scores - y[models.rows]
            models.add_values(tree, 0, own[0], np.ones(own.shape[1]), found)
            n_learned = 1
            while n_learned < n_rows:
                scores = of_model.setdefault(n_learned, np.zeros(n_rows))
                first = order[:n_learned]
                sums = np.bincount(leaf[first], scores[first] - y[first], tree.n_nodes)
                counts = np.bincount(leaf[first], minlength=tree.n_nodes)
                scores -= (0.5 * sums / (counts + 1.0))[leaf]
                following = order[n_learned : 2 * n_learned]
                expected[following] = scores[following]
                n_learned *= 2
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


# In the estimators

RNG = np.random.default_rng(0)
N_ROWS = 400
CITY = RNG.integers(0, 120, N_ROWS)
FRAME = pd.DataFrame({"city": CITY.astype(str), "size": RNG.normal(size=N_ROWS)})
EFFECT = RNG.normal(size=120)[CITY] + FRAME["size"].to_numpy()
TARGETS = {
    "two classes": (GradientBoostingClassifier, (EFFECT > 0).astype(int)),
    "three classes": (GradientBoostingClassifier, np.digitize(EFFECT, [-0.7, 0.7])),
    "regression": (GradientBoostingRegressor, EFFECT),
}


def fit(task, **params):
    kind, y = TARGETS[task]
    small = {"n_estimators": 5, "min_samples_leaf": 3, "random_state": 0, "booster": "ordered"}
    return kind(**{**small, **params}).fit(FRAME, y)


@pytest.mark.parametrize("task", TARGETS)
@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("booster", [Ordered(), Ordered(1), Ordered(4)], ids=repr)
def test_threads_files_and_growth(task, growth, booster, tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "count_cpus", lambda: 3)
    monkeypatch.setattr(jobs, "STEPS_PER_THREAD", 1)
    monkeypatch.setattr(jobs, "count_growers", lambda n_values: 99)
    found = set()
    for n_jobs in (1, 3):
        model = fit(task, growth=growth, booster=booster, n_jobs=n_jobs)
        model.save(tmp_path / "model")
        found.add((tmp_path / "model").read_bytes())
    assert len(found) == 1
    np.testing.assert_array_equal(load(tmp_path / "model").predict(FRAME), model.predict(FRAME))
    assert model.score(FRAME, TARGETS[task][1]) > 0.3


@pytest.mark.parametrize("encoding", ["native", "ordered", "greedy"])
@pytest.mark.parametrize("sampler", [None, Subsample(0.5), BayesianBootstrap()], ids=repr)
def test_encodings_and_samplers(encoding, sampler):
    model = fit("two classes", categorical_encoding=encoding, sampler=sampler, n_estimators=20)
    assert model.score(FRAME, TARGETS["two classes"][1]) > 0.6


def test_early_stopping_sees_the_model():
    X, y = make_table(400)
    model = GradientBoostingRegressor(
        booster="ordered", n_estimators=20, n_iter_no_change=20, random_state=0
    ).fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    losses = [np.mean((p - y[300:]) ** 2) for p in model.staged_predict(X[300:])]
    kept = model.history_["validation_loss"][: len(losses)]
    np.testing.assert_allclose(kept, np.array(losses) / 2, rtol=1e-9)


def test_permutations_are_those_of_the_statistics(monkeypatch):
    """Of the permutations of a fit there is a table each, and an order of the same number."""
    numbers = []
    from sumwise.estimators.boosting import encoding
    from sumwise.training.boosters import ordered

    def spy(rows, seed, number):
        numbers.append((seed, number))
        return permute_rows(rows, seed, number)

    monkeypatch.setattr(encoding, "permute_rows", spy)
    monkeypatch.setattr(ordered, "permute_rows", spy)
    fit("regression", booster=Ordered(3), categorical_encoding="ordered")
    assert len(numbers) == 5
    assert numbers[1:3] == numbers[3:]  # the first gives values of leaves only


# Refusals


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"booster": Ordered(0)}, r"Ordered\(permutations=0\)"),
        ({"booster": Ordered(prefixes="some")}, "must be 'log' or 'all'"),
        ({"booster": Ordered(2, "all")}, "pass permutations=1"),
        ({"loss": "absolute_error"}, "medians or quantiles"),
        ({"booster": Ordered(1, "all"), "sampler": Subsample()}, "leave the sampler out"),
    ],
)
def test_what_cannot_be_is_told(params, message):
    with pytest.raises(ParameterError, match=message):
        fit("regression", **params)


def test_all_prefixes_are_for_small_data():
    X = np.zeros((5_001, 1))
    with pytest.raises(ParameterError, match=r"at most 5000 are supported; use prefixes='log'"):
        GradientBoostingRegressor(booster=Ordered(1, "all")).fit(X, X[:, 0])


def test_ordered_boosting_does_not_continue():
    first = fit("regression").set_params(n_estimators=8, warm_start=True)
    with pytest.raises(ParameterError, match="cannot continue a model"):
        first.fit(FRAME, EFFECT)
