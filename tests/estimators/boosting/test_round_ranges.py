"""Predictions by some of the rounds."""

import numpy as np
import pandas as pd
import pytest

from sumwise import Dart, Forest, GradientBoostingClassifier, GradientBoostingRegressor, Plain
from sumwise.errors import ParameterError
from sumwise.estimators.boosting.round_ranges import read_rounds

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4)).round(1)
Y = X[:, 0] - np.sin(2 * X[:, 1]) + 0.3 * RNG.normal(size=200)
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(e=pd.Categorical(np.arange(200) % 9))
THREE = np.digitize(Y, [-0.5, 0.5])
SMALL = {"n_estimators": 8, "min_samples_leaf": 5, "categorical_encoding": "native"}


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        (3, (0, 3)),
        ((2, 5), (2, 5)),
        ([2, 8], (2, 8)),
        (slice(None), (0, 8)),
        (slice(-2, None), (6, 8)),
        (slice(1, np.int64(20)), (1, 8)),
    ],
)
def test_forms(rounds, expected):
    assert read_rounds(rounds, 8) == expected


@pytest.mark.parametrize(
    "rounds", [0, 9, -1, True, 2.0, "3", (0, 9), (3, 3), (-2, 4), (1, 2, 3), slice(8, 9)]
)
def test_what_is_no_range(rounds):
    model = GradientBoostingRegressor(**SMALL).fit(X, Y)
    with pytest.raises(ParameterError, match="rounds="):
        model.predict(X, rounds=rounds)


def test_a_slice_with_a_step():
    with pytest.raises(ParameterError, match="without a step"):
        read_rounds(slice(0, 6, 2), 8)


@pytest.mark.parametrize("booster", [Plain(), Plain(2)])
@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
def test_ranges_add_up_to_the_whole(booster, growth):
    model = GradientBoostingRegressor(**SMALL, booster=booster, growth=growth).fit(FRAME, Y)
    base = model.ensemble_.base_score[0]
    parts = [model.predict(FRAME, rounds=pair) - base for pair in ((0, 3), (3, 4), (4, 8))]
    np.testing.assert_allclose(base + sum(parts), model.predict(FRAME), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(model.predict(FRAME, rounds=3), model.truncate(3).predict(FRAME))
    np.testing.assert_array_equal(model.predict(FRAME, rounds=slice(None)), model.predict(FRAME))


def test_every_prediction_of_a_classifier_takes_rounds():
    model = GradientBoostingClassifier(**SMALL).fit(FRAME, THREE)
    base = model.ensemble_.base_score
    stages = np.array(list(model.staged_decision_function(FRAME)))
    raw = model.decision_function(FRAME, rounds=(2, 6))
    np.testing.assert_allclose(raw, stages[5] - stages[1] + base, atol=1e-12)
    exponents = np.exp(raw)
    shares = exponents / exponents.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(FRAME, rounds=(2, 6)), shares)
    np.testing.assert_allclose(model.predict_log_proba(FRAME, rounds=(2, 6)), np.log(shares))
    np.testing.assert_array_equal(model.predict(FRAME, rounds=(2, 6)), raw.argmax(axis=1))


def test_rounds_of_linear_models_are_steps():
    model = GradientBoostingRegressor(n_estimators=8, booster="linear").fit(X, Y)
    stages = np.array(list(model.staged_predict(X)))
    base = model.ensemble_.base_score[0]
    expected = stages[4] - stages[1] + base
    np.testing.assert_allclose(model.predict(X, rounds=(2, 5)), expected, atol=1e-12)


def test_rounds_of_a_forest_are_averaged():
    model = GradientBoostingRegressor(**SMALL, booster=Forest(), random_state=0).fit(X, Y)
    parts = [model.predict(X, rounds=(k, k + 1)) for k in range(8)]
    np.testing.assert_allclose(np.mean(parts[2:5], axis=0), model.predict(X, rounds=(2, 5)))


def test_rounds_of_dart_are_refused():
    model = GradientBoostingRegressor(**SMALL, booster=Dart(0.5, skip_drop=0.0)).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X, rounds=8), model.predict(X))
    with pytest.raises(ParameterError, match="fewer rounds is not known"):
        model.predict(X, rounds=(1, 8))
