"""A table of numbers and categories for models that are described, exported and compiled."""

import numpy as np
import pandas as pd

CHOSEN = {"categorical_features": ["color", "shop"]}
UNKNOWN_COLOR, UNKNOWN_SHOP = "purple", 777


def make_table(n_rows=120, seed=0):
    """Return numbers with missing values, infinities and ties, and categories of two kinds."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=n_rows).round(1), rng.normal(size=n_rows)
    a[rng.random(n_rows) < 0.1] = np.nan
    b[rng.random(n_rows) < 0.05] = np.inf
    color = pd.Series(rng.choice(["red", "green", "blue", "black"], n_rows), dtype=object)
    color[rng.random(n_rows) < 0.1] = None
    return pd.DataFrame({"a": a, "b": b, "color": color, "shop": rng.integers(0, 30, n_rows)})


def make_new_rows(n_rows=40):
    """Return rows that no model has seen, with unknown categories too."""
    table = make_table(n_rows, seed=1)
    table.loc[::7, "color"] = UNKNOWN_COLOR
    table.loc[::9, "shop"] = UNKNOWN_SHOP
    return table


def make_target(table, n_classes):
    """Return labels, or numbers between 0 and 1 if there are no classes."""
    score = table["a"].fillna(1.0) + (table["color"] == "red") + 0.1 * (table["shop"] % 5)
    if n_classes == 0:
        return ((score - score.min()) / (score.max() - score.min())).to_numpy()
    return np.array(["x", "y", "z"])[pd.qcut(score, n_classes, labels=False, duplicates="drop")]


def make_numbers(n_classes=0, n_rows=90):
    """Return four features with ties and nothing missing, and labels or numbers as the target."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4)).round(1)
    score = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.2 * rng.normal(size=n_rows)
    if n_classes == 0:
        return X, score
    return X, np.array(["x", "y", "z"])[pd.qcut(score, n_classes, labels=False)]


def list_rows(table):
    """Return rows as lists of Python values; missing values are None or NaN."""
    return [list(row) for row in table.astype(object).itertuples(index=False)]
