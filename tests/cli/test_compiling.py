import importlib
import pkgutil
from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import sumwise.kernels
from sumwise import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    Columns,
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    Subsample,
)
from sumwise.cli.compiling import _run_phases, warm_up
from sumwise.estimators.input import jobs
from sumwise.inspection.shap import shap_interactions, shap_values
from sumwise.kernels.runtime.jit import Kernel, Verb
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import REGRESSION_LOSSES, peer_locations
from sumwise.tree import GrowthSettings
from tests.partitions import SCATTERED
from tests.properties.test_boosting_among_peers import LOSSES, Problem
from tests.sampling.test_peer_draws import SAMPLERS, Rows
from tests.tree.test_feature_grower import grow_both as grow_shared
from tests.tree.test_paged_grower import grow_both, make_categories
from tests.tree.test_voting_grower import draw_rows, grow_together


def count_signatures():
    """Signatures compiled so far, by kernel."""
    counts = {}
    for info in pkgutil.walk_packages(sumwise.kernels.__path__, "sumwise.kernels."):
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            if isinstance(value, Kernel | Verb) and value.py_func.__module__ == info.name:
                counts[f"{info.name}.{name}"] = len(value.signatures)
    assert counts
    return counts


@pytest.fixture(scope="module")
def warm():
    assert warm_up() > 0
    return count_signatures()


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
def test_nothing_is_left_to_compile_for_pages(warm, growth):
    for n_threads, tail in ((1, 1.0), (2, 1e9)):
        settings = GrowthSettings(growth=growth)
        table = make_categories(0, 3000)
        grow_both(table, settings, [500, 2000], n_threads, tail=tail)
        given = draw_rows(0, table, (0, 1000, 3000), tail)
        grow_together(table, settings, given, top_k=1, n_threads=n_threads, cuts=[500, 2000])
        grow_shared(table.make_whole, table.mapper, settings, given.gradients, n_peers=2)
    assert count_signatures() == warm


@pytest.mark.parametrize("loss", ["quantile", "huber", "poisson", "multinomial", "two hubers"])
@pytest.mark.parametrize("weighted", [False, True])
def test_nothing_is_left_to_compile_among_peers(warm, loss, weighted):
    for n_threads, few_keys in ((1, 0), (2, 1 << 16)):
        with patch.multiple(peer_locations, _FEW_KEYS=few_keys, _MOST_KEYS=few_keys):
            Problem(1, LOSSES[loss], weighted).compare([0, 0, 150, 260], [200], n_threads)
    assert count_signatures() == warm


