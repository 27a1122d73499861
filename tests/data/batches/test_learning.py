"""The first pass: targets as they are, and the schema that the whole table has."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from sumwise.data.batches import learning
from sumwise.data.batches.learning import BatchedTable, Roles, learn_table
from sumwise.data.batches.sources import open_source, read_frames
from sumwise.errors import DataError, ParameterError


def open_table(X, columns=None, batch_rows=1 << 16, **roles):
    return BatchedTable.open(open_source(X), Roles(**roles), columns, batch_rows)


def learn(*parts, is_category=None, **options):
    return learn_table(open_table(lambda: parts, **options), is_category)


def test_columns_have_roles():
    parts = [
        pd.DataFrame({"a": [1], "y": ["no"], "w": [1.5], "s": [0.1], "t": [1], "g": [7], "b": [2]}),
        pd.DataFrame({"a": [3], "y": ["yes"], "w": [2], "s": [0.2], "t": [0], "g": [7], "b": [4]}),
    ]
    learned = learn(
        *parts, target="y", sample_weight="w", init_score=["s", "t"], groups="g", batch_rows=1
    )
    assert learned.table.names == ["a", "b"]
    assert learned.n_rows == 2
    assert learned.target.tolist() == ["no", "yes"]
    assert learned.sample_weight.tolist() == [1.5, 2.0]
    assert learned.init_score.tolist() == [[0.1, 1.0], [0.2, 0.0]]
    assert learned.groups.tolist() == [7, 7]
    assert learned.schema.n_features == 2
    (first, X, _), (second, *_) = learned.read_matrices()
    assert (first, second) == (0, 1)
    assert X.tolist() == [[1.0, 2.0]]


def test_features_may_be_chosen_in_any_order():
    frame = pd.DataFrame({"a": [1.0], "b": [2.0], "y": [0]})
    learned = learn(frame, columns=["b", "a"], target="y")
    assert next(learned.read_matrices())[1].tolist() == [[2.0, 1.0]]
    with pytest.raises(ParameterError, match="'y' cannot be a feature"):
        learn(frame, columns=["a", "y"], target="y")
    with pytest.raises(ParameterError, match="each feature once"):
        learn(frame, columns=["a", "a"])
    with pytest.raises(DataError, match=r"has no column 'z'; it has 'a', 'b', 'y'"):
        learn(frame, target="z")
    with pytest.raises(DataError, match="has no column 'c'"):
        learn(frame, columns=["c"])


def test_the_index_of_a_frame_is_no_feature(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0], "y": [0, 1]}, index=pd.Index([7, 8], name="id"))
    frame.to_parquet(tmp_path / "x.parquet")
    for X in (tmp_path, ds.dataset(tmp_path)):
        assert open_table(X, target="y").names == ["a"]
        assert open_table(X, ["a", "id"]).names == ["a", "id"]
        assert [f.column_names for f in read_frames(X)] == [["a", "y"]]
    frame.reset_index(drop=True).to_parquet(tmp_path / "x.parquet")
    assert open_table(tmp_path, target="y").names == ["a"]


@pytest.mark.parametrize(
    "values",
    [["x", "y", "x"], [1, 0, 1], [0.5, None, 2.0], [True, False, True], [b"x", b"y", b"x"]],
)
def test_targets_are_those_of_the_whole_column(values):
    table = pa.table({"a": [1.0, 2.0, 3.0], "y": values})
    expected = table.column("y").to_numpy()
    for X in (ds.dataset(table), lambda: table.to_batches(1), lambda: [table.to_pandas()]):
        learned = learn_table(open_table(X, target="y", batch_rows=2))
        np.testing.assert_array_equal(learned.target, expected)


def test_labels_of_rows_share_their_strings():
    frame = pl.DataFrame({"a": range(1000), "y": ["first label", "second label"] * 500})
    learned = learn(frame, target="y", batch_rows=100)
    assert len({id(label) for label in learned.target}) == 2


def test_missing_values_fit_every_kind():
    nothing = pd.DataFrame({"word": [None, None], "day": [None, None], "n": [None, None]})
    some = pd.DataFrame({"word": ["b", "a"], "day": [datetime.date(2020, 1, 2)] * 2, "n": [1, 2]})
    strings = pa.table({"word": ["c"], "day": pa.nulls(1, pa.string()), "n": [1.5]})
    for parts in ([nothing, some], [some, nothing], [nothing, some, nothing, strings]):
        schema = learn(*parts).schema
        assert schema.kinds == ("category", "date", "number")
    assert schema.dictionaries[0].values.tolist() == ["a", "b", "c"]
    only_nulls = pa.table({"x": pa.nulls(2, pa.string())})
    assert learn(only_nulls).schema.kinds == ("category",)
    assert learn(only_nulls, is_category=[False]).schema.kinds == ("number",)


def test_kinds_must_not_change():
    numbers, words = pd.DataFrame({"x": [1.0]}), pd.DataFrame({"x": ["a"]})
    days = pd.DataFrame({"x": [pd.Timestamp("2020-01-01")]})
    with pytest.raises(DataError, match=r"'x' holds categories in batch 1 of .*and numbers before"):
        learn(numbers, words)
    with pytest.raises(DataError, match=r"'x' holds dates in batch 1 of .*and categories before"):
        learn(words, days)
    with pytest.raises(DataError, match=r"'x' holds numbers in batch 1 .*and categories before"):
        learn(words, numbers, is_category=[True])


def test_strings_need_to_be_categories(tmp_path):
    table = pa.table({"x": ["a", "b"]})
    pq.write_table(table, tmp_path / "x.parquet")
    for X in (lambda: [table], tmp_path):
        with pytest.raises(DataError, match="'x' holds strings or categories, and is not in"):
            learn_table(open_table(X), [False])


def test_numbers_may_be_categories():
    parts = [pd.DataFrame({"x": [3, 1]}), pd.DataFrame({"x": [2.0, np.nan]})]
    values = learn(*parts, is_category=[True]).schema.dictionaries[0].values
    assert values.dtype == np.int64
    assert values.tolist() == [1, 2, 3]
    large = pa.table({"x": pa.array([2**64 - 1, 2**63], pa.uint64())})
    small = pa.table({"x": pa.array([5], pa.uint64())})
    values = learn(small, large, is_category=[True]).schema.dictionaries[0].values
    assert values.tolist() == [5, 2**63, 2**64 - 1]
    with pytest.raises(DataError, match="beyond 64 bits"):
        learn(pa.table({"x": [-1]}), large, is_category=[True])
    many = [pa.table({"x": [i, i + 1]}) for i in range(50)]
    assert len(learn(*many, is_category=[True]).schema.dictionaries[0]) == 51


def test_numbers_are_not_read_where_types_are_known(tmp_path):
    pq.write_table(pa.table({"n": [1.0], "word": ["a"], "y": [1]}), tmp_path / "x.parquet")
    source = open_source(tmp_path)
    asked, read = [], source.read
    source.read = lambda columns, batch_rows: (asked.append(columns), read(columns, batch_rows))[1]
    learned = learn_table(BatchedTable.open(source, Roles(target="y")))
    assert asked == [["y", "word"]]
    assert learned.schema.kinds == ("number", "category")


def test_the_type_of_all_files_counts(tmp_path):
    for number, kind in enumerate([pa.float32(), pa.float32()]):
        pq.write_table(pa.table({"x": pa.array([0.5], kind)}), tmp_path / f"{number}.parquet")
    assert learn_table(open_table(tmp_path)).dtype == np.float32
    for name in ("2", "#"):  # a double behind the probed rows, in the last or first file
        late = pa.array([None] * 2000 + [0.1], pa.float64())
        pq.write_table(pa.table({"x": late}), tmp_path / f"{name}.parquet")
        learned = learn_table(open_table(tmp_path))
        assert learned.dtype == np.float64
        assert 0.1 in np.concatenate([X for _, X, _ in learned.read_matrices()])
        (tmp_path / f"{name}.parquet").unlink()


def test_a_known_schema_is_kept():
    known = learn(pd.DataFrame({"word": ["a", "b"], "x": [1.0, 2.0]})).schema
    table = open_table(lambda: [pd.DataFrame({"word": ["b", "new"], "x": [1.0, 2.0]})])
    learned = learn_table(table, known=known)
    assert learned.schema is known
    ((_, X, _),) = learned.read_matrices(unknown_code=-1.0)
    assert X[:, 0].tolist() == [1.0, -1.0]
    with pytest.raises(DataError, match=r"batch 0 of .*has categories that were not in the train"):
        list(learned.read_matrices("error"))


def test_every_pass_must_have_the_same_number_of_rows():
    for later, message in (([1, 2], "and 2 in a later"), ([1, 2, 3, 4], "and more than 3 in a")):
        passes = iter([[0], [1, 2, 3], later])
        learned = learn_table(open_table(lambda p=passes: [pd.DataFrame({"x": next(p)})]))
        with pytest.raises(DataError, match=f"had 3 rows in the first pass, {message}"):
            list(learned.read_matrices())


def test_rows_must_stay_in_their_order():
    rng = np.random.default_rng(0)
    for values in (np.arange(9), np.array([f"label {i}" for i in range(9)], dtype=object)):
        frame = pd.DataFrame({"x": np.zeros(9), "y": values})
        table = open_table(
            lambda frame=frame: [frame.sample(frac=1.0, random_state=rng)], target="y"
        )
        learned = learn_table(table)
        with pytest.raises(DataError, match="other values in column 'y' than in the first pass"):
            list(learned.read_matrices())


def test_empty_files_do_not_hide_types(tmp_path):
    table = pa.table({"word": ["a", "b"], "day": pa.array([None, 86_400_000], pa.date64())})
    for number, part in enumerate([table[:0], table[:1], table[1:]]):
        pq.write_table(part, tmp_path / f"{number}.parquet")
    parts = [table[:1], table[1:]]
    for X in (tmp_path, ds.dataset(tmp_path), lambda: table.to_batches(1), lambda: parts):
        learned = learn_table(open_table(X))
        assert learned.schema.kinds == ("category", "date")
        matrix = np.concatenate([X for _, X, _ in learned.read_matrices()])
        np.testing.assert_array_equal(matrix, [[0.0, np.nan], [1.0, 86_400.0]])


def test_row_numbers_must_fit(monkeypatch):
    monkeypatch.setattr(learning, "MOST_ROWS", 2)
    with pytest.raises(DataError, match="3 rows are too many; the limit is 2"):
        learn(pd.DataFrame({"x": [1, 2, 3]}))


def test_sources_without_rows_are_refused(tmp_path):
    pq.write_table(pa.table({"x": pa.array([], pa.float64())}), tmp_path / "x.parquet")
    with pytest.raises(DataError, match="is empty: it has 0 sample"):
        learn_table(open_table(tmp_path))
