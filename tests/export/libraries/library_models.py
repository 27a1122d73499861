"""Models that LightGBM, XGBoost and treelite hold, and such that they refuse."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import sumwise
from sumwise.errors import ExportError
from sumwise.export.portable import Column, Input, Lookup, PortableModel, describe
from tests.export.fitted_models import FITTED, MIXED_ENSEMBLES, fit_model, predict_outputs
from tests.export.random_models import NUMBERS, make_stump
from tests.tables import list_rows, make_new_rows

# Options of random models that all of them hold.
OPTIONS = [
    {},
    {"n_trees": 0},
    {"n_outputs": 3, "n_trees": 7},
    {"n_outputs": 4, "n_values": 2},
    {"inputs": NUMBERS},
]
_REFUSED = {"log1p", "quantiles", "linear_leaves", "encoded", "forest_statistics"}
_REFUSED |= {"ada_median", "soft_votes", "isotonic_boosting"}
HELD = [name for name in (*FITTED, *MIXED_ENSEMBLES) if name not in _REFUSED]
FEW = {"n_estimators": 4}


def fit(name):
    """Return a fitted model, rows, and what it predicts for them, (n_rows, n_outputs)."""
    model, rows = fit_model(name), make_new_rows()
    return model, rows, drop_first_of_two(predict_outputs(model, rows))


def drop_first_of_two(outputs):
    """Return what the libraries predict: of two classes, the probability of the second."""
    return outputs[:, 1:] if outputs.shape[1] == 2 else outputs


def encode_table(model, table):
    """Return a frame as numbers, categories as their codes."""
    return encode_rows(describe(model), list_rows(table))


def encode_rows(model, rows, unknown=math.nan):
    """Return rows as other libraries take them: codes of categories, one for unknown ones."""
    return np.array(
        [
            [_encode(known, x, unknown) for known, x in zip(model.inputs, row, strict=True)]
            for row in rows
        ]
    )


def _encode(known, value, unknown):
    if known.kind != "category":
        return value
    if value is None or value != value:
        return math.nan
    return known.categories.index(value) if value in known.categories else unknown


def check_refused(export):
    """Check the errors of models that none of the libraries holds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + 3.0
    regressors = [
        (sumwise.AdaBoostRegressor(random_state=0, **FEW), "the median of trees"),
        (sumwise.GradientBoostingRegressor(booster="linear", **FEW), "a linear function"),
        (sumwise.GradientBoostingRegressor(loss="squared_log_error", **FEW), "link 'log1p'"),
        (
            sumwise.GradientBoostingRegressor(loss=sumwise.Quantile([0.2, 0.8]), **FEW),
            "link 'sorted'",
        ),
        (
            sumwise.StackingRegressor(
                [("a", sumwise.DecisionTreeRegressor(max_depth=2)), ("b", LinearRegression())], cv=2
            ),
            "a linear function",
        ),
        (sumwise.GradientBoostingRegressor(leaves=sumwise.LinearLeaves(), **FEW), "linear leaves"),
    ]
    for model, message in regressors:
        with pytest.raises(ExportError, match=message):
            export(model.fit(X, y))
    voters = [("a", sumwise.DecisionTreeClassifier()), ("b", sumwise.DecisionTreeClassifier())]
    with pytest.raises(ExportError, match="shares of a sum"):
        export(sumwise.VotingClassifier(voters, votes="hard").fit(X, y > 3))
    members = [("a", sumwise.GradientBoostingClassifier(**FEW))]
    with pytest.raises(ExportError, match="averaged or stacked"):
        export(sumwise.VotingClassifier(members, votes="soft").fit(X, y > 3))
    labels = np.column_stack([y > 3, y > 4])
    with pytest.raises(ExportError, match="several labels per row"):
        export(sumwise.DecisionTreeClassifier().fit(X, labels))


def check_statistics_refused(export):
    """Check target statistics that sets of categories cannot say."""
    color = Input("color", "category", ("blue", "red"))
    shop = Input("shop", "category", (1, 2))
    numbers = np.array([0.0, 1.0, 2.0])  # the last one is that of missing values
    of_pairs = Lookup((3, 3), np.arange(3), numbers, 0.0)
    of_color = Lookup((3,), np.arange(3), numbers, 0.0)
    for column, message in [
        (Column((0, 1), of_pairs), "combinations of features"),
        (Column((0,), of_color), "differ between missing and unknown"),
    ]:
        with pytest.raises(ExportError, match=message):
            export(PortableModel("Stump", (color, shop), make_stump(column)))
