"""Models that LightGBM, XGBoost and treelite can hold, and such that they cannot."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import sumwise
from sumwise.errors import ExportError
from sumwise.export.portable import Column, Input, Lookup, PortableModel, TreeSum, describe
from sumwise.tree import Tree
from tests.estimators.describing.test_models import CHOSEN, make_rows, make_table, make_target

FEW = {"n_estimators": 4}
NATIVE = {"categorical_encoding": "native", **CHOSEN}
# A model, and the number of classes of its target.
FITTED = {
    "regression": (sumwise.GradientBoostingRegressor(**FEW, **NATIVE), 0),
    "counts": (sumwise.GradientBoostingRegressor(loss="poisson", **FEW, **NATIVE), 0),
    "symmetric": (sumwise.GradientBoostingRegressor(growth="symmetric", **FEW, **NATIVE), 0),
    "two classes": (sumwise.GradientBoostingClassifier(**FEW, **NATIVE), 2),
    "exponential": (sumwise.GradientBoostingClassifier(loss="exponential", **FEW, **NATIVE), 2),
    "three classes": (sumwise.GradientBoostingClassifier(**FEW, **NATIVE), 3),
    "forest of two": (sumwise.RandomForestClassifier(random_state=0, **FEW, **CHOSEN), 2),
    "forest of three": (sumwise.RandomForestClassifier(random_state=0, **FEW, **CHOSEN), 3),
    "forest of numbers": (sumwise.ExtraTreesRegressor(random_state=0, **FEW, **CHOSEN), 0),
    "tree": (sumwise.DecisionTreeClassifier(max_depth=3, random_state=0, **CHOSEN), 3),
    "AdaBoost of two": (sumwise.AdaBoostClassifier(**FEW), 2),
    "AdaBoost of three": (sumwise.AdaBoostClassifier(**FEW), 3),
    "hard votes of one table": (
        sumwise.BaggingClassifier(votes="hard", random_state=0, **FEW),
        3,
    ),
    "average": (
        sumwise.AveragingRegressor(
            [
                ("a", sumwise.GradientBoostingRegressor(**FEW, **NATIVE)),
                ("b", sumwise.RandomForestRegressor(random_state=0, **FEW, **CHOSEN)),
            ],
            weights=[1, 3],
        ),
        0,
    ),
    # The shop is encoded; it is never missing, so that missing shops are as unknown ones.
    "statistics": (
        sumwise.GradientBoostingRegressor(
            categorical_encoding=sumwise.TargetStatistics(native_limit=5),
            random_state=0,
            **FEW,
            **CHOSEN,
        ),
        0,
    ),
}


def fit(name):
    """Return a fitted model, rows, and what it predicts for them, (n_rows, n_outputs)."""
    model, n_classes = FITTED[name]
    table, rows = make_table(), make_rows()
    y = make_target(table, n_classes)
    model.fit(table, y - y.min() if n_classes == 0 else y)
    if n_classes == 0:
        return model, rows, model.predict(rows)[:, None]
    expected = model.predict_proba(rows)
    return model, rows, expected[:, 1:] if n_classes == 2 else expected


def encode_table(model, table):
    """Return a frame as numbers, categories as their codes."""
    columns = []
    for known in describe(model).inputs:
        column = table[known.name]
        if known.kind == "category":
            code = {value: k for k, value in enumerate(known.categories)}
            columns.append([code.get(value, np.nan) for value in column])
        else:
            columns.append(column)
    return np.column_stack(columns).astype(np.float64)


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
        trees = make_stump(column)
        with pytest.raises(ExportError, match=message):
            export(PortableModel("Stump", (color, shop), trees))


def make_stump(column, threshold=0.5):
    """Return a sum of one tree that splits a column once."""
    tree = Tree(
        feature=np.array([0, -1, -1], dtype=np.int32),
        split_bin=np.zeros(3, dtype=np.uint8),
        missing_left=np.zeros(3, dtype=np.uint8),
        left=np.array([1, -1, -1], dtype=np.int32),
        value=np.array([[0.0], [1.0], [2.0]]),
        gain=np.zeros(3),
        n_rows=np.zeros(3, dtype=np.int64),
        weight=np.zeros(3),
        threshold=np.array([threshold, 0.0, 0.0]),
    )
    return TreeSum((column,), tree, np.array([0, 3]), np.zeros(1))
