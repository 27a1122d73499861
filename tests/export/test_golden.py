"""Model files of every format version: later versions read them and predict the same bits."""

import io
import json

import pytest

from sumwise import load
from tests.golden import write

EXPECTED = json.loads(write.EXPECTED.read_text())
NAMES = sorted(path.stem for path in write.FOLDER.glob("*.sumwise"))
MOST_BYTES = 6 * 1024


def read(name):
    return (write.FOLDER / f"{name}.sumwise").read_bytes()


def save(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def record(model, name):
    return write.record_predictions(model, EXPECTED[name]["table"], name in write.ROUNDED)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_predicts_what_it_did_when_it_was_written(name):
    model = load(read(name))
    assert record(model, name) == EXPECTED[name]


@pytest.mark.parametrize("name", NAMES)
def test_a_loaded_model_can_be_saved_again(name):
    again = save(load(read(name)))
    assert record(load(again), name) == EXPECTED[name]
    if name not in write.WRITTEN_BEFORE:
        assert again == read(name)


@pytest.mark.parametrize("name", NAMES)
def test_names_end_in_the_format_version(name):
    version = int.from_bytes(read(name)[8:12], "little")
    assert name.endswith(f"_v{version}")


def test_every_file_has_expectations_and_is_small():
    assert sorted(EXPECTED) == NAMES
    assert {*write.MODELS, "regressor_v1"} == set(NAMES)
    assert all(len(read(name)) <= MOST_BYTES for name in NAMES)


def test_every_format_version_is_there():
    assert {name.rpartition("_v")[2] for name in NAMES} == {"1", "2", "3", "4", "5", "6"}


def test_files_are_never_written_again(tmp_path):
    name = "decision_tree_regressor_v3"
    with pytest.raises(FileExistsError, match="never written again"):
        write.write(name)
    write.write(name, tmp_path)
    model = load(tmp_path / f"{name}.sumwise")
    assert json.loads((tmp_path / "expected.json").read_text()) == {name: record(model, name)}
    with pytest.raises(FileExistsError, match="never written again"):
        write.write(name, tmp_path)
