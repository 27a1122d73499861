import numpy as np

from sumwise.kernels.explain.values import make_quadrature


def test_rules_are_exact_for_polynomials() -> None:
    rules = make_quadrature(12)
    for n_points in range(1, 13):
        t, w = rules.point[n_points, :n_points], rules.weight[n_points, :n_points]
        for degree in range(2 * n_points):
            np.testing.assert_allclose(w @ t**degree, 1 / (degree + 1), rtol=1e-13)
