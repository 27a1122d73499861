"""Members that learn from noisy targets."""

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sumwise import OutputFlippingClassifier, OutputSmearingRegressor, member_predictions
from sumwise.errors import DataError, DataWarning, ParameterError
from sumwise.estimators.resampled.output_noise import NoiseRecipe
from tests.estimators.resampled.learners import Recorder

X, Y = load_iris(return_X_y=True)
X_NUMBER, Y_NUMBER = load_diabetes(return_X_y=True)


def make_recipe(model, y):
    model.classes_ = np.unique(y)
    return NoiseRecipe(None, 0, {}, True, None, *model._find_noise(y, None))


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.3])
def test_flips_keep_the_proportions_and_have_their_rate(rate):
    y = np.repeat([0, 1, 2], [5000, 3000, 2000])
    recipe = make_recipe(OutputFlippingClassifier(flip_rate=rate), y)
    q = np.array([0.5, 0.3, 0.2])
    # Breiman: label j becomes i with probability w q_i.
    w = rate / (1 - (q**2).sum())
    for j, row in enumerate(recipe.flips):
        others = np.arange(3) != j
        np.testing.assert_allclose(row[others], w * q[others])
    np.testing.assert_allclose(recipe.flips.sum(axis=1), 1)
    np.testing.assert_allclose(q @ recipe.flips, q)
    flipped = np.array([recipe.disturb(number, y) for number in range(10)])
    assert (flipped != y).mean() == pytest.approx(rate, abs=0.01)
    np.testing.assert_allclose(np.bincount(flipped.ravel()) / flipped.size, q, atol=0.01)
    if rate > 0.0:
        assert not np.array_equal(flipped[0], flipped[1])


def test_a_rate_that_the_proportions_forbid_is_lowered():
    y = np.repeat([0, 1], [95, 5])
    model = OutputFlippingClassifier(flip_rate=0.3)
    with pytest.warns(DataWarning, match=r"at most 0\.1 of the labels"):
        recipe = make_recipe(model, y)
    np.testing.assert_allclose(recipe.flips[1], [1, 0], atol=1e-12)
    np.testing.assert_allclose(np.array([0.95, 0.05]) @ recipe.flips, [0.95, 0.05])
    assert model.flip_rate_ == pytest.approx(0.1)


def test_smearing_adds_its_share_of_noise():
    model = OutputSmearingRegressor(noise=0.5)
    y = np.column_stack([Y_NUMBER, 100 * Y_NUMBER])
    recipe = NoiseRecipe(None, 0, {}, True, None, *model._find_noise(y, None))
    noise = np.array([recipe.disturb(number, y) - y for number in range(20)])
    np.testing.assert_allclose(noise.std(axis=(0, 1)) / y.std(axis=0), 0.5, rtol=0.05)
    np.testing.assert_allclose(noise.mean(axis=(0, 1)) / y.std(axis=0), 0, atol=0.03)
    assert abs(np.corrcoef(noise[:, :, 0].ravel(), noise[:, :, 1].ravel())[0, 1]) < 0.05


def test_without_noise_members_are_the_base_learner():
    smeared = OutputSmearingRegressor(LinearRegression(), 3, noise=0.0).fit(X_NUMBER, Y_NUMBER)
    plain = LinearRegression().fit(X_NUMBER, Y_NUMBER)
    np.testing.assert_allclose(smeared.predict(X_NUMBER), plain.predict(X_NUMBER))
    labels = np.array(["no", "perhaps", "yes"])[Y]
    flipped = OutputFlippingClassifier(LogisticRegression(max_iter=500), 2, flip_rate=0.0)
    flipped.fit(X, labels)
    same = LogisticRegression(max_iter=500).fit(X, labels)
    np.testing.assert_allclose(flipped.predict_proba(X), same.predict_proba(X))
    np.testing.assert_array_equal(flipped.predict(X), same.predict(X))


def test_noise_helps_trees():
    tree = cross_val_score(DecisionTreeRegressor(random_state=0), X_NUMBER, Y_NUMBER).mean()
    smeared = OutputSmearingRegressor(n_estimators=30, random_state=0)
    assert cross_val_score(smeared, X_NUMBER, Y_NUMBER).mean() > tree + 0.2


@pytest.mark.parametrize(
    "model",
    [
        OutputFlippingClassifier(DecisionTreeClassifier(), 5, random_state=0),
        OutputSmearingRegressor(DecisionTreeRegressor(), 5, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_results_do_not_depend_on_jobs(model):
    one = model.set_params(n_jobs=1).fit(X, Y).predict(X)
    np.testing.assert_array_equal(model.set_params(n_jobs=2).fit(X, Y).predict(X), one)
    assert member_predictions(model, X).values.shape == (150, 5)
    with pytest.raises(TypeError, match="use pickle"):
        model.save("model.sumwise")


def test_weights_and_metadata_reach_members():
    weight = np.linspace(1, 2, len(Y_NUMBER))
    model = OutputSmearingRegressor(Recorder(), 2).fit(X_NUMBER, Y_NUMBER, weight)
    for member in model.estimators_:
        np.testing.assert_array_equal(member.seen_[2], weight)
    with pytest.raises(ParameterError, match="KNeighborsClassifier cannot take sample weights"):
        OutputFlippingClassifier(KNeighborsClassifier(), 2).fit(X, Y, np.ones(150))
    with sklearn.config_context(enable_metadata_routing=True):
        learner = Recorder().set_fit_request(mark=True, sample_weight=True)
        model = OutputSmearingRegressor(learner, 2)
        model.fit(X_NUMBER, Y_NUMBER, sample_weight=weight, mark=weight)
        np.testing.assert_array_equal(model.estimators_[0].mark_, weight)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (OutputFlippingClassifier(flip_rate=1.5), "flip_rate=1.5"),
        (OutputFlippingClassifier(flip_rate=-0.1), "flip_rate=-0.1"),
        (OutputSmearingRegressor(noise=-1), "noise=-1"),
        (OutputSmearingRegressor(n_estimators=0), "n_estimators=0"),
    ],
)
def test_what_cannot_be_is_refused(model, message):
    with pytest.raises(ParameterError, match=message):
        model.fit(X, Y)


def test_one_class_has_nothing_to_flip():
    with pytest.warns(DataWarning, match="at most 0 of the labels"):
        model = OutputFlippingClassifier(n_estimators=2).fit(X, ["a"] * 150)
    assert set(model.predict(X)) == {"a"}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("exponent", [-900, 900])
def test_noise_of_huge_and_tiny_targets_is_as_of_others(exponent):
    y = np.ldexp(Y_NUMBER, exponent)
    model, huge = (OutputSmearingRegressor(n_estimators=3, random_state=0) for _ in range(2))
    expected = model.fit(X_NUMBER, Y_NUMBER).predict(X_NUMBER)
    np.testing.assert_allclose(
        huge.fit(X_NUMBER, y).predict(X_NUMBER), np.ldexp(expected, exponent)
    )
    with pytest.raises(DataError, match="scale y"):
        huge.fit(X_NUMBER, 1e305 * Y_NUMBER)


def test_one_class_only():
    model = OutputFlippingClassifier(n_estimators=3)
    with pytest.warns(DataWarning, match="at most 0 of the labels can be flipped"):
        model.fit(X, ["a"] * 150)
    assert (len(model), model.n_classes_) == (3, 1)
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((150, 1)))
