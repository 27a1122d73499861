"""Sources are read as frames are: the same names, schema, warnings and predictions."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sumwise import GradientBoostingRegressor
from sumwise.data.batches.binning import find_bins
from sumwise.data.batches.learning import Roles
from sumwise.errors import DataError, DataWarning, ParameterError
from sumwise.estimators.input.batches import (
    learn_training_data,
    predict_batches,
    warn_of_rounding,
)
from sumwise.estimators.input.features import read_training_data
from tests.tables import make_new_rows, make_table, make_target

LIMIT = 1 << 30


@pytest.fixture(scope="module")
def table():
    frame = make_table()
    return frame.assign(y=make_target(frame, 0))


def cut(frame, n_rows=50):
    return lambda: (frame[i : i + n_rows] for i in range(0, len(frame), n_rows))


@pytest.mark.parametrize("chosen", ["auto", ["color", "shop"], [2, 3], [False, False, True, False]])
def test_training_data_is_that_of_a_frame(table, tmp_path, chosen):
    file = tmp_path / "x.parquet"
    pq.write_table(pa.Table.from_pandas(table, preserve_index=False), file)
    whole = GradientBoostingRegressor(categorical_features=chosen)
    matrix, y, schema = read_training_data(whole, table.drop(columns="y"), table["y"])
    for X in (file, cut(table)):
        own = GradientBoostingRegressor(categorical_features=chosen)
        learned = learn_training_data(own, X, Roles(target="y"), LIMIT)
        assert learned.schema.to_json() == schema.to_json()
        assert own.n_features_in_ == whole.n_features_in_
        assert own.feature_names_in_.tolist() == whole.feature_names_in_.tolist()
        np.testing.assert_array_equal(learned.target, y)
        rows = np.concatenate([X for _, X, _ in learned.read_matrices()])
        np.testing.assert_array_equal(rows, matrix)


def test_strings_are_refused_unless_they_are_categories(table):
    model = GradientBoostingRegressor(categorical_features=None)
    with pytest.raises(DataError, match="'color' holds strings or categories"):
        learn_training_data(model, cut(table), Roles(target="y"), LIMIT)
    model = GradientBoostingRegressor(categorical_features=["shade"])
    with pytest.raises(ParameterError, match="X has no column 'shade'"):
        learn_training_data(model, cut(table), Roles(target="y"), LIMIT)


def test_a_known_schema_is_kept_if_it_fits(table):
    model = GradientBoostingRegressor()
    first = learn_training_data(model, cut(table[:60]), Roles(target="y"), LIMIT)
    more = learn_training_data(model, cut(table), Roles(target="y"), LIMIT, known=first.schema)
    assert more.schema is first.schema
    other = learn_training_data(
        model, cut(table), Roles(target="y"), LIMIT, columns=["a", "b"], known=first.schema
    )
    assert other.schema.n_features == 2


def test_dates_and_large_integers_are_reported():
    frame = pd.DataFrame({"day": pd.to_datetime(["2020-01-01"]), "id": [2**53 + 1]})
    with pytest.warns(DataWarning, match=r"dates and durations are read as numbers.*'day'"):
        learned = learn_training_data(GradientBoostingRegressor(), cut(frame), Roles(), LIMIT)
    with pytest.warns(DataWarning, match=r"column 'id' has integers beyond 2\*\*53"):
        warn_of_rounding(find_bins(learned).rounded)


def test_predictions_are_those_of_the_whole_table(table, tmp_path):
    model = GradientBoostingRegressor(n_estimators=3).fit(table.drop(columns="y"), table["y"])
    rows = make_new_rows()
    expected = model.predict(rows)
    file = tmp_path / "x.parquet"
    mixed = rows.assign(y=0.0, note="x")[["note", "shop", "color", "y", "b", "a"]]
    pq.write_table(pa.Table.from_pandas(mixed, preserve_index=False), file)
    for X in (file, cut(mixed, 7)):
        found = np.concatenate(list(predict_batches(model, X, model.predict, batch_rows=9)))
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="color"):
        list(predict_batches(model, cut(rows.drop(columns="color")), model.predict))
