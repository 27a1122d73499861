"""Sources yield the same rows in every pass, and say what is wrong with files and functions."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from sumwise.data.batches.sources import is_source, open_source, read_frames
from sumwise.errors import DataError

TABLE = pa.table({"a": list(range(10)), "b": [f"w{i % 3}" for i in range(10)]})


def write_parts(folder, n_parts=3):
    for number in range(n_parts):
        pq.write_table(TABLE.slice(4 * number, 4), folder / f"part-{number}.parquet")
    return folder


def read_all(source, columns=None, batch_rows=3):
    batches = list(source.read(columns, batch_rows))
    assert all(0 < len(batch.frame) <= batch_rows for batch in batches)
    tables = [pa.table(batch.frame.to_arrow()) for batch in batches]
    return pa.concat_tables(tables, promote_options="permissive")


def test_sources_are_told_from_data(tmp_path):
    assert is_source("x.parquet")
    assert is_source(tmp_path)
    assert is_source(ds.dataset(TABLE))
    assert is_source(lambda: [])
    assert is_source(iter([]))  # to be refused with a reason
    for data in (
        np.zeros((2, 2)),
        pd.DataFrame({"a": [1]}),
        pl.DataFrame({"a": [1]}),
        [[1]],
        TABLE,
    ):
        assert not is_source(data)


def test_every_kind_of_source_yields_the_table(tmp_path):
    file = tmp_path / "one.parquet"
    pq.write_table(TABLE, file)
    folder = tmp_path / "many"
    folder.mkdir()
    write_parts(folder)
    (folder / "_metadata").write_text("not a part")
    (folder / "notes.txt").write_text("not a part")
    batches = TABLE.to_batches(max_chunksize=4)
    for X in (
        file,
        str(file),
        folder,
        ds.dataset(sorted(map(str, folder.glob("*.parquet")))),
        lambda: iter(batches),
        lambda: [TABLE],
        lambda: [TABLE.slice(0, 0), TABLE.slice(0, 7), TABLE.slice(7)],
        lambda: (TABLE.slice(i, 5).to_pandas() for i in (0, 5)),
        lambda: (pl.from_arrow(TABLE.slice(i, 5)) for i in (0, 5)),
    ):
        source = open_source(X)
        assert source.list_columns() == ["a", "b"]
        for _ in range(2):
            assert read_all(source).to_pydict() == TABLE.to_pydict()
        assert read_all(source, ["b"]).to_pydict() == TABLE.select(["b"]).to_pydict()


def test_files_are_sorted_by_name(tmp_path):
    for name, number in (("b", 2), ("a", 1), ("c", 3)):
        pq.write_table(pa.table({"x": [number]}), tmp_path / f"{name}.parquet")
    assert read_all(open_source(tmp_path)).to_pydict() == {"x": [1, 2, 3]}


def test_columns_may_stand_in_another_order(tmp_path):
    pq.write_table(TABLE, tmp_path / "0.parquet")
    pq.write_table(TABLE.select(["b", "a"]), tmp_path / "1.parquet")
    both = read_all(open_source(tmp_path))
    assert both.column("a").to_pylist() == 2 * TABLE.column("a").to_pylist()


def test_probes_show_all_types(tmp_path):
    for number, kind in enumerate([pa.float32(), pa.float32(), pa.float64(), pa.null()]):
        pq.write_table(pa.table({"x": pa.nulls(2, kind)}), tmp_path / f"{number}.parquet")
    probes = list(open_source(tmp_path).probe(["x"]))
    assert [str(p.frame.to_native().schema.field("x").type) for p in probes] == [
        "float",
        "double",
        "null",
    ]


def test_a_file_that_lacks_a_column_is_named(tmp_path):
    write_parts(tmp_path)
    pq.write_table(TABLE.select(["a"]), tmp_path / "part-1.parquet")
    with pytest.raises(DataError, match=r"part-1.parquet has no column 'b', which .*part-0"):
        read_all(open_source(tmp_path))


def test_a_file_with_another_type_is_named(tmp_path):
    write_parts(tmp_path)
    pq.write_table(
        TABLE.cast(pa.schema({"a": "string", "b": "string"})), tmp_path / "part-2.parquet"
    )
    with pytest.raises(DataError, match=r"column 'a' has type string in .*part-2.* int64 in"):
        read_all(open_source(tmp_path))
    pq.write_table(TABLE.cast(pa.schema({"a": "int8", "b": "string"})), tmp_path / "part-2.parquet")
    assert read_all(open_source(tmp_path)).num_rows == 18  # another width is fine


def test_paths_without_parquet_are_refused(tmp_path):
    with pytest.raises(DataError, match="neither a Parquet file nor a folder"):
        open_source(tmp_path / "missing.parquet")
    with pytest.raises(DataError, match="has no Parquet files"):
        open_source(tmp_path)
    (tmp_path / "x.parquet").write_text("something else")
    with pytest.raises(DataError, match=r"x.parquet cannot be read as Parquet"):
        open_source(tmp_path)


def test_iterators_that_are_used_up_are_refused():
    with pytest.raises(DataError, match="can be read only once; pass the function"):
        open_source(iter([TABLE]))
    used = iter([TABLE])
    source = open_source(lambda: used)
    source.list_columns()
    with pytest.raises(DataError, match="returned the same iterator again"):
        read_all(source)


def test_functions_that_return_something_else_are_refused():
    with pytest.raises(DataError, match="returned a int, and must return an iterator"):
        open_source(lambda: 3).list_columns()
    with pytest.raises(DataError, match=r"batch 0 of .* is a ndarray, and must be a record batch"):
        open_source(lambda: [np.zeros((2, 2))]).list_columns()
    with pytest.raises(DataError, match="is empty: it has 0 sample"):
        open_source(lambda: []).list_columns()
    parts = [TABLE, TABLE.select(["a"])]
    with pytest.raises(DataError, match=r"batch 1 of .* has no column 'b'"):
        read_all(open_source(lambda: parts))


def test_parquet_needs_an_extra(tmp_path, monkeypatch):
    pq.write_table(TABLE, tmp_path / "x.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"sumwise\[parquet\]"):
        open_source(tmp_path)


def test_frames_for_prediction_are_native(tmp_path):
    write_parts(tmp_path)
    frames = list(read_frames(tmp_path, ["b", "unknown", "a"], batch_rows=3))
    assert all(frame.column_names == ["b", "a"] for frame in frames)
    assert pa.concat_tables(frames).column("a").to_pylist() == list(range(10))
    frames = list(read_frames(lambda: [TABLE.to_pandas()]))
    assert [list(frame.columns) for frame in frames] == [["a", "b"]]
    with pytest.raises(DataError, match=r"has none of the columns \['c'\]"):
        list(read_frames(tmp_path, ["c"]))
    with pytest.raises(DataError, match="is empty"):
        list(read_frames(lambda: [TABLE.slice(0, 0)]))
