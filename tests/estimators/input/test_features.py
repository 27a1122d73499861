"""What estimators remember of their features, and frames of every kind."""

import pickle
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sumwise import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestRegressor,
    TargetStatistics,
    load,
)
from sumwise.data import matrix
from sumwise.data.categories.dictionary import Dictionary
from sumwise.errors import DataError, DataWarning, ParameterError
from sumwise.estimators.input.features import FeatureSchema, ReadRows, read_rows

RNG = np.random.default_rng(0)
N_ROWS = 200
SMALL = {"n_estimators": 4, "min_samples_leaf": 3, "learning_rate": 0.5}

SIZE = RNG.normal(size=N_ROWS).round(2)
SIZE[::7] = np.nan
COUNT = RNG.integers(0, 9, N_ROWS)
COLOR = np.array(["red", "blue", "grün", "Zinc"], dtype=object)[RNG.integers(0, 4, N_ROWS)]
COLOR[::11] = None
FLAG = RNG.random(N_ROWS) < 0.5
Y = np.nan_to_num(SIZE) + COUNT + 3 * (COLOR == "red") + FLAG
NAMES = ["size", "count", "color", "größe ?"]
COLUMNS = dict(zip(NAMES, (SIZE, COUNT, COLOR, FLAG), strict=True))
ROWS = np.empty((N_ROWS, 4), dtype=object)
for place, values in enumerate(COLUMNS.values()):
    ROWS[:, place] = values

PANDAS = pd.DataFrame(COLUMNS)
POLARS = pl.DataFrame({**COLUMNS, "color": COLOR.tolist()})
ARROW = pa.table({**COLUMNS, "color": COLOR.tolist()})
FRAMES = {
    "pandas": PANDAS,
    "pandas categories": PANDAS.astype({"color": "category"}),
    "pandas unused categories": PANDAS.astype(
        {"color": pd.CategoricalDtype(["red", "x", "grün", "Zinc", "blue"])}
    ),
    "pandas objects": PANDAS.astype(object),
    "pandas nullable": PANDAS.convert_dtypes(),
    "pandas Arrow": PANDAS.convert_dtypes(dtype_backend="pyarrow"),
    "polars": POLARS,
    "polars lazy": POLARS.lazy(),
    "polars categories": POLARS.with_columns(pl.col("color").cast(pl.Categorical)),
    "polars enum": POLARS.with_columns(
        pl.col("color").cast(pl.Enum(["x", "red", "grün", "Zinc", "blue"]))
    ),
    "polars chunks": pl.concat([POLARS[:50], POLARS[50:]], rechunk=False),
    "Arrow": ARROW,
    "Arrow dictionary": ARROW.set_column(2, "color", ARROW["color"].dictionary_encode()),
    "Arrow chunks": pa.concat_tables([ARROW.slice(0, 50), ARROW.slice(50)]),
    "objects": ROWS,
    "lists": ROWS.tolist(),
}


def fit(X, y=Y, **params):
    return GradientBoostingRegressor(**{**SMALL, **params}).fit(X, y)


def take_rows(X, rows):
    if isinstance(X, pd.DataFrame):
        return X.iloc[rows]
    if isinstance(X, pl.LazyFrame):
        X = X.collect()
    return X.take(rows) if isinstance(X, pa.Table) else np.asarray(X, dtype=object)[rows]


# Every frame gives the same model


@pytest.fixture(scope="module")
def expected():
    return fit(ROWS)


@pytest.mark.parametrize("name", FRAMES)
def test_every_frame_gives_the_same_model(name, expected, bytes_of):
    X = FRAMES[name]
    model = fit(X)
    assert np.array_equal(model.predict(X), expected.predict(ROWS))
    has_names = name not in ("objects", "lists")
    assert hasattr(model, "feature_names_in_") == has_names
    if has_names:
        assert model.feature_names_in_.tolist() == NAMES
        del model.feature_names_in_  # all that differs
    assert bytes_of(model) == bytes_of(expected)


