"""Tables of numbers and categories, for models that are compiled."""

import numpy as np
import pandas as pd

CHOSEN = {"categorical_features": ["color", "shop"]}
FEW = {"n_estimators": 5, "min_samples_leaf": 3, "random_state": 0}


def make_table(n_rows=150, seed=0):
    """Numbers with missing values, infinities and ties, and categories of two kinds."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=n_rows).round(1), rng.normal(size=n_rows)
    a[rng.random(n_rows) < 0.1] = np.nan
    b[rng.random(n_rows) < 0.05] = np.inf
    color = pd.Series(rng.choice(["red", "green", "blue", "black"], n_rows), dtype=object)
    color[rng.random(n_rows) < 0.1] = None
    return pd.DataFrame({"a": a, "b": b, "color": color, "shop": rng.integers(0, 30, n_rows)})


def make_rows(n_rows=60):
    """Rows with unknown categories too."""
    table = make_table(n_rows, seed=1)
    table.loc[::7, "color"] = "purple"
    table.loc[::9, "shop"] = 77
    return table


def make_target(table, n_classes):
    score = table["a"].fillna(1.0) + (table["color"] == "red") + 0.1 * (table["shop"] % 5)
    if n_classes == 0:
        return (score - score.min()).to_numpy()
    return np.array(["x", "y", "z"])[pd.qcut(score, n_classes, labels=False, duplicates="drop")]


def list_rows(table):
    """Return rows as lists of Python values; missing values are None or NaN."""
    return [list(row) for row in table.astype(object).itertuples(index=False)]


TABLE, ROWS = make_table(), make_rows()