@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
def test_nothing_is_left_to_compile_for_draws_among_peers(warm, sampler):
    for n_threads in (1, 2):
        Rows(SCATTERED.n_rows, 0, n_outputs=2).draw_together(
            sampler, SCATTERED, n_threads=n_threads
        )
    assert count_signatures() == warm


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int16])
def test_nothing_is_left_to_compile(warm, growth, kind, monkeypatch):
    monkeypatch.setattr(jobs, "count_cpus", lambda: 2)
    monkeypatch.setattr(jobs, "STEPS_PER_THREAD", 1)
    monkeypatch.setattr(jobs, "count_growers", lambda n_values: 99)
    X = np.random.default_rng(0).normal(scale=50, size=(3000, 5)).astype(kind)
    if kind is not np.int16:
        X[::7] = np.nan
    for y in (X[:, 1] > 0, np.digitize(X[:, 1], (-20, 20))):
        model = GradientBoostingClassifier(growth=growth, n_estimators=3, columns=Columns(0.5))
        model.fit(np.asfortranarray(X), y, sample_weight=np.arange(3000))
        model.predict(X)
        list(model.staged_predict(X[:10]))
    model = GradientBoostingRegressor(growth=growth, n_estimators=3, verbose=True, n_jobs=1)
    model.fit(X, np.arange(3000)).predict(X[:1])
    model.compile()(X[0])
    model.set_params(monotonic_cst=[0, -1, 0, 0, 1], interaction_cst=[[0, 1]])
    model.fit(X, np.arange(3000))
    for loss in REGRESSION_LOSSES:
        model = GradientBoostingRegressor(growth=growth, n_estimators=2, loss=loss, n_jobs=2)
        model.fit(X, np.linspace(0.1, 0.9, 3000)).predict(X[:1])
        model.set_params(multi_strategy="multi_output_tree")
        model.fit(X, np.random.default_rng(0).random((3000, 3))).predict(X)
    codes = np.abs(X).round()
    model = GradientBoostingRegressor(
        growth=growth, n_estimators=3, categorical_features=[1, 3], sampler=Subsample()
    )
    model.fit(codes, np.arange(3000))
    model.apply(codes)
    model.set_params(monotonic_cst=[0, 0, 1, 0, -1], loss="quantile").fit(codes, np.arange(3000))
    for rows in (codes, codes[:1]):
        model.predict(rows)
    for loss in ("linear", "square"):
        AdaBoostRegressor(n_estimators=2, loss=loss).fit(X, X[:, 1] > 0).predict(X)
    for labels in (X[:, 1] > 0, np.digitize(X[:, 1], (-20, 20))):
        AdaBoostClassifier(n_estimators=2).fit(X, labels).predict(X[:1])
        for forest in (RandomForestClassifier, ExtraTreesClassifier):
            model = forest(2, bootstrap=True, oob_score=True, random_state=0).fit(X, labels)
            model.predict(X[:1])
    numbers = X[:, 1] > 0
    for y in (numbers, np.column_stack([numbers, numbers])):
        model = ExtraTreesRegressor(2, criterion="poisson", min_samples_leaf=3, max_leaf_nodes=9)
        model.set_params(categorical_features=[1, 3]).fit(codes, y).predict(codes)
        for params in ({"prune": "oob"}, {"leaf_posterior": "oob"}, {"ccp_alpha": 0.01}):
            model = RandomForestRegressor(2, random_state=0, **params).fit(X, y)
            model.apply(X)
    model.oob_importances(X, y)
    tree = DecisionTreeClassifier(monotonic_cst=[0, 1, 0, 0, 0], splitter="random")
    tree.fit(X, numbers).tree_.value.sum()
    for sampling in ("bootstrap", "pasting", "poisson", "bayesian"):
        BaggingClassifier(n_estimators=2, sampling=sampling, votes="hard").fit(X, labels)
    assert count_signatures() == warm


@pytest.mark.parametrize("kind", [GradientBoostingClassifier, GradientBoostingRegressor])
def test_nothing_is_left_to_compile_for_defaults(warm, kind, monkeypatch):
    """They measure how many rounds they need, and classes have statistics of their categories."""
    monkeypatch.setattr(jobs, "count_cpus", lambda: 2)
    monkeypatch.setattr(jobs, "STEPS_PER_THREAD", 1)
    monkeypatch.setattr(jobs, "count_growers", lambda n_values: 99)
    rng = np.random.default_rng(0)
    X, y = np.round(rng.normal(scale=3, size=(300, 3))), rng.integers(2, size=300)
    for weight in (None, np.arange(300)):
        kind(categorical_features=[1]).fit(X, y, weight).predict(X)
    assert count_signatures() == warm


def test_no_explanation_is_left(warm):
    rng = np.random.default_rng(0)
    X, labels = rng.integers(0, 9, (600, 4)).astype(np.float32), rng.integers(0, 3, 600)
    params = {"n_estimators": 2, "categorical_features": [1]}
    boosting = GradientBoostingClassifier(growth="symmetric", max_depth=3, **params)
    forest = RandomForestClassifier(**params)
    for model in (boosting.fit(X, labels).ensemble_, forest.fit(X, labels).forest_):
        with Team(2) as team:
            for explain, background in product((shap_values, shap_interactions), (None, X[:3])):
                explain(model, X, team, background)
    assert count_signatures() == warm


@pytest.mark.parametrize("growth", ["depth", "symmetric"])
@pytest.mark.parametrize("splits", ["histogram", "approx", "exact"])
def test_no_combination_of_tables_and_constraints_is_left(warm, growth, splits):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 9, (500, 4)).astype(float)
    gaps = csr_matrix(np.where(codes < 3, codes, 0.0))
    for X, categories in ((codes, None), (codes, [0, 2]), (gaps, None)):
        for params in ({}, {"monotonic_cst": [0, 1, 0, -1]}, {"interaction_cst": [[0, 1]]}):
            model = GradientBoostingRegressor(n_estimators=2, growth=growth, splits=splits)
            model.set_params(categorical_features=categories, **params)
            model.fit(X, codes.sum(axis=1)).predict(X)
    assert count_signatures() == warm


def test_steps_run_in_processes():
    assert list(_run_phases([[], ["AdaBoost"]], 2)) == ["AdaBoost"]