@pytest.mark.parametrize("name", FRAMES)
def test_every_frame_can_be_predicted(name, expected):
    model = fit(PANDAS)
    with warnings.catch_warnings():
        warnings.simplefilter("error" if name not in ("objects", "lists") else "ignore")
        assert np.array_equal(model.predict(FRAMES[name]), expected.predict(ROWS))
        if not name.startswith("polars"):
            some = take_rows(FRAMES[name], [5, 11])
            assert np.array_equal(model.predict(some), expected.predict(ROWS[[5, 11]]))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8", "bool"])
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_of_numbers_give_the_model_of_the_matrix(frame, dtype, bytes_of):
    X = (10 * RNG.normal(size=(N_ROWS, 3))).astype(dtype)
    table = frame({name: X[:, f] for f, name in enumerate("abc")})
    model, plain = fit(table), fit(X)
    assert np.array_equal(model.predict(table), plain.predict(X))
    del model.feature_names_in_
    assert bytes_of(model) == bytes_of(plain)
    assert model.schema_.is_numeric


def test_frames_are_converted_by_chunks(monkeypatch, expected, bytes_of):
    monkeypatch.setattr(matrix, "_CHUNK", 64)
    seen = []
    convert = matrix.ColumnMatrix.convert

    def spy(self, first, last):
        seen.append(last - first)
        return convert(self, first, last)

    monkeypatch.setattr(matrix.ColumnMatrix, "convert", spy)
    model = fit(POLARS)
    del model.feature_names_in_
    assert bytes_of(model) == bytes_of(expected)
    assert max(seen) == 64


def test_single_precision_is_kept():
    singles = pl.DataFrame({"a": SIZE, "b": SIZE}).cast(pl.Float32)
    seen = fit(singles)._check_input(singles)
    assert seen.dtype == np.float32
    words = singles.with_columns(c=pl.lit("x"))
    assert fit(words)._check_input(words).dtype == np.float32
    mixed = singles.with_columns(c=pl.lit(1))
    assert fit(mixed)._check_input(mixed).dtype == np.float64
    only_words = words[["c"]]
    assert fit(only_words)._check_input(only_words).dtype == np.float64


def test_frames_are_not_changed():
    for name in ("pandas", "pandas categories"):
        before = FRAMES[name].copy(deep=True)
        fit(FRAMES[name]).predict(FRAMES[name])
        pd.testing.assert_frame_equal(FRAMES[name], before)


# Which features are categories


def test_the_schema_tells_kinds_and_categories(expected):
    schema = expected.schema_
    assert schema.kinds == ("number", "number", "category", "number")
    assert schema.n_categories.tolist() == [0, 0, 4, 0]
    assert schema.n_categories.dtype == np.int64
    assert schema.dictionaries[2].values.tolist() == ["Zinc", "blue", "grün", "red"]
    codes = expected._check_input(ROWS)[:, 2]
    order = {"Zinc": 0, "blue": 1, "grün": 2, "red": 3}
    np.testing.assert_array_equal(codes, [order.get(c, np.nan) for c in COLOR])


@pytest.mark.parametrize(
    "chosen",
    [
        ["count", "color"],
        ("color", "count"),
        np.array(["count", "color"]),
        pd.Index(["count", "color"]),
        [1, 2],
        [-2, 1],
        np.array([1, 2]),
        [False, True, True, False],
        np.array([False, True, True, False]),
    ],
    ids=repr,
)
def test_categories_are_chosen(chosen, bytes_of, tmp_path):
    model = fit(PANDAS, categorical_features=chosen)
    assert model.schema_.n_categories.tolist() == [0, 9, 4, 0]
    assert model.schema_.dictionaries[1].values.tolist() == list(range(9))
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert list(again.categorical_features) == np.asarray(chosen).tolist()
    assert np.array_equal(again.predict(PANDAS), model.predict(PANDAS))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?", ">i4", "O"])
