import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.sparse import csr_array
from sklearn.linear_model import LinearRegression

from sumwise.combine.classes import one_hot
from sumwise.combine.stack import (
    average_models,
    fit_responses,
    gather_folds,
    respond,
    solve_nonnegative,
    to_probabilities,
)
from sumwise.errors import DataError


def draw_probabilities(n_rows=9000, n_members=3, n_classes=3, seed=0):
    """Noisy class probabilities of members, side by side, and the classes; more than two blocks."""
    rng = np.random.RandomState(seed)
    class_idx = rng.randint(n_classes, size=n_rows)
    scores = rng.normal(size=(n_members, n_rows, n_classes))
    scores += 2 * one_hot(class_idx, n_classes)
    exp = np.exp(scores)
    return np.hstack(exp / exp.sum(axis=2, keepdims=True)), class_idx


@pytest.mark.parametrize("weighted", [False, True])
def test_responses_are_least_squares_of_each_class(weighted):
    features, class_idx = draw_probabilities()
    weight = np.random.RandomState(1).rand(class_idx.size) if weighted else None
    coef, intercept = fit_responses(features, class_idx, 3, weight)
    for k in range(3):
        model = LinearRegression().fit(features, class_idx == k, sample_weight=weight)
        np.testing.assert_allclose(coef[k], model.coef_, atol=1e-9)
        np.testing.assert_allclose(intercept[k], model.intercept_, atol=1e-9)


def test_without_a_constant_the_norm_is_the_smallest():
    features, class_idx = draw_probabilities(500)
    coef, intercept = fit_responses(features, class_idx, 3, fit_intercept=False)
    marks = one_hot(class_idx, 3)
    np.testing.assert_allclose(coef.T, np.linalg.pinv(features) @ marks, atol=1e-9)
    assert not intercept.any()


def test_for_probabilities_the_constant_changes_no_response():
    features, class_idx = draw_probabilities(500)
    with_constant, without = (
        respond(features, *fit_responses(features, class_idx, 3, fit_intercept=value))
        for value in (True, False)
    )
    np.testing.assert_allclose(with_constant, without, atol=1e-10)


def test_responses_of_probabilities_sum_to_one():
    features, class_idx = draw_probabilities(500)
    responses = respond(features, *fit_responses(features, class_idx, 3))
    np.testing.assert_allclose(responses.sum(axis=1), 1.0)


def test_own_class_only_uses_the_columns_of_the_class():
    features, class_idx = draw_probabilities(500)
    coef, intercept = fit_responses(features, class_idx, 3, own_class_only=True)
    for k in range(3):
        model = LinearRegression().fit(features[:, k::3], class_idx == k)
        np.testing.assert_allclose(coef[k, k::3], model.coef_, atol=1e-9)
        np.testing.assert_allclose(intercept[k], model.intercept_, atol=1e-9)
        assert not np.delete(coef[k], slice(k, None, 3)).any()


def test_own_class_only_needs_a_column_for_each_class():
    with pytest.raises(DataError, match="4 columns, which is not a multiple of the 3 classes"):
        fit_responses(np.zeros((5, 4)), np.array([0, 1, 2, 0, 1]), 3, own_class_only=True)


@pytest.mark.parametrize("own_class_only", [False, True])
def test_nonnegative_coefficients(own_class_only):
    features, class_idx = draw_probabilities(500, n_members=4, seed=3)
    options = {"own_class_only": own_class_only, "fit_intercept": False}
    coef, _ = fit_responses(features, class_idx, 3, nonnegative=True, **options)
    assert (coef >= 0).all()
    for k in range(3):
        own = features[:, k::3] if own_class_only else features
        loss = np.linalg.norm(features @ coef[k] - (class_idx == k))
        assert loss == pytest.approx(nnls(own, (class_idx == k).astype(float))[1], rel=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_nonnegative_least_squares(seed):
    rng = np.random.RandomState(seed)
    matrix = rng.normal(size=(rng.randint(3, 12), rng.randint(1, 10)))
    matrix[:, -1] = matrix[:, 0]  # of equal columns any may be chosen
    target = rng.normal(size=matrix.shape[0])
    x = solve_nonnegative(matrix, target)
    assert (x >= 0).all()
    loss = np.linalg.norm(matrix @ x - target)
    assert loss == pytest.approx(nnls(matrix, target)[1], abs=1e-9)


def test_nonnegative_least_squares_of_nothing_but_bad_columns():
    assert not solve_nonnegative(-np.ones((3, 2)), np.ones(3)).any()


def test_more_columns_than_rows():
    rng = np.random.RandomState(0)
    features = rng.rand(4, 10)
    coef, intercept = fit_responses(features, np.array([0, 1, 0, 1]), 2)
    expected = np.eye(2)[[0, 1, 0, 1]]
    np.testing.assert_allclose(respond(features, coef, intercept), expected, atol=1e-12)


def test_probabilities_of_responses():
    responses = np.array([[1.2, -0.2], [0.3, 0.7], [-0.1, -0.5], [0.0, 0.0], [0.2, 0.2]])
    expected = [[1, 0], [0.3, 0.7], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]
    np.testing.assert_allclose(to_probabilities(responses), expected)


def test_folds_are_gathered_by_row():
    outputs = [np.array([[1.0], [2.0]]), np.array([[3.0], [5.0]])]
    rows = [np.array([3, 0]), np.array([1, 3])]
    values = gather_folds(outputs, rows, 5)
    np.testing.assert_array_equal(values[:, 0], [2.0, 3.0, np.nan, 3.0, np.nan])


def test_models_are_averaged_and_labels_voted_for():
    outputs = [np.array([[0.0], [2.0]]), np.array([[1.0], [2.0]]), np.array([[1.0], [0.0]])]
    np.testing.assert_allclose(average_models(outputs, is_label=False), [[2 / 3], [4 / 3]])
    np.testing.assert_array_equal(average_models(outputs, is_label=True), [[1.0], [2.0]])
    np.testing.assert_array_equal(average_models(outputs[:2], is_label=True), [[0.0], [2.0]])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("exponent", [600, 1010, -600])
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_extreme_features_and_weights(exponent, nonnegative, sparse):
    features, class_idx = draw_probabilities(n_rows=300)
    weight = np.linspace(1.0, 2.0, 300)
    options = {"nonnegative": nonnegative}
    coef, intercept = fit_responses(features, class_idx, 3, weight, **options)
    scaled = np.ldexp(features, exponent)
    scaled = csr_array(scaled) if sparse else scaled
    huge = np.ldexp(weight, 1020)
    found, constant = fit_responses(scaled, class_idx, 3, huge, **options)
    np.testing.assert_allclose(np.ldexp(found, exponent), coef, atol=1e-12)
    np.testing.assert_allclose(constant, intercept, atol=1e-12)


def test_coefficients_beyond_floats_are_refused():
    features, class_idx = draw_probabilities(n_rows=300)
    with pytest.raises(DataError, match="scale them up"):
        fit_responses(features * 1e-310, class_idx, 3)
