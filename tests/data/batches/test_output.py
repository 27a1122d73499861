"""Predictions arrive in the file as a whole, or not at all."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from sumwise.data.batches.output import ParquetOutput


def test_batches_are_appended(tmp_path):
    path = tmp_path / "out.parquet"
    with ParquetOutput(path) as output:
        output.write({"label": np.array(["a", "b"], dtype=object), "p": np.array([0.5, 1.0])})
        assert not path.exists()
        output.write({"label": np.array(["c"], dtype=object), "p": np.array([0.25])})
    assert pq.read_table(path).to_pydict() == {"label": ["a", "b", "c"], "p": [0.5, 1.0, 0.25]}
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_keeps_the_old_file(tmp_path):
    path = tmp_path / "out.parquet"
    path.write_text("old")

    def fail():
        with ParquetOutput(path) as output:
            output.write({"p": np.array([1.0])})
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
