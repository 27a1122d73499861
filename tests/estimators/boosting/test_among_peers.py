"""Fits among peers have the bytes of a fit on all rows, wherever the rows are."""

import io
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise import (
    ClassSubsample,
    Columns,
    Dart,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    GroupSubsample,
    Mvs,
    Subsample,
    TargetStatistics,
)
from sumwise.errors import DataError, ParameterError, SumwiseError
from sumwise.estimators.boosting import measured_rounds
from sumwise.estimators.boosting.among_peers import Part, check_peer_fit, fit_among_peers
from tests.threaded_peers import run_together

N_ROWS = 420


def make_frame(n_rows=N_ROWS, seed=0):
    rng = np.random.default_rng(seed)
    own = pd.DataFrame(rng.normal(size=(n_rows, 3)).astype(np.float32), columns=list("abc"))
    own["few"] = rng.integers(0, 4, n_rows)
    own["color"] = rng.choice(["red", "green", "blue", None], n_rows)
    own.loc[rng.random(n_rows) < 0.1, "b"] = np.nan
    score = own.a + own.b.fillna(1) * own.few + (own.color == "red") + rng.normal(size=n_rows)
    targets = {
        "label": np.where(score > 0, "yes", "no"),
        "kind": np.digitize(score, [-1, 1]),
        "amount": np.exp(score / 3).to_numpy(),
        "two": np.column_stack([score, score * own.a]),
    }
    return own, targets


FRAME, TARGETS = make_frame()
VALID, VALID_TARGETS = make_frame(150, seed=1)
RNG = np.random.default_rng(2)
WEIGHT = RNG.integers(0, 3, N_ROWS).astype(float)
GROUPS = RNG.integers(0, 40, N_ROWS)
SCORES = RNG.normal(size=N_ROWS)

# Parameters, and names of further arguments of ``fit``.
CLASSIFIERS = {
    "leaf": ({}, ""),
    "depth": ({"growth": "depth"}, ""),
    "symmetric": ({"growth": "symmetric"}, ""),
    "weights": ({}, "weight"),
    "goss": ({"sampler": "goss"}, ""),
    "subsample": ({"sampler": Subsample(0.5)}, "weight"),
    "bayesian": ({"sampler": "bayesianbootstrap"}, "weight"),
    "classes": ({"sampler": ClassSubsample({"no": 0.5}, reweigh=True)}, ""),
    "groups": ({"sampler": GroupSubsample(0.5)}, "groups"),
    "oob": ({"sampler": "subsample", "early_stopping": "oob", "n_iter_no_change": 2}, ""),
    "dart": ({"booster": Dart(drop_rate=0.5)}, ""),
    "forest": ({"booster": "forest", "sampler": "subsample"}, ""),
    "held out": ({"early_stopping": True, "n_iter_no_change": 2}, "weight"),
    "held out at the end": ({"early_stopping": True, "validation_rows": "last"}, ""),
    "held out groups": ({"early_stopping": True}, "groups"),
    "validation": ({"n_iter_no_change": 2}, "validation"),
    "balanced": ({"class_weight": "balanced"}, "weight"),
    "ratio": ({"scale_pos_weight": 3.0}, ""),
    "few bins": ({"max_bins": 7, "columns": Columns(by_tree=0.7)}, "weight"),
    "columns": ({"columns": Columns(by_level=0.7, by_node=0.7)}, ""),
    "monotonic": ({"monotonic_cst": {"a": 1}}, ""),
    "exponential": ({"loss": "exponential"}, ""),
    "one hot": ({"categorical_encoding": "onehot"}, ""),
    "numbers as categories": ({"categorical_features": ["few", "color"]}, ""),
    "rates": ({"learning_rate": [0.3, 0.2, 0.1, 0.1, 0.1], "extra_trees": True}, ""),
    "measured": ({"track_training_loss": True}, "weight"),
    "initial scores": ({}, "scores"),
}
REGRESSORS = {
    "squared": ({}, "weight"),
    "absolute": ({"loss": "absolute_error"}, ""),
    "quantile": ({"loss": "quantile"}, "weight"),
    "huber": ({"loss": "huber"}, "weight"),
    "poisson": ({"loss": "poisson"}, "scores"),
    "gamma": ({"loss": "gamma", "sampler": "subsample"}, ""),
    "tweedie": ({"loss": "tweedie"}, "weight"),
    "refitted": (
        {"loss": "absolute_error", "sampler": "goss", "growth": "symmetric"},
        "validation",
    ),
}


