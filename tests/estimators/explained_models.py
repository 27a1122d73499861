"""Small models of every kind that explains itself, and the scores that they explain."""

import numpy as np
import pandas as pd
from sklearn.base import clone

from sumwise import (
    AdaBoostClassifier,
    AveragingRegressor,
    BaggingClassifier,
    BaggingRegressor,
    BayesianAveragingClassifier,
    BayesianAveragingRegressor,
    Dart,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    EnsembleSelectionClassifier,
    EnsembleSelectionRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    OutputFlippingClassifier,
    OutputSmearingRegressor,
    Quantile,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)

RNG = np.random.default_rng(0)
N_ROWS = 80
X = pd.DataFrame(
    {
        "age": RNG.normal(size=N_ROWS),
        "size": RNG.normal(size=N_ROWS),
        "city": RNG.choice(["Bern", "Chur", "Thun", "Visp"], N_ROWS),
    }
)
X.loc[::7, "age"] = np.nan
NUMBER = (
    np.nan_to_num(X["age"].to_numpy()) + X["size"] ** 2 + 2.0 * X["city"].isin(["Bern", "Thun"])
)
NUMBER = NUMBER.to_numpy() + 0.1 * RNG.normal(size=N_ROWS)
TWO = np.where(NUMBER > 1.5, "yes", "no")
THREE = np.array(["low", "mid", "top"])[np.digitize(NUMBER, [0.8, 2.2])]
COUNT = np.round(np.abs(NUMBER))

# City as a number, for models that do not read categories.
NUMERIC = X.assign(city=pd.factorize(X["city"], sort=True)[0].astype(float))
NEW, BACKGROUND = slice(0, 9), slice(40, 47)

SMALL = {
    "n_estimators": 5,
    "max_leaves": 5,
    "min_samples_leaf": 3,
    "learning_rate": 0.5,
    "n_jobs": 1,
}
TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
FORESTS = [RandomForestClassifier(3, max_depth=d, random_state=d) for d in (2, 3)]
MEMBERS = [
    GradientBoostingRegressor(**SMALL, categorical_encoding="native"),
    RandomForestRegressor(3, max_depth=3, random_state=0),
    DecisionTreeRegressor(max_depth=2),
]


def second(shares):
    return shares[:, -1] if shares.shape[1] <= 2 else shares


def raw(model, rows):
    return model.predict(rows, raw=True)


def predict(model, rows):
    return model.predict(rows)


def decide(model, rows):
    return model.decision_function(rows)


def find_shares(model, rows):
    return second(model.predict_proba(rows))


def find_all_shares(model, rows):
    return np.hstack(model.predict_proba(rows))


def find_votes(model, rows):
    return second(model.predict_shares(rows))


def boost(kind, **parameters):
    return kind(**{**SMALL, "categorical_encoding": "native", **parameters})


