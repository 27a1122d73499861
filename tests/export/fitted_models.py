"""Fitted models of all kinds, for tests of export formats. Each is fitted once."""

from functools import cache

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression, LogisticRegression

import sumwise
from tests.tables import CHOSEN, make_numbers, make_table, make_target

_Regressor, _Classifier = sumwise.GradientBoostingRegressor, sumwise.GradientBoostingClassifier
_TREE = {"random_state": 0, "max_depth": 3}
_FEW = {"n_estimators": 5, "random_state": 0}
_BOOSTING = {"min_samples_leaf": 6, **_FEW, **CHOSEN}
_NATIVE = {"categorical_encoding": "native", **_BOOSTING}
_SETS = {"categorical_encoding": "native", **CHOSEN}
# Shops are never missing, so that a missing shop is encoded as an unknown one.
_STATISTICS = {"categorical_encoding": sumwise.TargetStatistics(native_limit=5), **_BOOSTING}
_ENCODED = {
    "categorical_encoding": sumwise.TargetStatistics(combinations=3, native_limit=0),
    **_BOOSTING,
}

# --- on the table of numbers and categories: a model, and the number of classes of its target ---

FITTED = {
    "leaf_wise": (_Regressor(**_NATIVE), 0),
    "level_wise": (_Regressor(growth="depth", **_NATIVE), 0),
    "symmetric": (_Regressor(growth="symmetric", **_BOOSTING), 0),
    "dart": (_Regressor(booster="dart", **_NATIVE), 0),
    "poisson": (_Regressor(loss="poisson", **_BOOSTING), 0),
    "log1p": (_Regressor(loss="squared_log_error", **_BOOSTING), 0),
    "sigmoid": (_Regressor(loss="cross_entropy", **_BOOSTING), 0),
    "quantiles": (_Regressor(loss=sumwise.Quantile([0.1, 0.5, 0.9]), **_BOOSTING), 0),
    "linear_leaves": (_Regressor(leaves=sumwise.LinearLeaves(), **_NATIVE), 0),
    "statistics": (_Regressor(**_STATISTICS), 0),
    "binary": (_Classifier(**_NATIVE), 2),
    "exponential": (_Classifier(loss="exponential", **_BOOSTING), 2),
    "multiclass": (_Classifier(**_NATIVE), 3),
    "encoded": (_Classifier(**_ENCODED), 3),
    "one_class": (_Classifier(**_BOOSTING), 1),
    "forest_2": (sumwise.RandomForestClassifier(**_FEW, **CHOSEN), 2),
    "forest_3": (sumwise.RandomForestClassifier(**_FEW, **_SETS), 3),
    "forest_numbers": (sumwise.RandomForestRegressor(**_FEW, **_SETS), 0),
    "forest_statistics": (sumwise.RandomForestRegressor(**_FEW, **CHOSEN), 0),
    "extra_trees": (sumwise.ExtraTreesRegressor(**_FEW, **_SETS), 0),
    "tree_classes": (sumwise.DecisionTreeClassifier(random_state=0, **_SETS), 3),
    "tree_numbers": (sumwise.DecisionTreeRegressor(random_state=0, **_SETS), 0),
}
# Ensembles of members: their sums may be taken in another order.
_MEMBERS = [
    ("boosting", _Classifier(**{**_NATIVE, "n_estimators": 3})),
    ("tree", sumwise.DecisionTreeClassifier(**_TREE, **CHOSEN)),
]
_AVERAGED = [
    ("boosting", _Regressor(**_NATIVE)),
    ("forest", sumwise.RandomForestRegressor(**_FEW, **_SETS)),
]
MIXED_ENSEMBLES = {
    "ada_2": (sumwise.AdaBoostClassifier(n_estimators=5), 2),
    "ada_3": (sumwise.AdaBoostClassifier(n_estimators=5), 3),
    "ada_median": (sumwise.AdaBoostRegressor(n_estimators=3, random_state=0), 0),
    "hard_bagging": (sumwise.BaggingClassifier(votes="hard", n_estimators=4, random_state=0), 3),
    "soft_votes": (sumwise.VotingClassifier(_MEMBERS, votes="soft"), 3),
    "weighted": (sumwise.AveragingRegressor(_AVERAGED, weights=[1, 3]), 0),
    "isotonic_boosting": (_Classifier(calibrate="isotonic", **_NATIVE), 3),
    "logistic_forest": (sumwise.RandomForestClassifier(calibrate="logistic", **_FEW, **CHOSEN), 2),
}