def make(kind, params):
    shared = {"n_estimators": 5, "random_state": 3, "max_leaves": 8, "learning_rate": 0.3}
    return kind(**{**shared, **params})


def save(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def cut(X, y, ends, owners, n_peers, **others):
    """Return the partitions of each peer; partition k ends before row ends[k]."""
    own = [[] for _ in range(n_peers)]
    for number, (first, last) in enumerate(zip([0, *ends], [*ends, len(X)], strict=True)):
        rows = slice(first, last)
        more = {name: values[rows] for name, values in others.items()}
        X_part = X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]
        own[owners[number % len(owners)] % n_peers].append(Part(number, X_part, y[rows], **more))
    return own


def name_arguments(names):
    """Return the arguments of ``fit`` for names, and those of partitions."""
    own = {}
    if "weight" in names:
        own["sample_weight"] = WEIGHT
    if "groups" in names:
        own["groups"] = GROUPS
    if "scores" in names:
        own["init_score"] = SCORES
    return own


def fit_both(kind, params, target, names="", ends=(100, 100, 250), owners=(0, 1, 2, 0), n_peers=3):
    """Return the bytes of a fit on all rows, and of those of all peers."""
    own = name_arguments(names)
    y = TARGETS[target]
    valid, sets = {}, [{} for _ in range(n_peers)]
    if "validation" in names:
        y_val = VALID_TARGETS[target]
        valid = {"X_val": VALID, "y_val": y_val}
        cut_sets = cut(VALID, y_val, (70,), owners[::-1], n_peers)
        sets = [{"validation": parts} for parts in cut_sets]
    alone = make(kind, params).fit(FRAME, y, **own, **valid)
    parts = cut(FRAME, y, ends, owners, n_peers, **own)

    def work(peers):
        model = make(kind, params)
        fitted = fit_among_peers(model, parts[peers.rank], peers, sets=sets[peers.rank])
        assert fitted is model
        return model

    return alone, run_together(n_peers, work)


def assert_same(alone, models):
    for model in models:
        assert set(model.history_) == set(alone.history_)
        for name, values in alone.history_.items():
            np.testing.assert_array_equal(model.history_[name], values)
        assert model.ensemble_.n_rounds == alone.ensemble_.n_rounds
        assert save(model) == save(alone)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifier_has_the_bytes_of_a_fit_on_all_rows(name):
    params, names = CLASSIFIERS[name]
    assert_same(*fit_both(GradientBoostingClassifier, params, "label", names))


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressor_has_the_bytes_of_a_fit_on_all_rows(name):
    params, names = REGRESSORS[name]
    assert_same(*fit_both(GradientBoostingRegressor, params, "amount", names))


def test_several_classes_and_targets():
    assert_same(*fit_both(GradientBoostingClassifier, {}, "kind", "weight"))
    assert_same(*fit_both(GradientBoostingRegressor, {}, "two", "weight"))


@given(data=st.data())
@settings(max_examples=12, deadline=None)
def test_places_of_rows_do_not_matter(data):
    """Any partitions, also empty ones, on any peers, some of which have no rows."""
    n_peers = data.draw(st.integers(1, 4))
    n_cuts = data.draw(st.integers(0, 5))
    ends = sorted(data.draw(st.lists(st.integers(0, N_ROWS), min_size=n_cuts, max_size=n_cuts)))
    owners = data.draw(st.lists(st.integers(0, 3), min_size=n_cuts + 1, max_size=n_cuts + 1))
    names = data.draw(st.sampled_from(["", "weight", "weight groups", "validation"]))
    params = data.draw(
        st.sampled_from(
            [
                {},
                {"sampler": "goss", "growth": "depth"},
                {"sampler": "subsample", "growth": "symmetric"},
                {"early_stopping": True},
            ]
        )
    )
    target = data.draw(st.sampled_from(["label", "kind"]))
    places = (ends, owners, n_peers)
    assert_same(*fit_both(GradientBoostingClassifier, params, target, names, *places))


def test_arrays():
    X, y = FRAME[["a", "b", "c"]].to_numpy(), TARGETS["kind"]
    alone = make(GradientBoostingClassifier, {}).fit(X, y)
    parts = cut(X, y, (200,), (1, 0), 2)

    def work(peers):
        return fit_among_peers(make(GradientBoostingClassifier, {}), parts[peers.rank], peers)

    assert_same(alone, run_together(2, work))