def test_categories_of_a_matrix_of_numbers(dtype, bytes_of):
    numbers = RNG.integers(0, 2 if dtype == "?" else 5, (N_ROWS, 3))
    X = numbers.astype(dtype)
    model = fit(X, categorical_features=[1])
    assert model.schema_.kinds == ("number", "category", "number")
    assert model.schema_.dictionaries[1].values.tolist() == sorted(set(numbers[:, 1]))
    frame = fit(pl.DataFrame(numbers.astype("i8"), list("abc")), categorical_features=[1])
    del frame.feature_names_in_
    assert bytes_of(model) == bytes_of(frame)
    assert np.array_equal(model.predict(X), model.predict(numbers.astype("f8")))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_categories_of_a_frame_of_one_type(frame):
    """pandas keeps it as a matrix, polars does not."""
    numbers = RNG.integers(0, 5, (N_ROWS, 2)).astype(np.float64)
    X = frame(dict(zip("ab", numbers.T, strict=True)))
    model = fit(X, categorical_features=["b"], unknown_category="error")
    plain = fit(numbers, categorical_features=[1])
    assert np.array_equal(model.predict(X), plain.predict(numbers))
    with pytest.raises(DataError, match=r"column 'b' has categories .* data: 7"):
        model.predict(frame({"a": [1.0], "b": [7.0]}))


def test_no_categories():
    numbers = PANDAS.drop(columns="color")
    assert fit(numbers, categorical_features=None).schema_.is_numeric
    assert fit(numbers, categorical_features=[]).schema_.is_numeric
    message = "column 'color' holds strings or categories, and is not in categorical_features"
    for chosen in (None, ["count"], []):
        for name in ("pandas", "pandas categories", "polars", "Arrow dictionary"):
            with pytest.raises(DataError, match=message):
                fit(FRAMES[name], categorical_features=chosen)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("color", "must be 'auto', None, or a list"),
        (["shape"], "X has no column 'shape'"),
        ([4], "X has 4 features, none with index 4"),
        ([-5], "none with index -5"),
        ([True], "has 1 booleans, and X has 4 features"),
        ([1, "color"], "must be 'auto', None, or a list"),
        ([1.5], "must be 'auto', None, or a list"),
        (5.5, "must be 'auto', None, or a list"),
        ([[0], [1, 2]], "must be 'auto', None, or a list"),
    ],
)
def test_bad_choices(chosen, message):
    with pytest.raises(ParameterError, match=f"categorical_features=.*{message}"):
        fit(PANDAS, categorical_features=chosen)


def test_names_are_chosen_where_there_are_none():
    with pytest.raises(ParameterError, match=r"no column 'color'; it has no names, so use indices"):
        fit(ROWS, categorical_features=["color"])


@pytest.mark.parametrize(
    ("name", "value"), [("unknown_category", "other"), ("extra_columns", True)]
)
def test_bad_parameters(name, value):
    with pytest.raises(ParameterError, match=f"{name}={value!r}; must be one of"):
        fit(PANDAS, **{name: value})


def test_missing_is_a_category_of_its_own():
    X = np.array([["a"], [None]] * 20, dtype=object)
    model = fit(X, np.tile([0.0, 8.0], 20))
    assert model.schema_.n_categories.tolist() == [1]
    low, high = model.predict(X[:2])
    assert low < 2 < 6 < high


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_unknown_categories(frame):
    model = fit(PANDAS)
    new = frame(
        {"size": [1.0] * 3, "count": [1] * 3, "color": ["pink", None, "red"], "größe ?": [1] * 3}
    )
    pink, missing, red = model.predict(new)
    assert pink == missing != red
    model.set_params(unknown_category="error")
    with pytest.raises(DataError, match=r"column 'color' has categories .* training data: 'pink';"):
        model.predict(new)


# Columns at prediction


def change_columns(name):
    return {
        "missing": PANDAS.drop(columns="count"),
        "renamed": PANDAS.rename(columns={"count": "number"}),
        "reordered": PANDAS[NAMES[::-1]],
        "extra": PANDAS.assign(extra=1),
        "strings for numbers": PANDAS.assign(count="many"),
        "categories for numbers": PANDAS.assign(count=pd.Categorical(COUNT.astype(str))),
        "dates for numbers": PANDAS.assign(count=pd.Timestamp("2020-01-01")),
        "numbers for strings": PANDAS.assign(color=1.5),
        "dates for strings": PANDAS.assign(color=pd.Timestamp("2020-01-01")),
        "no rows": PANDAS[:0],
    }[name]


