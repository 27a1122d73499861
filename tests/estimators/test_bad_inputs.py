"""The table of bad inputs: what is refused, and how each is told what was wrong."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from sumwise import (
    AdaBoostRegressor,
    AveragingRegressor,
    BaggingRegressor,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    StackingRegressor,
)
from sumwise.errors import DataError, ParameterError

RNG = np.random.default_rng(0)
N_ROWS = 200
SMALL = {"n_estimators": 4, "min_samples_leaf": 3}
DATE = np.datetime64("2026-01-01")
COLOR = np.array(["red", "blue", "green", "gray"], dtype=object)[RNG.integers(0, 4, N_ROWS)]
NUMBERS = RNG.normal(size=(N_ROWS, 3))
FRAME = pd.DataFrame(NUMBERS, columns=["size", "count", "age"]).assign(color=COLOR)
OBJECTS = FRAME.to_numpy()
Y = NUMBERS[:, 0] + 3 * (COLOR == "red")
THREE = np.digitize(Y, np.quantile(Y, [0.3, 0.7]))


def rename(frame, **names):
    return frame.rename(columns=names)


FIT = {
    # X
    "one dimension": ({"X": NUMBERS[:, 0]}, "Expected 2D array, got 1D array"),
    "one dimension of words": ({"X": COLOR}, "Expected 2D array"),
    "three dimensions": ({"X": NUMBERS[:, None]}, "dim 3|3D array"),
    "three dimensions of words": ({"X": OBJECTS[:, None]}, "Expected 2D array, got 3D array"),
    "no dimension": ({"X": 3.0}, "2D array|scalar"),
    "a series": (
        {"X": FRAME["size"]},
        r"got a Series of pandas; pass X.to_frame\(\).T if it is one",
    ),
    "a polars series": (
        {"X": pl.Series(Y)},
        r"Series of polars; .* X.to_frame\(\) if it is one col",
    ),
    "an arrow column": ({"X": pa.chunked_array([Y])}, "got a ChunkedArray of pyarrow"),
    "a dictionary": ({"X": {"a": [1]}}, r"got a dict; pass pandas.DataFrame\(X\)"),
    "dictionaries": ({"X": [{"a": 1.0}] * N_ROWS}, r"list of dicts; pass pandas.DataFrame\(X\)"),
    "no rows in a list": ({"X": [], "y": []}, r"X is empty: it has 0 sample\(s\)"),
    "sparse": ({"X": sparse.eye_array(N_ROWS, format="csr") * 1j}, "Complex data not supported"),
    "empty frame": ({"X": pd.DataFrame()}, r"0 (sample|feature)\(s\)"),
    "empty polars": ({"X": pl.DataFrame()}, r"0 sample\(s\)"),
    "no rows": ({"X": FRAME[:0], "y": Y[:0]}, r"0 sample\(s\) \(shape=\(0, 4\)\)"),
    "no rows of numbers": ({"X": NUMBERS[:0], "y": Y[:0]}, r"0 sample\(s\)"),
    "no columns": ({"X": FRAME[[]]}, r"0 feature\(s\) \(shape=\(200, 0\)\)"),
    "no columns of objects": ({"X": OBJECTS[:, :0]}, r"0 feature\(s\)"),
    "no columns of numbers": ({"X": NUMBERS[:, :0]}, r"0 feature\(s\)"),
    "same names": ({"X": FRAME.set_axis(list("abca"), axis=1)}, "several columns of the name 'a'"),
    "mixed types": ({"X": FRAME.assign(color=["red", 1] * 100)}, "'color' mixes .* int, str"),
    "mixed objects": (
        {"X": np.where(OBJECTS == "red", 1, OBJECTS)},
        r"column 3 mixes values of types int, str \(.* in row 0, .*\); make them all strings or",
    ),
    "dates beside words": (
        {"X": np.where(OBJECTS == "red", DATE, OBJECTS)},
        r"column 3 mixes values of types date, str \(.*\); make them all dates or all",
    ),
    "integers beyond floats": ({"X": [[10**400]] * N_ROWS}, "column 0 has integers beyond the"),
    "lists": ({"X": pl.DataFrame({"a": [[1, 2]] * N_ROWS})}, "'a' has type List"),
    "complex": ({"X": FRAME.assign(size=1j)}, "Complex data not supported: column 'size'"),
    "bytes": ({"X": np.full((N_ROWS, 1), b"a")}, "bytes/strings"),
    # y
    "no y": ({"y": None}, "requires y"),
    "short y": ({"y": Y[1:]}, r"inconsistent numbers of samples: \[200, 199\]"),
    "short y of numbers": ({"X": NUMBERS, "y": Y[1:]}, r"samples: \[200, 199\]"),
    "y of three dimensions": ({"y": np.stack([Y, Y])[..., None]}, "dim 3"),
    "no target": ({"y": np.empty((200, 0))}, r"0 feature\(s\)"),
    "missing y": ({"y": pl.Series([None, *Y[1:]])}, r"y contains NaN: y\[0\]"),
    "NaN in y": ({"y": np.append(Y[1:], np.nan)}, r"y contains NaN: y\[199\]"),
    "infinite y": ({"y": np.append(Y[1:], -np.inf)}, r"y contains infinity: y\[199\] is -inf"),
    "huge y": ({"y": np.append(Y[1:], 1e308)}, "y has 1e.308 in row 199: sums of such numbers are"),
    "y beyond floats": ({"y": [10**400, *Y[1:]]}, "integer in row 0 that is beyond the range"),
    "words as y": ({"y": COLOR.astype(str)}, "y must be numbers for a regressor; it has '"),
    # What belongs to them
    "negative weight": ({"sample_weight": pl.Series(-Y)}, r"sample_weight\[\d+\] is -"),
    "short weight": ({"sample_weight": pa.array(abs(Y[1:]))}, r"\(199,\), expected \(200,\)"),
    "no weight at all": ({"sample_weight": np.zeros(N_ROWS)}, "all sample weights are zero"),
    "long init_score": ({"init_score": pl.Series([*Y, 1.0])}, r"\(201,\), expected \(200,\)"),
    "wide init_score": ({"init_score": np.ones((N_ROWS, 2))}, r"\(200, 2\), expected \(200,\)"),
    "X_val alone": ({"X_val": FRAME}, "X_val needs y_val, the target of its rows"),
    "y_val alone": ({"y_val": Y}, "y_val belongs to X_val, which is missing"),
    "short y_val": ({"X_val": FRAME, "y_val": Y[1:]}, "X_val has 200 rows, but y_val has 199"),
    "NaN in y_val": ({"X_val": FRAME[:1], "y_val": [np.nan]}, r"y_val contains NaN: y_val\[0\]"),
    "columns of X_val": ({"X_val": FRAME[["size"]], "y_val": Y}, "yet now missing:\n- age\n"),
    "kinds of X_val": (
        {"X_val": FRAME.assign(age="old"), "y_val": Y},
        "column 'age' held numbers in fit, and holds categories now",
    ),
    "init_score_val alone": (
        {"X_val": FRAME, "y_val": Y, "init_score_val": Y},
        "pass both init_score and init_score_val, or neither",
    ),
}


@pytest.mark.parametrize("name", FIT)
def test_bad_data(name):
    changes, message = FIT[name]
    model = GradientBoostingRegressor(**SMALL)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(**{"X": FRAME, "y": Y, **changes})
    with pytest.raises(NotFittedError):
        model.predict(FRAME)


CLASSES = {
    "quantities": (Y, "Unknown label type: continuous"),
    "missing label": ([None, *COLOR[1:]], r"y contains NaN: y\[0\] is None, a missing value"),
    "mixed labels": (
        np.array(["a", 1] * 100, dtype=object),
        "y mixes labels of different types: 'a' in row 0 is a string, and 1 in row 1 is of type",
    ),
    "mixed labels in a list": ([2.5, *COLOR[1:]], "and 2.5 in row 0 is of type float; convert all"),
    "NaN beside strings": ([np.nan, *COLOR[1:]], r"y contains NaN: y\[0\] is nan, a missing"),
    "NaN as label": (np.append(THREE[1:], np.nan), r"y contains NaN: y\[199\]"),
}


@pytest.mark.parametrize(
    "model",
    [
        AveragingRegressor([("tree", DecisionTreeRegressor())]),
        BaggingRegressor(DecisionTreeRegressor(), n_estimators=2),
        AdaBoostRegressor(DecisionTreeRegressor(max_depth=2), n_estimators=2),
        StackingRegressor([("tree", DecisionTreeRegressor())]),
    ],
    ids=lambda model: type(model).__name__,
)
def test_same_names_in_ensembles_of_members(model):
    X = pd.DataFrame(NUMBERS, columns=["a", "b", "c"])
    with pytest.raises(DataError, match=r"several columns of the name 'a'; .* rename them"):
        model.fit(X.set_axis(["a", "b", "a"], axis=1), Y)
    with pytest.raises(DataError, match="several columns of the name 'b'"):
        model.fit(X, Y).predict(X.set_axis(["a", "b", "b"], axis=1))


@pytest.mark.parametrize("name", CLASSES)
def test_bad_classes(name):
    y, message = CLASSES[name]
    with pytest.raises(ValueError, match=message):
        GradientBoostingClassifier(**SMALL).fit(FRAME, y)


def test_too_many_classes():
    X = np.arange(2002.0)[:, None]
    y = [f"label {i % 1001}" for i in range(2002)]
    with pytest.raises(DataError, match="y has 1001 classes, and at most 1000 are supported"):
        GradientBoostingClassifier().fit(X, y)


def test_initial_scores_of_classes():
    model = GradientBoostingClassifier(**SMALL)
    with pytest.raises(DataError, match=r"init_score has shape \(200,\), expected \(200, 3\)"):
        model.fit(FRAME, THREE, init_score=Y)


PARAMS = {
    "unknown loss": ({"loss": "squared"}, "loss='squared'; must be one of 'auto', 'squared_error'"),
    "unknown scorer": ({"scoring": "r3"}, "scoring='r3'; must be 'loss', the name of a scikit"),
    "unknown growth": ({"growth": "best"}, "growth='best'; must be one of 'leaf', 'depth', 'sym"),
    "monotone category": ({"monotonic_cst": {"color": 1}}, "feature 3, which is categorical"),
    "monotone in few": ({"monotonic_cst": [1, 0]}, "for each of 4 features, not 2"),
    "group out of range": ({"interaction_cst": [[0, 4]]}, "feature 4 is not one of 0 to 3"),
    "unknown group": ({"interaction_cst": [["shade"]]}, "X has no feature 'shade'"),
    "unknown category": ({"categorical_features": ["shade"]}, "X has no column 'shade'"),
    "words that are none": ({"categorical_features": None}, "'color' holds strings or categories"),
    "unknown encoding": ({"categorical_encoding": "codes"}, "must be 'auto', 'native'"),
    "not yet a sampler": ({"sampler": "half"}, r"sampler='half'; must be Subsample\(\.\.\.\)"),
}


@pytest.mark.parametrize("name", PARAMS)
def test_bad_parameters(name):
    params, message = PARAMS[name]
    with pytest.raises(ValueError, match=message):
        GradientBoostingRegressor(**SMALL, **params).fit(FRAME, Y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"loss": "hinge"}, "loss='hinge'; must be one of 'auto', 'log_loss', 'exponential', an"),
        ({"loss": "exponential"}, "loss='exponential' is for two classes; y has 3"),
        ({"monotonic_cst": [1, 0, 0, 0]}, "monotonic_cst is for two classes.*; y has 3"),
        ({"class_weight": {7: 1.0}}, "class_weight has 7, which is not a class of y"),
        ({"scale_pos_weight": 2.0}, "is for two classes; y has 3: use class_weight"),
    ],
)
def test_bad_parameters_of_classifiers(params, message):
    with pytest.raises(ValueError, match=message):
        GradientBoostingClassifier(**SMALL, **params).fit(FRAME, THREE)


PREDICT = {
    "missing column": (FRAME.drop(columns="count"), "yet now missing:\n- count\n"),
    "renamed column": (rename(FRAME, count="n"), "unseen at fit time:\n- n\nFeature names seen"),
    "extra column": (FRAME.assign(extra=1), "unseen at fit time:\n- extra\n"),
    "other order": (FRAME[FRAME.columns[::-1]], "must be in the same order"),
    "words for numbers": (FRAME.assign(age="old"), "'age' held numbers in fit, and holds"),
    "numbers for words": (FRAME.assign(color=1.5), "'color' held strings as categories in fit"),
    "unknown category": (FRAME.assign(color="pink"), r"not in the training data: 'pink';"),
    "no rows": (FRAME[:0], r"0 sample\(s\) \(shape=\(0, 4\)\)"),
    "one dimension": (OBJECTS[0], "Expected 2D array, got 1D array"),
    "a row": (FRAME.iloc[0], r"Series of pandas; pass X.to_frame\(\).T if it is one row"),
    "dictionaries": (FRAME[:2].to_dict("records"), r"list of dicts; pass pandas.DataFrame\(X\)"),
    "no rows in a list": ([], r"X is empty: it has 0 sample\(s\)"),
    "same names": (FRAME.set_axis(list("abca"), axis=1), "several columns of the name 'a'"),
    "fewer columns of objects": (OBJECTS[:, 1:], "X has 3 features, but .* expecting 4 features"),
}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("name", PREDICT)
def test_bad_data_at_prediction(name):
    X, message = PREDICT[name]
    model = GradientBoostingRegressor(**SMALL, unknown_category="error").fit(FRAME, Y)
    with pytest.raises(ValueError, match=message):
        model.predict(X)
    with pytest.raises(ValueError, match=message):
        list(model.staged_predict(X))


@pytest.mark.parametrize("kind", [GradientBoostingClassifier, GradientBoostingRegressor])
def test_not_fitted(kind):
    for method in ("predict", "apply", "staged_predict"):
        with pytest.raises(NotFittedError, match="is not fitted yet"):
            list(getattr(kind(), method)(FRAME))


def test_fewer_rounds_than_there_are():
    model = GradientBoostingRegressor(**SMALL, warm_start=True).fit(FRAME, Y)
    message = "n_estimators=3: with warm_start it is the total number of rounds, and there are 4"
    with pytest.raises(ParameterError, match=message):
        model.set_params(n_estimators=3).fit(FRAME, Y)
    with pytest.raises(ParameterError, match="init_model has 4 already; give a larger number"):
        GradientBoostingRegressor(**SMALL).fit(FRAME, Y, init_model=model)


def test_sparse_columns_of_pandas_give_what_dense_ones_give():
    frame = pd.DataFrame.sparse.from_spmatrix(sparse.eye_array(4, format="csr"))
    assert np.array_equal(
        GradientBoostingRegressor().fit(frame, range(4)).predict(frame),
        GradientBoostingRegressor().fit(np.eye(4), range(4)).predict(np.eye(4)),
    )
