"""Automatic parameters: what ``fit`` chooses, and what it leaves as it was."""

import io

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import sumwise
from sumwise import (
    Columns,
    Dart,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LinearLeaves,
    Subsample,
)
from sumwise.errors import ParameterError
from sumwise.estimators.boosting.automatic import (
    PLAIN_VALUES,
    resolve_automatic,
    with_plain_values,
    with_values,
)
from sumwise.losses import Absolute, Logistic, Multinomial, MultiTarget, Poisson, Squared

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 3))
NUMBERS = X[:, 0] + RNG.normal(size=160)
LABELS = NUMBERS > 0
FRAME = pd.DataFrame(X, columns=list("abc")).assign(d=RNG.choice(["r", "g", "b"], 160))


def resolve(loss, n_rows=10_000, stops_early=False, encodes=None, is_fixed=True, **params):
    model = GradientBoostingRegressor(**params)
    return resolve_automatic(model, n_rows, loss, stops_early, encodes, is_fixed)


@pytest.mark.parametrize(
    ("loss", "n_rounds", "rate", "encoding"),
    [
        (Logistic(), 500, 0.06, {"categorical_encoding": "ordered"}),
        (Multinomial(4), 500, 0.1, {}),
        (Squared(), 1000, 0.0742, {}),
        (MultiTarget([Squared(), Squared()]), 1000, 0.0742, {}),
    ],
)
def test_the_rule(loss, n_rounds, rate, encoding):
    chosen = {"growth": "symmetric", "min_samples_leaf": 1, "learning_rate": rate}
    chosen |= {"n_estimators": n_rounds, "random_state": 0}
    assert resolve(loss) == chosen | encoding
    assert resolve(loss, stops_early=True)["n_estimators"] == 2000
    for encodes, name in ((True, "ordered"), (False, "native")):
        assert resolve(loss, encodes=encodes)["categorical_encoding"] == name


def test_what_a_user_has_set_is_not_chosen():
    assert "categorical_encoding" not in resolve(Logistic(), categorical_encoding="onehot")
    assert "random_state" not in resolve(Squared(), random_state=3)
    for drawn in ({"sampler": "subsample"}, {"columns": Columns(by_tree=0.5)}):
        assert "random_state" not in resolve(Squared(), **drawn)
    assert "random_state" not in resolve(Squared(), is_fixed=False)


def test_more_rows_allow_larger_steps():
    rates = [resolve(Logistic(), n)["learning_rate"] for n in (10, 1000, 10**5, 10**7, 10**9)]
    assert rates == sorted(rates)
    assert rates[-1] == 0.3


@pytest.mark.parametrize(
    "params",
    [
        {"n_estimators": 20},
        {"learning_rate": 0.3},
        {"growth": "depth"},
        {"min_samples_leaf": 5},
    ],
)
def test_one_explicit_value_leaves_plain_values_to_the_others(params):
    others = {name: own for name, own in PLAIN_VALUES.items() if name not in params}
    assert resolve(Squared(), **params) == others


@pytest.mark.parametrize(
    "params",
    [
        {"max_leaves": 8},
        {"max_depth": 3},
        {"leaves": LinearLeaves()},
        {"splits": "exact"},
        {"extra_trees": True},
        {"booster": Dart()},
        {"booster": "linear"},
        {"multi_strategy": "multi_output_tree"},
    ],
)
def test_what_needs_another_shape_has_plain_values(params):
    assert resolve(Squared(), **params) == PLAIN_VALUES


@pytest.mark.parametrize("loss", [Absolute(), Poisson()])
def test_other_losses_have_plain_values(loss):
    assert resolve(loss) == PLAIN_VALUES


def test_nothing_is_chosen_if_all_is_set():
    params = {"growth": "leaf", "min_samples_leaf": 3, "n_estimators": 5, "learning_rate": 0.1}
    model = GradientBoostingRegressor(**params)
    assert with_plain_values(model) is model
    assert resolve(Squared(), **params) == {}


def test_copies_leave_the_estimator_alone():
    model = GradientBoostingRegressor()
    assert with_values(model, {"n_estimators": 3}).n_estimators == 3
    assert model.n_estimators == "auto"