CHANGES = {
    "missing": "seen at fit time, yet now missing:\n- count\n",
    "renamed": "unseen at fit time:\n- number\nFeature names seen at fit time, yet now missing:\n"
    "- count\n",
    "reordered": "must be in the same order as they were in fit",
    "extra": "Feature names unseen at fit time:\n- extra\n",
    "strings for numbers": "column 'count' held numbers in fit, and holds categories now",
    "categories for numbers": "column 'count' held numbers in fit, and holds categories now",
    "dates for numbers": "column 'count' held numbers in fit, and holds dates now",
    "numbers for strings": "column 'color' held strings as categories in fit, and holds numbers",
    "dates for strings": "column 'color' holds dates",
    "no rows": r"0 sample\(s\) \(shape=\(0, 4\)\)",
}


@pytest.mark.parametrize("frame", [lambda X: X, pl.from_pandas, pa.Table.from_pandas])
@pytest.mark.parametrize("name", CHANGES)
def test_changed_columns(name, frame):
    model = fit(PANDAS)
    for method in (model.predict, model.apply):
        with pytest.raises(ValueError, match=CHANGES[name]):
            method(frame(change_columns(name)))


@pytest.mark.parametrize("frame", [lambda X: X, pl.from_pandas, pa.Table.from_pandas])
def test_extra_columns_are_ignored_if_asked(frame):
    wide = PANDAS.assign(extra=1, words="x")[["extra", *NAMES, "words"]]
    model = fit(PANDAS, extra_columns="ignore")
    assert np.array_equal(model.predict(frame(wide)), model.predict(PANDAS))
    for name in ("missing", "renamed", "reordered"):
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(frame(change_columns(name)))
    numbers = wide[["size", "count"]]
    plain = fit(numbers, extra_columns="ignore")
    assert np.array_equal(plain.predict(frame(wide)), plain.predict(numbers))


def test_numbers_may_be_of_another_type():
    model = fit(PANDAS)
    other = PANDAS.assign(count=COUNT.astype(np.float32), size=[Decimal(str(v)) for v in SIZE])
    other["größe ?"] = FLAG.astype(int)
    assert np.array_equal(model.predict(other), model.predict(PANDAS))


@pytest.mark.parametrize(
    "nothing", [None, np.nan, pd.NA, pd.NaT, pd.Series([None] * N_ROWS, dtype="string")]
)
def test_columns_without_any_value_are_of_every_kind(nothing):
    model = fit(PANDAS)
    rows = ROWS.copy()
    rows[:, 1:3] = None
    empty = PANDAS.assign(count=nothing, color=nothing)
    if nothing is pd.NaT:
        empty = empty.astype({"count": object, "color": object})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.array_equal(model.predict(empty), model.predict(rows))


def test_a_column_without_any_value_in_training():
    empty = PANDAS.assign(color=pd.Series([None] * N_ROWS, dtype="string"))
    model = fit(empty)
    assert model.schema_.n_categories.tolist() == [0] * 4
    assert np.array_equal(model.predict(PANDAS), model.predict(empty))
    assert fit(empty, categorical_features=None).schema_.is_numeric


def test_names_that_are_no_strings():
    frame = PANDAS.set_axis(range(4), axis=1)
    model = fit(frame)
    assert not hasattr(model, "feature_names_in_")
    assert np.array_equal(model.predict(frame), model.predict(ROWS))
    with pytest.raises(TypeError, match="only supported if all input features have string names"):
        fit(PANDAS.set_axis([0, 1, 2, "color"], axis=1))


def test_names_come_and_go():
    model = fit(PANDAS)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(ROWS)
    with pytest.warns(UserWarning, match="X has feature names, but"):
        fit(ROWS).predict(POLARS)


