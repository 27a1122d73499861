"""Learning rates that change from round to round."""

import numpy as np
import pandas as pd
import pytest

from sumwise import (
    Dart,
    Forest,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    Linear,
    Ordered,
    Plain,
    load,
)
from sumwise.errors import ParameterError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4)).round(2)
Y = X[:, 0] - np.sin(2 * X[:, 1]) + 0.3 * RNG.normal(size=200)
THREE = np.digitize(Y, [-0.5, 0.5])
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(e=pd.Categorical(np.arange(200) % 9))
SMALL = {"n_estimators": 8, "min_samples_leaf": 5, "random_state": 0}
RATES = [0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05]


def decay(round_idx):
    return RATES[round_idx]


VARIANTS = {
    "plain": ({}, X),
    "symmetric": ({"growth": "symmetric"}, X),
    "absolute": ({"loss": "absolute_error"}, X),
    "several trees": ({"booster": Plain(2)}, X),
    "dart": ({"booster": Dart(0.5, skip_drop=0.0)}, X),
    "forest": ({"booster": Forest()}, X),
    "linear": ({"booster": Linear()}, X),
    "ordered": ({"booster": Ordered()}, X),
    "permuted": ({"categorical_encoding": "ordered"}, FRAME),
    "monotone": ({"monotonic_cst": [1, 0, 0, 0]}, X),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_one_rate_for_all_rounds_is_a_schedule_too(name):
    params, table = VARIANTS[name]
    models = [
        GradientBoostingRegressor(**SMALL, **params, learning_rate=rate).fit(table, Y)
        for rate in (0.3, lambda round_idx: 0.3, [0.3] * 8, np.full(9, 0.3))
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(model.predict(table), models[0].predict(table))


@pytest.mark.parametrize("name", VARIANTS)
def test_functions_and_sequences_agree(name):
    params, table = VARIANTS[name]
    by_function, by_list, at_once = (
        GradientBoostingRegressor(**SMALL, **params, learning_rate=rate).fit(table, Y)
        for rate in (decay, RATES, RATES[0])
    )
    np.testing.assert_array_equal(by_function.predict(table), by_list.predict(table))
    uses_rates = name != "forest"  # whose trees take whole steps
    changed = np.array_equal(by_list.predict(table), at_once.predict(table))
    assert changed is not uses_rates


def test_rounds_are_those_of_fits_with_their_rates():
    """Going on with another rate each time is the same as a schedule."""
    scheduled = GradientBoostingClassifier(**SMALL, learning_rate=decay).fit(X, THREE)
    model = GradientBoostingClassifier(**SMALL, warm_start=True)
    for k, rate in enumerate(RATES):
        model.set_params(n_estimators=k + 1, learning_rate=rate).fit(X, THREE)
    np.testing.assert_array_equal(scheduled.predict_proba(X), model.predict_proba(X))


def test_a_schedule_can_go_on(bytes_of):
    whole = GradientBoostingRegressor(**SMALL, learning_rate=decay).fit(X, Y)
    model = GradientBoostingRegressor(**SMALL, learning_rate=decay, warm_start=True)
    model.set_params(n_estimators=3).fit(X, Y)
    model.set_params(n_estimators=8).fit(X, Y)
    assert bytes_of(model) == bytes_of(whole)


def test_files_keep_sequences_and_no_functions(tmp_path):
    for rate, expected in ((decay, "auto"), (np.array(RATES), RATES)):
        model = GradientBoostingRegressor(**SMALL, learning_rate=rate).fit(X, Y)
        model.save(tmp_path / "model")
        again = load(tmp_path / "model")
        assert again.learning_rate == expected
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        ([0.1] * 7, "has 7 rates, and there are n_estimators=8 rounds"),
        ([], "has 0 rates"),
        ([0.1] * 7 + [0.0], "of round 7 is 0.0; must be a finite number above 0"),
        (lambda k: "a", "of round 0 is 'a'"),
        (lambda k: np.inf if k else 1.0, "of round 1 is inf"),
        (lambda k: True, "of round 0 is True"),
        ("fast", "learning_rate='fast'; must be a number"),
    ],
)
def test_what_is_no_schedule(rate, message):
    with pytest.raises(ParameterError, match=message):
        GradientBoostingRegressor(**SMALL, learning_rate=rate).fit(X, Y)