# Name: model, its target, the score that is explained, the scale.
MODELS = {
    "boosting": (boost(GradientBoostingRegressor), NUMBER, raw, "prediction"),
    "boosting, log link": (
        boost(GradientBoostingRegressor, loss="poisson"),
        COUNT,
        raw,
        "logarithm of the prediction",
    ),
    "boosting, quantiles": (
        boost(GradientBoostingRegressor, loss=Quantile([0.2, 0.8])),
        NUMBER,
        raw,
        "prediction before sorting",
    ),
    "boosting, two targets": (
        boost(GradientBoostingRegressor),
        np.column_stack([NUMBER, -(NUMBER**2)]),
        raw,
        "prediction",
    ),
    "boosting, symmetric": (
        boost(GradientBoostingRegressor, growth="symmetric", max_depth=2, max_leaves=None),
        NUMBER,
        raw,
        "prediction",
    ),
    "boosting, two classes": (boost(GradientBoostingClassifier), TWO, decide, "log odds"),
    "boosting, three classes": (boost(GradientBoostingClassifier), THREE, decide, "raw score"),
    "DART": (
        boost(GradientBoostingRegressor, booster=Dart(drop_rate=0.5), random_state=0),
        NUMBER,
        raw,
        "prediction",
    ),
    "tree": (DecisionTreeRegressor(max_depth=3), NUMBER, predict, "prediction"),
    "tree, two classes": (TREE, TWO, find_shares, "probability"),
    "tree, three classes": (TREE, THREE, find_shares, "probability"),
    "forest": (
        RandomForestRegressor(4, max_depth=3, random_state=0),
        NUMBER,
        predict,
        "prediction",
    ),
    "forest, two targets": (
        RandomForestRegressor(4, max_depth=3, random_state=0),
        np.column_stack([NUMBER, NUMBER**2]),
        predict,
        "prediction",
    ),
    "forest, two classes": (FORESTS[1], TWO, find_shares, "probability"),
    "forest, several labels": (
        FORESTS[1],
        np.column_stack([TWO, THREE]),
        find_all_shares,
        "probability",
    ),
    "forest, one class": (FORESTS[1], np.repeat("yes", N_ROWS), find_shares, "probability"),
    "extra trees": (
        ExtraTreesClassifier(4, max_depth=3, random_state=0),
        THREE,
        find_shares,
        "probability",
    ),
    "AdaBoost, two classes": (AdaBoostClassifier(n_estimators=5), TWO, decide, "weighted votes"),
    "AdaBoost, three classes": (
        AdaBoostClassifier(TREE, n_estimators=4),
        THREE,
        decide,
        "weighted votes",
    ),
    "AdaBoost, one by one": (
        AdaBoostClassifier(
            DecisionTreeClassifier(max_depth=2, min_samples_leaf=3),
            n_estimators=4,
            method="resample",
            random_state=0,
        ),
        TWO,
        decide,
        "weighted votes",
    ),
    "AdaBoost, one by one, three classes": (
        AdaBoostClassifier(
            DecisionTreeClassifier(max_depth=2, min_samples_leaf=3),
            n_estimators=4,
            method="resample",
            random_state=0,
        ),
        THREE,
        decide,
        "weighted votes",
    ),
    "bagging": (BaggingRegressor(n_estimators=3, random_state=0), NUMBER, predict, "prediction"),
    "bagging, features": (
        BaggingRegressor(
            boost(GradientBoostingRegressor), n_estimators=3, max_features=2, random_state=0
        ),
        NUMBER,
        predict,
        "prediction",
    ),
    "bagging, classes": (
        BaggingClassifier(TREE, n_estimators=3, max_features=2, random_state=0),
        THREE,
        find_shares,
        "probability",
    ),
    "bagging, labels": (
        BaggingClassifier(TREE, n_estimators=3, votes="hard", random_state=0),
        TWO,
        find_shares,
        "share of votes",
    ),
    "bagging, labels one by one": (
        BaggingClassifier(
            TREE, n_estimators=3, votes="hard", perturb={"max_depth": [1, 3]}, random_state=0
        ),
        THREE,
        find_shares,
        "share of votes",
    ),
    "bagging, classes missing in a bag": (
        BaggingClassifier(
            FORESTS[0], n_estimators=4, max_samples=4, bootstrap=False, random_state=0
        ),
        THREE,
        find_shares,
        "probability",
    ),
    "smearing": (
        OutputSmearingRegressor(n_estimators=3, random_state=0),
        NUMBER,
        predict,
        "prediction",
    ),
    "flipping": (
        OutputFlippingClassifier(TREE, n_estimators=3, random_state=0),
        THREE,
        find_shares,
        "probability",
    ),
    "average": (AveragingRegressor(MEMBERS, weights=[1, 2, 3]), NUMBER, predict, "prediction"),
    "Bayesian average": (
        BayesianAveragingRegressor(MEMBERS, random_state=0),
        NUMBER,
        predict,
        "prediction",
    ),
    "Bayesian average, classes": (
        BayesianAveragingClassifier([*FORESTS, TREE], random_state=0),
        TWO,
        find_shares,
        "probability",
    ),
    "selection": (EnsembleSelectionRegressor(MEMBERS), NUMBER, predict, "prediction"),
    "selection, classes": (
        EnsembleSelectionClassifier(FORESTS, method="greedy"),
        THREE,
        find_votes,
        "probability",
    ),
    "vote": (VotingClassifier(FORESTS, weights=[1, 3]), THREE, find_votes, "probability"),
    "vote, two classes": (VotingClassifier(FORESTS), TWO, find_votes, "probability"),
    "vote, labels": (
        VotingClassifier([TREE, DecisionTreeClassifier(max_depth=1)], votes="hard"),
        TWO,
        find_votes,
        "share of votes",
    ),
    "vote of votes": (
        VotingClassifier([("a", VotingClassifier(FORESTS)), ("b", VotingClassifier(FORESTS))]),
        THREE,
        find_votes,
        "probability",
    ),
}


class Fitted(dict):
    """The models above, each fitted when it is first asked for."""

    def __missing__(self, name):
        model, target, *_ = MODELS[name]
        self[name] = clone(model).fit(X, target)
        return self[name]