def test_a_fit_is_continued():
    first = make(GradientBoostingClassifier, {"n_estimators": 3}).fit(FRAME, TARGETS["label"])
    alone = make(GradientBoostingClassifier, {}).fit(FRAME, TARGETS["label"])
    parts = cut(FRAME, TARGETS["label"], (200, 300), (1, 0, 2), 4)

    def work(peers):
        model = make(GradientBoostingClassifier, {})
        return fit_among_peers(model, parts[peers.rank], peers, init_model=first)

    assert_same(alone, run_together(4, work))


def test_threads_and_limits_do_not_matter(tmp_path):
    alone = make(GradientBoostingClassifier, {}).fit(FRAME, TARGETS["label"])
    parts = cut(FRAME, TARGETS["label"], (200,), (1, 0), 2)

    def work(peers):
        model = make(GradientBoostingClassifier, {"n_jobs": 2 + peers.rank})
        own = {"memory_limit": "30MB", "cache_dir": tmp_path}
        return fit_among_peers(model, parts[peers.rank], peers, **own)

    models = run_together(2, work)
    for model in models:
        model.set_params(n_jobs=alone.n_jobs)
    assert_same(alone, models)
    assert list(tmp_path.iterdir()) == []


# Errors: the same on all peers, and nobody waits


def fit_alike(parts, params=None, sets=None, kind=GradientBoostingClassifier):
    """Fit on the partitions of each peer; return the messages of their errors."""

    def work(peers):
        own = None if sets is None else sets[peers.rank]
        try:
            fit_among_peers(make(kind, params or {}), parts[peers.rank], peers, sets=own)
        except SumwiseError as error:
            return f"{type(error).__name__}: {error}"
        return "fitted"

    return run_together(len(parts), work)


def change(y, row, value):
    changed = y.astype(object)
    changed[row] = value
    return changed


LABEL = TARGETS["label"]
BAD = {
    "labels of two types": (
        lambda: cut(FRAME, change(LABEL, 400, 7), (200,), (0, 1), 2),
        "mixes labels of different types",
    ),
    "missing label": (
        lambda: cut(FRAME, change(LABEL, 400, None), (200,), (0, 1), 2),
        "y of partition 1 contains NaN",
    ),
    "negative weight": (
        lambda: cut(FRAME, LABEL, (200,), (0, 1), 2, sample_weight=np.where(WEIGHT < 1, -1.0, 1)),
        "sample_weight of partition 0",
    ),
    "no weight": (
        lambda: cut(FRAME, LABEL, (200,), (0, 1), 2, sample_weight=np.zeros(N_ROWS)),
        "all sample weights are zero",
    ),
    "weights of one partition": (
        lambda: [[Part(0, FRAME, LABEL, WEIGHT)], [Part(1, FRAME, LABEL)]],
        "sample_weight.*partition",
    ),
    "unequal lengths": (
        lambda: [[Part(0, FRAME, LABEL)], [Part(1, FRAME, LABEL[:-1])]],
        "partition 1 has 420 rows in X, and 419 in y",
    ),
    "other columns": (
        lambda: [[Part(0, FRAME, LABEL)], [Part(1, FRAME[["a", "b"]], LABEL)]],
        "partition 1 has no column 'c'",
    ),
    "no rows at all": (lambda: [[], []], "X is empty"),
    "one class": (
        lambda: cut(FRAME, np.full(N_ROWS, "yes"), (200,), (0, 1), 2),
        "fitted",  # as on one machine: a constant
    ),
    "infinite scores": (
        lambda: cut(FRAME, LABEL, (200,), (0, 1), 2, init_score=np.where(SCORES > 2, np.inf, 0)),
        "init_score must be finite",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_errors_are_those_of_all(name):
    make_parts, message = BAD[name]
    found = fit_alike(make_parts())
    assert len(set(found)) == 1
    assert re.search(message, found[0]), found[0]


def test_unknown_labels_of_a_validation_set():
    parts = cut(FRAME, LABEL, (200,), (0, 1), 2)
    y_val = change(VALID_TARGETS["label"], 100, "perhaps")
    sets = [{"validation": own} for own in cut(VALID, y_val, (70,), (0, 1), 2)]
    found = fit_alike(parts, sets=sets)
    assert len(set(found)) == 1
    assert "y_val has classes that are not among those to learn: ['perhaps']" in found[0]


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("splits", {"splits": "exact"}),
        ("leaves", {"leaves": "linear"}),
        ("booster", {"booster": "linear"}),
        ("booster", {"booster": "ordered"}),
        ("sampler", {"sampler": Mvs()}),
        ("scoring", {"scoring": "roc_auc"}),
        ("calibrate", {"calibrate": "isotonic"}),
        ("max_bins", {"max_bins": 1000, "splits": "histogram"}),
    ],
)
def test_what_is_not_available_is_refused_by_name(name, params):
    with pytest.raises(ParameterError, match=rf"{name}=.*among several processes"):
        check_peer_fit(make(GradientBoostingClassifier, params))


