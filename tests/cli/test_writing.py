import numpy as np
import pytest
from pyarrow import feather, parquet

from sumwise.cli import writing
from sumwise.cli.reading.files import read_table
from sumwise.cli.usage import UsageError

COLUMNS = {
    "id": np.array([1, 2]),
    "text": np.array(["a,b", None], dtype=object),
    "number": np.array([0.1, np.nan]),
    "flag": np.array([True, False]),
    "day": np.array(["2026-01-31", "NaT"], "datetime64[us]"),
}


def test_csv_and_json_lines(capsys):
    writing.write_columns(COLUMNS, None, "csv")
    assert capsys.readouterr().out == (
        'id,text,number,flag,day\n1,"a,b",0.1,true,2026-01-31T00:00:00.000000\n2,,,false,\n'
    )
    writing.write_columns(COLUMNS, "-", "jsonl")
    assert '"number": null' in capsys.readouterr().out.splitlines()[1]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "arrow"])
def test_files_are_read_as_they_were_written(suffix, tmp_path):
    path = str(tmp_path / f"t.{suffix}")
    writing.write_columns(COLUMNS, path, writing.find_output_format(path, None))
    table = read_table(path)
    assert table.get("text").tolist() == ["a,b", None]
    np.testing.assert_array_equal(table.get("number"), COLUMNS["number"])
    readers = {"parquet": parquet.read_table, "arrow": feather.read_table}
    if suffix in readers:
        assert str(readers[suffix](path).schema.field("day").type) == "timestamp[us]"


@pytest.mark.parametrize(
    ("path", "given", "expected"),
    [
        (None, None, "csv"),
        ("a.parquet", None, "parquet"),
        ("a.x", None, "csv"),
        ("-", "jsonl", "jsonl"),
    ],
)
def test_format_of_the_output(path, given, expected):
    assert writing.find_output_format(path, given) == expected


@pytest.mark.usefixtures("_no_arrow")
def test_formats_that_need_arrow_are_refused_before_the_work():
    with pytest.raises(UsageError, match=r"the output is Parquet.*sumwise\[parquet\]"):
        writing.find_output_format("a.parquet", None)
    assert writing.find_output_format("a.jsonl", None) == "jsonl"


def test_targets_are_checked_before_the_work(tmp_path, monkeypatch):
    writing.check_target(None)
    writing.check_target(str(tmp_path / "new.csv"))
    with pytest.raises(UsageError, match="a directory, not a file"):
        writing.check_target(str(tmp_path))
    with pytest.raises(UsageError, match="there is no folder"):
        writing.check_target(str(tmp_path / "a" / "b.csv"))
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(UsageError, match="you may not write there"):
        writing.check_target(str(tmp_path / "new.csv"))


def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "report.md"
    path.write_text("old")

    def fail(*args):
        raise OSError(28, "disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        writing.write_file(path, "new")
    assert [each.read_text() for each in tmp_path.iterdir()] == ["old"]
