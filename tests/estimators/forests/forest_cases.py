"""The forests that tests compare, and data for them."""

from sklearn.datasets import load_diabetes, load_iris

from sumwise import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

CLASSIFIERS = [RandomForestClassifier, ExtraTreesClassifier]
REGRESSORS = [RandomForestRegressor, ExtraTreesRegressor]
FORESTS = CLASSIFIERS + REGRESSORS
IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)


def get_data(forest):
    return IRIS if forest in CLASSIFIERS else DIABETES


def fit(forest, **params):
    X, y = get_data(forest)
    return forest(**{"n_estimators": 8, "random_state": 0, **params}).fit(X, y)


def predict(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def save(model, path):
    model.save(path)
    return path.read_bytes()
