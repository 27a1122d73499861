import json
import sys

import pytest

from benchmarks.rivals import Settings
from benchmarks.scale import (
    EXTERNAL,
    FITS,
    IN_MEMORY,
    OUT_OF_CORE,
    compare,
    digest,
    main,
    write_files,
)

SETTINGS = Settings(n_trees=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("parts")
    write_files(path, 3_000)
    return path


def test_both_ways_give_the_same_model(folder) -> None:
    models = [FITS[name](folder, SETTINGS, 50_000_000) for name in (IN_MEMORY, OUT_OF_CORE)]
    assert digest(models[0]) == digest(models[1])


def test_external_memory_trains(folder) -> None:
    pytest.importorskip("xgboost")
    assert FITS[EXTERNAL](folder, SETTINGS, 0).num_boosted_rounds() == 2


def test_a_table_of_measurements(folder, monkeypatch) -> None:
    def measure(name, *_):
        if name == EXTERNAL:
            return None
        return {"seconds": 2.0, "cpu": 3.0, "resident": 4e6, "private": 3e6, "digest": "same"}

    monkeypatch.setattr("benchmarks.scale.measure", measure)
    table = compare(folder, 3_000, SETTINGS, 0.25, True, 1)
    assert [row[1] for row in table.rows] == ["2.00 s", "2.00 s", "failed"]
    assert "enforced" in table.title


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_a_process_measures_itself(folder, capsys, monkeypatch) -> None:
    monkeypatch.setattr("benchmarks.scale.warm_up", lambda *_: None)
    main(["--fit", json.dumps([OUT_OF_CORE, str(folder), {"n_trees": 2}, 50_000_000, False])])
    assert '"digest": "' in capsys.readouterr().out