@pytest.mark.parametrize("kind", [GradientBoostingClassifier, GradientBoostingRegressor])
def test_defaults_split_by_sets_of_categories(kind, monkeypatch):
    """There are no statistics of the target; the rounds are measured by all peers alike."""
    monkeypatch.setattr(measured_rounds, "_PATIENCE", 3)
    monkeypatch.setattr(measured_rounds, "_FEWEST", 2)
    y = np.random.default_rng(5).permutation(np.arange(N_ROWS) % 2)
    alone = kind(categorical_encoding="native").fit(FRAME, y)
    parts = cut(FRAME, y, (100, 250), (0, 1), 2)
    models = run_together(2, lambda peers: fit_among_peers(kind(), parts[peers.rank], peers))
    assert_same(alone, models)
    assert models[0].resolved_params_ == alone.resolved_params_


def test_statistics_of_the_target_are_refused():
    parts = cut(FRAME, LABEL, (200,), (0, 1), 2)
    found = fit_alike(parts, {"categorical_encoding": TargetStatistics()})
    assert len(set(found)) == 1
    assert "categorical_encoding" in found[0]
    assert "among several processes" in found[0]


def test_a_failed_fit_leaves_no_attributes():
    models = [make(GradientBoostingClassifier, {}).fit(FRAME, LABEL) for _ in range(2)]
    parts = cut(FRAME, change(LABEL, 400, None), (200,), (0, 1), 2)

    def work(peers):
        fit_among_peers(models[peers.rank], parts[peers.rank], peers)

    with pytest.raises(DataError, match="contains NaN"):
        run_together(2, work)
    assert not any(hasattr(model, "classes_") for model in models)


# Ways to share the work


def fit_parallel(X, y, params, n_peers=3, **options):
    ends, owners = (100, 100, 250), (0, 1, 2, 0)
    parts = cut(X, y, ends, owners, n_peers)

    def work(peers):
        model = make(GradientBoostingClassifier, params)
        return fit_among_peers(model, parts[peers.rank], peers, **options)

    return run_together(n_peers, work)


def test_voting_on_all_features_is_exact():
    alone = make(GradientBoostingClassifier, {}).fit(FRAME, LABEL)
    assert_same(alone, fit_parallel(FRAME, LABEL, {}, parallel="voting", top_k=3))


def test_voting_is_an_approximation_that_all_share():
    models = fit_parallel(FRAME, LABEL, {"n_estimators": 20}, parallel="voting", top_k=1)
    assert len({save(model) for model in models}) == 1
    assert models[0].score(VALID, VALID_TARGETS["label"]) > 0.7


def test_unknown_ways_are_refused():
    with pytest.raises(ParameterError, match="parallel='rows' must be one of data, voting"):
        fit_parallel(FRAME, LABEL, {}, parallel="rows")


@pytest.mark.parametrize("name", ["leaf", "depth", "symmetric", "held out", "columns", "goss"])
def test_feature_parallel_is_exact(name):
    params, names = CLASSIFIERS[name]
    alone = make(GradientBoostingClassifier, params).fit(FRAME, LABEL, **name_arguments(names))
    parts = cut(FRAME, LABEL, (100, 300), (0, 1), 3, **name_arguments(names))
    told = []

    def work(peers):
        model = make(GradientBoostingClassifier, params)
        model.set_params(callbacks=[lambda state: told.append(peers.rank)])
        fit_among_peers(model, parts[peers.rank], peers, parallel="feature")
        return model.set_params(callbacks=None)

    models = run_together(3, work)
    for model in models:
        model.history_ = {key: model.history_[key] for key in alone.history_}
    assert_same(alone, models)
    assert set(told) == {0}


def test_feature_parallel_with_a_random_seed_and_validation_rows():
    parts = cut(FRAME, LABEL, (200,), (0, 1), 2)
    sets = [{"validation": own} for own in cut(VALID, VALID_TARGETS["label"], (70,), (1, 0), 2)]

    def work(peers):
        model = make(GradientBoostingClassifier, {"random_state": None, "sampler": "subsample"})
        own = {"sets": sets[peers.rank], "parallel": "feature"}
        return fit_among_peers(model, parts[peers.rank], peers, **own)

    first, second = run_together(2, work)
    assert save(first) == save(second)
