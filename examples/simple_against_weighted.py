"""Simple against weighted averages, for members of similar and of different quality.

Every member predicts the truth with its own noise. Weights are learned on some rows and tested on
others. If all members are equally good, the learned weights differ only by chance, and the simple
average is as good or better. If some members are much worse than others, weights help.
"""

import numpy as np

from sumwise.combine.average import average, fit_simplex_weights, weigh_by_inverse

QUALITIES = {"alike": np.full(8, 1.0), "unlike": np.geomspace(0.3, 5.0, 8)}


def compare(spread: np.ndarray, n_rows: int, n_repeats: int, seed: int = 0) -> dict[str, float]:
    """Return the mean squared error of each kind of average on new rows.

    Parameters
    ----------
    spread : ndarray
        Standard deviation of each member's errors.
    n_rows : int
        Rows that weights are learned on.
    n_repeats : int
        Samples over which errors are averaged.
    """
    rng = np.random.default_rng(seed)
    totals = {"simple": 0.0, "inverse error": 0.0, "least squares": 0.0}
    for _ in range(n_repeats):
        y, y_new = rng.normal(size=n_rows), rng.normal(size=2000)
        known = y + spread[:, np.newaxis] * rng.normal(size=(spread.size, n_rows))
        new = y_new + spread[:, np.newaxis] * rng.normal(size=(spread.size, 2000))
        weights = {
            "simple": None,
            "inverse error": weigh_by_inverse(np.mean((known - y) ** 2, axis=1)),
            "least squares": fit_simplex_weights(known, y),
        }
        for name, of_members in weights.items():
            totals[name] += float(np.mean((average(new, of_members) - y_new) ** 2)) / n_repeats
    return totals


def main(n_rows: int = 60, n_repeats: int = 200) -> dict[str, dict[str, float]]:
    """Print a table of errors and return it."""
    table = {name: compare(spread, n_rows, n_repeats) for name, spread in QUALITIES.items()}
    print(f"{'members':10}" + "".join(f"{kind:>16}" for kind in table["alike"]))
    for name, errors in table.items():
        print(f"{name:10}" + "".join(f"{error:16.4f}" for error in errors.values()))
    return table


if __name__ == "__main__":
    main()
