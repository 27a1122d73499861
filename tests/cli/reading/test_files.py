import io
import sys

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from sumwise.cli.reading.files import ReadOptions, read_table
from sumwise.cli.usage import UsageError

TABLE = pa.table({"a": [1, 2], "b": ["x", None]})
TEXTS = {"csv": "a,b\n1,x\n2,\n", "jsonl": '{"a": 1, "b": "x"}\n{"a": 2}\n'}


def write(path):
    if path.suffix == ".parquet":
        parquet.write_table(TABLE, path)
    elif path.suffix == ".feather":
        feather.write_feather(TABLE, path)
    elif path.suffix == ".arrows":
        with pa.ipc.new_stream(path, TABLE.schema) as writer:
            writer.write_table(TABLE)
    else:
        path.write_text(TEXTS[path.suffix[1:]])
    return path


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "feather", "arrows"])
@pytest.mark.parametrize("piped", [False, True])
def test_formats_are_recognized(suffix, piped, tmp_path, monkeypatch):
    path = write(tmp_path / f"t.{suffix}")
    if piped:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    table = read_table("-" if piped else str(path))
    assert table.names == ("a", "b")
    assert table.get("a").tolist() == [1, 2]
    assert table.get("b").tolist() == ["x", None]


def test_options_are_passed_on(tmp_path):
    path = tmp_path / "t.txt"
    path.write_bytes("Malmö#?\n".encode("latin-1"))
    options = ReadOptions("csv", "#", header=False, encoding="latin-1", missing=("?",))
    table = read_table(str(path), options)
    assert table.get("column_1").tolist() == ["Malmö"]
    assert table.get("column_2")[0] != table.get("column_2")[0]


def test_columns_that_must_be_text(tmp_path):
    assert read_table(str(write(tmp_path / "t.csv")), as_text={"a"}).get("a").tolist() == ["1", "2"]


@pytest.mark.usefixtures("_no_arrow")
def test_without_arrow_the_extra_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"t.parquet is a file of Parquet.*sumwise\[parquet\]"):
        read_table(str(write(tmp_path / "t.parquet")))
    assert read_table(str(write(tmp_path / "t.csv"))).n_rows == 2


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.parquet", b"a,b\n", "a.parquet is not a file of Parquet"),
        ("a.parquet", b"PAR1oops", "cannot be read as Parquet"),
        ("a.arrow", b"ARROW1oops", "cannot be read as Arrow"),
        ("a.csv", "x\nMalmö\n".encode("latin-1"), "a.csv, line 2: not utf-8"),
        ("a.csv.gz", b"\x1f\x8b123", "is compressed"),
        ("a.csv", b"  ", "is empty"),
    ],
)
def test_what_is_wrong_is_said(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=message):
        read_table(str(tmp_path / name))


def test_absent_files_and_folders(tmp_path):
    with pytest.raises(UsageError, match="there is no such file"):
        read_table(str(tmp_path / "a.csv"))
    with pytest.raises(UsageError, match="is a folder"):
        read_table(str(tmp_path))
