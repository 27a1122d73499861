"""Every growth policy with every sampler, booster, kind of categories and kind of constraints.

A part that is new gets a line in a list below; a combination that cannot be gets a reason in
``find_reason``, a part of the message that ``fit`` must give.
"""

from itertools import product

import numpy as np
import pytest

from sumwise import (
    BayesianBootstrap,
    ClassSubsample,
    Dart,
    Forest,
    Goss,
    GradientBoostingClassifier,
    GroupSubsample,
    Linear,
    Mvs,
    Native,
    Plain,
    Subsample,
    load,
)
from sumwise.errors import ParameterError

N_ROWS = 120

GROWTHS = ["leaf", "depth", "symmetric"]
SAMPLERS = [
    None,
    Subsample(0.6),
    Goss(0.3, 0.3),
    Mvs(0.6),
    BayesianBootstrap(),
    ClassSubsample({"yes": 0.7}),
    GroupSubsample(0.6),
]
BOOSTERS = [
    "plain",
    Plain(trees_per_round=2),
    Dart(0.5, skip_drop=0.0),
    Forest(),
    Linear(l2=0.01),
]
CATEGORIES = {
    "numbers": {"categorical_features": None},
    "native": {
        "categorical_features": [2],
        "categorical_encoding": Native(smoothing=0.0, min_rows=2),
    },
}
CONSTRAINTS = {
    "free": {},
    "monotone": {"monotonic_cst": [1, 0, 0, 0]},
    "interactions": {"interaction_cst": [[0, 2], [1, 3]]},
}


def find_reason(booster, categories, constraints):
    """Why a combination is refused, None if it is not."""
    if isinstance(booster, Linear):
        if constraints != "free":
            return "booster='linear' has no trees, and (monotonic|interaction)_cst is about"
        if categories != "numbers":
            return "feature 2 is categorical, and booster=Linear.* takes numbers"
    return None


def make_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 4)).round(1)
    X[:, 2] = rng.integers(0, 6, N_ROWS)
    score = X[:, 0] + np.sin(3 * X[:, 1]) + (X[:, 2] % 2) + 0.3 * rng.normal(size=N_ROWS)
    X[rng.random(N_ROWS) < 0.1, 0] = np.nan
    return X, np.where(score > 0.5, "yes", "no"), np.arange(N_ROWS) // 4


X, Y, GROUPS = make_data()
CELLS = list(product(range(len(BOOSTERS)), CATEGORIES, CONSTRAINTS))


def fit(booster, categories, constraints, growth, sampler, n_jobs=1):
    model = GradientBoostingClassifier(
        booster=booster,
        sampler=sampler,
        growth=growth,
        n_estimators=3,
        learning_rate=0.5,
        min_samples_leaf=2,
        max_depth=3,
        random_state=0,
        n_jobs=n_jobs,
        **CATEGORIES[categories],
        **CONSTRAINTS[constraints],
    )
    return model.fit(X, Y, groups=GROUPS)


@pytest.mark.parametrize(
    ("booster", "categories", "constraints"),
    [(BOOSTERS[k], *rest) for k, *rest in CELLS],
    ids=["-".join([repr(BOOSTERS[k]), *rest]) for k, *rest in CELLS],
)
def test_any_combination(booster, categories, constraints, tmp_path, bytes_of, monkeypatch):
    monkeypatch.setattr("sumwise.estimators.input.jobs.count_cpus", lambda: 3)
    monkeypatch.setattr("sumwise.estimators.input.jobs.STEPS_PER_THREAD", 1)
    monkeypatch.setattr("sumwise.estimators.input.jobs.count_growers", lambda n_values: 99)
    cell = booster, categories, constraints
    reason = find_reason(*cell)
    if reason is not None:
        for growth, sampler in product(GROWTHS, SAMPLERS):
            with pytest.raises(ParameterError, match=reason):
                fit(*cell, growth, sampler)
        return
    found = set()
    for growth, sampler in product(GROWTHS, SAMPLERS):
        model = fit(*cell, growth, sampler)
        expected = model.predict_proba(X)
        assert np.isfinite(expected).all()
        assert model.score(X, Y) > (0.5 if isinstance(booster, Linear) else 0.65)
        saved = bytes_of(model)
        assert np.array_equal(load(tmp_path / "model.sumwise").predict_proba(X), expected)
        assert bytes_of(fit(*cell, growth, sampler, n_jobs=3)) == saved
        if constraints == "monotone":
            assert_monotone(model)
        found.add(expected.tobytes())
    n_growths = 1 if isinstance(booster, Linear) else 2  # leaf- and level-wise may be the same
    assert len(found) >= n_growths * (len(SAMPLERS) - 2)


def assert_monotone(model):
    rows = X[:15].repeat(20, axis=0)
    rows[:, 0] = np.tile(np.linspace(-3, 3, 20), 15)
    scores = model.decision_function(rows).reshape(15, 20)
    assert np.all(np.diff(scores, axis=1) >= 0)
