"""A wheel has what users and type checkers need, and nothing else."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-c", BUILD, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        return set(wheel.namelist())


def test_type_checkers_find_the_types(names):
    assert "sumwise/py.typed" in names


def test_every_module_is_there(names):
    source = ROOT / "src"
    modules = {path.relative_to(source).as_posix() for path in source.rglob("*.py")}
    assert modules <= names
    assert "sumwise/compat/lightgbm/parameters.py" in modules


def test_nothing_else_is_there(names):
    folders = {name.split("/")[0] for name in names}
    assert len(folders) == 2  # the package, and its metadata
    assert "sumwise" in folders
    assert any(name.endswith("licenses/LICENSE") for name in names)