def save(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("kind", "y", "X", "encoding"),
    [
        (GradientBoostingClassifier, LABELS, X, "native"),
        (GradientBoostingRegressor, NUMBERS, X, "native"),
        (GradientBoostingClassifier, LABELS, FRAME, "ordered"),
        (GradientBoostingRegressor, NUMBERS, FRAME, "native"),
    ],
)
def test_a_fit_is_that_of_the_chosen_values(kind, y, X, encoding):
    model = kind().fit(X, y)
    chosen = model.resolved_params_
    assert chosen["growth"] == "symmetric"
    assert chosen["categorical_encoding"] == encoding
    assert model.n_estimators_ == chosen["n_estimators"] < 500
    assert model.get_params() == kind().get_params()
    explicit = kind(**chosen).fit(X, y)
    assert explicit.resolved_params_ == chosen
    assert save(model) == save(explicit)
    assert clone(model).fit(X, y).resolved_params_ == chosen
    assert save(kind().fit(X, y)) == save(model)  # without random_state


def test_samples_that_are_asked_for_differ():
    """As ever, unless they have a seed; so do rows that early stopping holds out."""
    for params in ({"sampler": "subsample"}, {"early_stopping": True}):
        models = [GradientBoostingRegressor(**params).fit(X, NUMBERS) for _ in range(2)]
        assert not np.array_equal(*(model.predict(X) for model in models))
        assert models[0].resolved_params_["random_state"] is None


def test_plain_values_keep_plain_encoding():
    model = GradientBoostingClassifier(n_estimators=3).fit(FRAME, LABELS)
    assert model.resolved_params_["categorical_encoding"] == "native"
    assert GradientBoostingClassifier(loss="exponential").fit(FRAME, LABELS)._encoder is None


def test_a_file_has_the_chosen_values():
    model = GradientBoostingRegressor().fit(X, NUMBERS)
    again = sumwise.load(io.BytesIO(save(model)))
    assert again.get_params()["n_estimators"] == model.n_estimators_
    assert again.resolved_params_ == model.resolved_params_


def test_a_failed_fit_leaves_no_choice():
    model = GradientBoostingRegressor().fit(X, NUMBERS)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, np.full(160, np.nan))
    with pytest.raises(AttributeError):
        _ = model.resolved_params_


def test_early_stopping_takes_the_rounds_it_needs():
    model = GradientBoostingClassifier(early_stopping=True, random_state=0).fit(X, LABELS)
    assert model.resolved_params_["n_estimators"] == 2000
    assert model.n_estimators_ < 500


def test_continuing():
    at_once = GradientBoostingClassifier().fit(X, LABELS)
    chosen, n_rounds = at_once.resolved_params_, at_once.n_estimators_
    first = GradientBoostingClassifier(**chosen | {"n_estimators": n_rounds - 50}).fit(X, LABELS)
    whole = GradientBoostingClassifier().fit(X, LABELS, init_model=first)
    assert save(whole) == save(at_once)
    with pytest.raises(ParameterError, match=rf"means {n_rounds} rounds .* has {n_rounds} already"):
        GradientBoostingClassifier().fit(X, LABELS, init_model=whole)
    with pytest.raises(ParameterError, match=f"'auto' means {n_rounds} rounds"):
        whole.set_params(warm_start=True).fit(X, LABELS)


def test_folds_share_the_choice():
    result = sumwise.cv(GradientBoostingRegressor(), X, NUMBERS, cv=2, return_estimator=True)
    rates = {model.resolved_params_["learning_rate"] for model in result.estimators}
    assert rates == {resolve(Squared(), 160)["learning_rate"]}


def test_refitting_keeps_the_rate():
    model = GradientBoostingRegressor().fit(X, NUMBERS)
    explicit = GradientBoostingRegressor(**model.resolved_params_).fit(X, NUMBERS)
    found = [each.refit(X, -NUMBERS).predict(X) for each in (model, explicit)]
    assert np.array_equal(*found)


def test_samplers_and_weights_leave_the_choice_alone():
    model = GradientBoostingRegressor(sampler=Subsample(0.5), l2=3.0, random_state=0)
    model.fit(X, NUMBERS)
    assert model.n_estimators_ == model.resolved_params_["n_estimators"]
    assert model.resolved_params_["growth"] == "symmetric"


@pytest.mark.parametrize(
    "params", [{"n_estimators": "many"}, {"learning_rate": "fast"}, {"min_samples_leaf": "few"}]
)
def test_other_words_are_refused(params):
    (name,) = params
    with pytest.raises(ParameterError, match=name):
        GradientBoostingRegressor(**params).fit(X, NUMBERS)