# Dates and large integers

DATES = pd.DataFrame(
    {
        "when": pd.date_range("2020-01-01", periods=N_ROWS),
        "since": pd.to_timedelta(np.arange(N_ROWS), unit="h"),
        "a": SIZE,
    }
)


@pytest.mark.parametrize("frame", [lambda X: X, pl.from_pandas, pa.Table.from_pandas])
def test_dates_are_seconds(frame, bytes_of):
    X = frame(DATES)
    with pytest.warns(DataWarning, match=r"seconds.*\(column 'when', column 'since'\)") as record:
        model = fit(X)
    assert [warning.filename for warning in record] == [__file__]
    assert model.schema_.kinds == ("date", "duration", "number")
    days = np.arange(N_ROWS)
    seconds = np.column_stack([1577836800 + 86400 * days, 3600 * days, SIZE])
    plain = fit(seconds)
    assert np.array_equal(model.ensemble_.threshold, plain.ensemble_.threshold)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(model.predict(X), plain.predict(seconds))
    with pytest.raises(DataError, match="column 'when' held dates in fit, and holds numbers now"):
        model.predict(frame(DATES.assign(when=1.0)))
    gaps = DATES.assign(when=np.nan)
    assert np.isfinite(model.predict(frame(gaps))).all()


def test_large_integers_give_a_warning():
    large = POLARS.with_columns(pl.col("count") + 2**60, identifier=pl.lit(5))
    with pytest.warns(DataWarning, match=r"column 'count' has integers beyond 2\*\*53") as record:
        fit(large)
    assert [warning.filename for warning in record] == [__file__]


def test_large_integers_as_categories_are_exact():
    X = pl.DataFrame({"id": [2**60, 2**60 + 1, None] * 20})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fit(X, np.tile([0.0, 9.0, 5.0], 20), categorical_features=["id"])
    assert model.schema_.dictionaries[0].values.tolist() == [2**60, 2**60 + 1]
    first, second, _ = model.predict(X[:3])
    assert first < 3 < 6 < second


# Targets


@pytest.mark.parametrize("make", [pd.Series, pl.Series, pa.array, list])
def test_labels_of_any_series(make, bytes_of):
    labels = np.where(np.median(Y) < Y, "high", "low").astype(object)
    expected = GradientBoostingClassifier(**SMALL).fit(POLARS, labels)
    model = GradientBoostingClassifier(**SMALL).fit(POLARS, make(labels.tolist()))
    assert np.array_equal(model.predict(POLARS), expected.predict(POLARS))
    if make is not list:  # which becomes an array of strings of a fixed length
        assert bytes_of(model) == bytes_of(expected)


# scikit-learn


@pytest.mark.parametrize("X", [PANDAS, POLARS], ids=["pandas", "polars"])
def test_scikit_learn_takes_frames(X):
    model = GradientBoostingRegressor(**SMALL)
    scores = cross_val_score(model, X, Y, cv=3)
    pipeline = make_pipeline(FunctionTransformer(), model)
    assert np.array_equal(cross_val_score(pipeline, X, Y, cv=3), scores)
    assert scores.min() > 0.3
    search = GridSearchCV(model, {"categorical_features": ["auto", ["color"]]}, cv=2).fit(X, Y)
    assert search.best_estimator_.feature_names_in_.tolist() == NAMES


def test_clone_and_pickle():
    model = fit(PANDAS, categorical_features=["color", "count"], unknown_category="error")
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(POLARS), model.predict(PANDAS))
    assert again.schema_.n_categories.tolist() == [0, 9, 4, 0]
    fresh = clone(model)
    assert not hasattr(fresh, "schema_")
    assert np.array_equal(fresh.fit(POLARS, Y).predict(POLARS), model.predict(PANDAS))


def test_stages_leaves_and_truncation():
    model = fit(POLARS)
    assert np.array_equal(list(model.staged_predict(POLARS))[-1], model.predict(POLARS))
    assert np.array_equal(model.apply(POLARS), model.apply(PANDAS))
    assert np.array_equal(model.truncate(2).predict(ARROW), list(model.staged_predict(PANDAS))[1])


