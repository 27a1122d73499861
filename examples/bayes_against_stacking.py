"""Bayesian model averaging against stacking, with and without the true model.

The target is a cubic. If the cubic is among the candidates and there is little noise, posterior
weights find it, and Bayesian averaging is as good as stacking. Without the cubic, posterior weights
concentrate on the closest candidate, while stacking mixes several.
"""

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sumwise import BayesianAveragingRegressor, StackingRegressor

TERMS = {
    "straight": lambda x: x,
    "square": lambda x: x**2,
    "wave": np.sin,
    "cubic": lambda x: np.hstack([x, x**2, x**3]),
}


def make_members(names: list[str]) -> list[tuple[str, object]]:
    """Return linear regressions on terms of x."""
    return [
        (name, make_pipeline(FunctionTransformer(TERMS[name]), LinearRegression()))
        for name in names
    ]


def compare(names: list[str], n_rows: int, noise: float, n_repeats: int) -> dict[str, float]:
    """Return the mean squared distance of both from the true function on new rows."""
    members = make_members(names)
    rng = np.random.default_rng(0)
    totals = {"Bayesian averaging": 0.0, "stacking": 0.0}
    for _ in range(n_repeats):
        x = rng.uniform(-2, 2, size=(n_rows, 1))
        x_new = rng.uniform(-2, 2, size=(1000, 1))
        y = truth(x) + noise * rng.normal(size=n_rows)
        models = {
            "Bayesian averaging": BayesianAveragingRegressor(members, weights="bic"),
            "stacking": StackingRegressor(members, LinearRegression()),
        }
        for name, model in models.items():
            error = np.mean((model.fit(x, y).predict(x_new) - truth(x_new)) ** 2)
            totals[name] += float(error) / n_repeats
    return totals


def truth(x: np.ndarray) -> np.ndarray:
    """Return the cubic to learn."""
    return x[:, 0] ** 3 - x[:, 0] ** 2 + 1.0


def main(n_rows: int = 100, noise: float = 0.2, n_repeats: int = 20) -> dict[str, dict[str, float]]:
    """Print a table of errors and return it."""
    table = {
        "true model among them": compare(list(TERMS), n_rows, noise, n_repeats),
        "true model missing": compare(["straight", "square", "wave"], n_rows, noise, n_repeats),
    }
    for case, errors in table.items():
        print(f"{case:24}" + "".join(f"{name}: {e:.5f}   " for name, e in errors.items()))
    return table


if __name__ == "__main__":
    main()