@cache
def fit_model(name):
    """Return a fitted model, by its name in FITTED or MIXED_ENSEMBLES."""
    model, n_classes = FITTED[name] if name in FITTED else MIXED_ENSEMBLES[name]
    table = make_table()
    return model.fit(table, make_target(table, n_classes))


def make_frame(rows):
    """Return rows as a frame like the table."""
    frame = pd.DataFrame(rows, columns=["a", "b", "color", "shop"], dtype=object)
    return frame.astype({"a": float, "b": float, "shop": float})


# --- on numbers alone: ensembles of members, some of them linear, and calibrated models ---

_CLASSIFIERS = [
    ("boosting", _Classifier(n_estimators=3)),
    ("tree", sumwise.DecisionTreeClassifier(**_TREE)),
    ("line", LogisticRegression()),
]
_REGRESSORS = [
    ("boosting", _Regressor(n_estimators=3)),
    ("tree", sumwise.DecisionTreeRegressor(**_TREE)),
    ("line", LinearRegression()),
]
_THREE = {"n_estimators": 3, "random_state": 0}
ENSEMBLES = {
    "ada_stumps": (sumwise.AdaBoostClassifier(n_estimators=5), 3),
    "ada_trees": (
        sumwise.AdaBoostClassifier(sumwise.DecisionTreeClassifier(**_TREE), n_estimators=4),
        2,
    ),
    "ada_numbers": (sumwise.AdaBoostRegressor(n_estimators=5, random_state=0), 0),
    "bagging": (sumwise.BaggingClassifier(**_THREE), 3),
    "bagging_votes": (sumwise.BaggingClassifier(votes="hard", max_features=2, **_THREE), 3),
    "bagging_numbers": (sumwise.BaggingRegressor(**_THREE), 0),
    "votes": (sumwise.VotingClassifier(_CLASSIFIERS, votes="soft"), 3),
    "hard_votes": (sumwise.VotingClassifier(_CLASSIFIERS, rule="weighted", weights=[3, 1, 2]), 3),
    "average": (sumwise.AveragingRegressor(_REGRESSORS), 0),
    "isotonic": (_Classifier(calibrate="isotonic", **_THREE), 3),
    "logistic": (sumwise.RandomForestClassifier(calibrate="logistic", **_THREE), 3),
    "stack": (sumwise.StackingClassifier(_CLASSIFIERS, LogisticRegression(), cv=2), 3),
    "stack_2": (
        sumwise.StackingClassifier(_CLASSIFIERS, LogisticRegression(), cv=2, passthrough=True),
        2,
    ),
    "stack_trees": (
        sumwise.StackingClassifier(_CLASSIFIERS, sumwise.DecisionTreeClassifier(**_TREE), cv=2),
        3,
    ),
    "stack_numbers": (sumwise.StackingRegressor(_REGRESSORS, cv=2), 0),
}


@cache
def fit_ensemble(name):
    """Return a fitted ensemble, by its name in ENSEMBLES."""
    model, n_classes = ENSEMBLES[name]
    return model.fit(*make_numbers(n_classes))


# --- what they predict ---


def predict_outputs(model, X):
    """Return probabilities, shares of votes, or numbers, with one column per output."""
    if not hasattr(model, "classes_"):
        return model.predict(X).reshape(len(X), -1)
    if getattr(model, "votes_", None) == "hard" and hasattr(model, "predict_shares"):
        return model.predict_shares(X)
    return model.predict_proba(X)


def check_labels(labels, model, X):
    """Compare labels with those of the model, except for rows whose best classes are tied."""
    shares = predict_outputs(model, X)
    best = np.sort(np.column_stack([shares, np.full(len(shares), -1.0)]), axis=1)[:, -2:]
    is_clear = best[:, 1] > best[:, 0] + 1e-9
    assert (np.asarray(labels) == model.predict(X))[is_clear].all()