def test_early_stopping_with_frames(bytes_of):
    models = [fit(X, early_stopping=True, random_state=0) for X in (PANDAS, ARROW)]
    assert bytes_of(models[0]) == bytes_of(models[1])


# The schema in a file


def test_schema_through_json():
    with pytest.warns(DataWarning):
        schema = fit(DATES.assign(color=COLOR)).schema_
    data = schema.to_json()
    assert sorted(data) == ["0", "1", "3"]
    again = FeatureSchema.from_json(data, 4)
    assert again.kinds == schema.kinds == ("date", "duration", "number", "category")
    assert again.dictionaries[3].values.tolist() == schema.dictionaries[3].values.tolist()
    assert FeatureSchema.of_numbers(3).to_json() == {}


@pytest.mark.parametrize(
    "data",
    [
        [],
        {"a": {"kind": "date"}},
        {"4": {"kind": "date"}},
        {"-1": {"kind": "date"}},
        {"0": {"kind": "word"}},
        {"0": {"kind": ["date"]}},
        {"0": {"kind": "category"}},
        {"0": {"kind": "category", "values": {"strings": ["b", "a"]}}},
        {"0": {"kind": "category", "values": ["a"]}},
        {"0": "date"},
        {"0": {}},
    ],
)
def test_bad_json(data):
    with pytest.raises((ValueError, KeyError, TypeError, AttributeError)):
        FeatureSchema.from_json(data, 4)


# Summary


def test_the_summary_is_a_few_lines():
    assert repr(FeatureSchema.of_numbers(1000)) == (
        "<FeatureSchema of 1,000 features: 1,000 numbers>"
    )
    words = Dictionary(np.array([*"abcdefg"], dtype=object))
    kinds = ["number", "category", "date", "duration", "category"]
    schema = FeatureSchema.of_kinds(kinds, {1: words, 4: Dictionary(np.array([1, 2]))})
    assert repr(schema).splitlines() == [
        "<FeatureSchema of 5 features: 1 numbers, 2 categories, 1 dates, 1 durations>",
        "  feature 1: 7 categories ('a', 'b', 'c', 'd', 'e', ...)",
        "  feature 2: dates",
        "  feature 3: durations",
        "  feature 4: 2 categories (1, 2)",
    ]
    many = FeatureSchema.of_kinds(["date"] * 20, {})
    assert repr(many).splitlines()[-1] == "  and 12 more"
    assert len(repr(many).splitlines()) == 10


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_plain_arrays_are_read_as_by_scikit_learn(dtype, order):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    X = np.array(X, dtype=dtype, order=order)
    plain = GradientBoostingClassifier(n_estimators=3).fit(X, y)
    checked = GradientBoostingClassifier(n_estimators=3).fit(X, y.astype(str))
    assert plain.n_features_in_ == 3
    assert not hasattr(plain, "feature_names_in_")
    np.testing.assert_array_equal(plain.predict_proba(X), checked.predict_proba(X))
    for bad in (X[:, :0], X[:0], X[:-1]):
        with pytest.raises(ValueError, match=r"minimum of 1 is required|inconsistent numbers"):
            plain.fit(bad, y[: len(bad)] if len(bad) == 0 else y)
    with pytest.raises(ValueError, match="contains NaN"):
        plain.fit(X, np.where(y, np.nan, 0.0))


def test_rows_that_were_read_before():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0] * 5, "b": ["x", "y", "z"] * 5})
    for model in (
        GradientBoostingRegressor(n_estimators=3, min_samples_leaf=1),
        GradientBoostingRegressor(
            n_estimators=3, categorical_encoding=TargetStatistics(native_limit=0)
        ),
        RandomForestRegressor(3, random_state=0),
    ):
        model.fit(frame, np.arange(15.0))
        read = ReadRows(read_rows(model, frame, -1.0))
        np.testing.assert_array_equal(model.predict(read), model.predict(frame))
