"""The kernel cache: when it is used, when it is not, and that it never stands in the way.

A small package with a copy of jit.py and two kernels stands for the real one: it compiles in a
moment, and its sources can be edited.
"""

import logging
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from sumwise.kernels import jit

CALLEE = """
from small.jit import routine

@routine
def step(x):
    return x + {increment}
"""
CALLER = """
from small.callee import step
from small.jit import kernel

@kernel
def climb(n):
    total = 0
    for _ in range(n):
        total = step(total)
    return total

@kernel
def fall(n):
    return -n
"""
MAIN = """
import logging, os, sys
before = dict(os.environ)
logging.basicConfig(level=logging.INFO, format="LOG %(name)s %(message)s", stream=sys.stdout)
from small.caller import climb, fall
print("climbed", climb(3), climb(4), climb(3.0) if "float" in sys.argv else "")
print("fell", fall(5))
from numba.core.runtime import rtsys
print("compiler", "used" if rtsys._init else "not used")
print("environment", "same" if dict(os.environ) == before else "changed")
"""


class Package:
    """The small package in a folder of its own, and processes that import it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder / "cache"
        self.cwd = folder / "cwd"
        self.cwd.mkdir()
        (folder / "small").mkdir()
        (folder / "small" / "__init__.py").touch()
        (folder / "small" / "caller.py").write_text(CALLER)
        shutil.copy(jit.__file__, folder / "small" / "jit.py")
        self.set_increment(1)

    def set_increment(self, increment: int) -> None:
        (self.folder / "small" / "callee.py").write_text(CALLEE.format(increment=increment))

    def run(self, main: str = MAIN, **environment: str) -> str:
        variables = {**os.environ, "SUMWISE_CACHE_DIR": str(self.cache), **environment}
        variables["PYTHONPATH"] = str(self.folder)
        variables["PYTHONDONTWRITEBYTECODE"] = "1"
        done = subprocess.run(
            [sys.executable, "-c", main],
            cwd=self.cwd,
            env=variables,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        assert not done.stderr
        assert not list(self.cwd.iterdir())  # nothing is written where the user works
        assert main != MAIN or "environment same" in done.stdout
        return done.stdout

    def files(self, pattern: str = "*.nb?") -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in self.cache.rglob(pattern)}


def compiles(output: str) -> int:
    return output.count("LOG sumwise sumwise compiles its kernels")


@pytest.fixture
def package(tmp_path):
    return Package(tmp_path)


def test_an_edit_in_another_file_is_seen(package):
    first = package.run()
    assert "climbed 3 4" in first
    assert "fell -5" in first
    assert "compiler used" in first
    assert compiles(first) == 1  # announced once, for all kernels and all processes
    kept = package.files()
    assert len(kept) >= 4  # an index and the code, for both kernels

    again = package.run()
    assert "climbed 3 4" in again
    assert compiles(again) == 0
    assert "compiler not used" in again  # to make it ready would take longer than to load
    assert package.files() == kept

    package.set_increment(10)  # in callee.py; the kernel is in caller.py
    edited = package.run()
    assert "climbed 30 40" in edited
    assert compiles(edited) == 1

    package.set_increment(1)  # what was kept before is still good
    back = package.run()
    assert "climbed 3 4" in back
    assert compiles(back) == 0


STEPS = """
from small.jit import kernel, rename, routine

def make_step(increment):
    def step(x, n):
        for i in range(n):
{lines}
        return x
    return routine(rename(step, "step_" + str(increment)))

one, two = make_step(1), make_step(2)

@kernel
def by_one(n):
    return one(n, n) + one(n + 1, n) + one(n + 2, n) + one(n + 3, n)

@kernel
def by_two(n):
    return two(n, n) + two(n + 1, n) + two(n + 2, n) + two(n + 3, n)
"""


def test_a_cached_kernel_does_not_bring_its_routines_into_others(package):
    line = "            x = x * {k} + increment if x % {k} == 3 else x - increment * i"
    lines = "\n".join(line.format(k=k) for k in range(5, 60))  # too long to be inlined
    (package.folder / "small" / "steps.py").write_text(STEPS.format(lines=lines))
    (expected,) = package.run("import small.steps as s; print(s.by_two(9))").split()
    shutil.rmtree(package.cache)
    package.run("import small.steps as s; s.by_one(9)")
    # Here by_one comes from the cache, and by_two is compiled.
    (found,) = package.run("import small.steps as s; s.by_one(9); print(s.by_two(9))").split()
    assert found == expected


def test_two_routines_must_not_have_one_name():
    def step(x):
        return x

    jit.routine(jit.rename(step, "a step of a test"))
    with pytest.raises(ValueError, match="there is a routine a step of a test in"):
        jit.routine(jit.rename(step, "a step of a test"))


@pytest.mark.parametrize("pattern", ["*.nbc", "*.nbi"])
def test_a_broken_entry_is_a_miss_and_is_replaced(package, pattern):
    package.run()
    garbage = [b"", b"no such code"]
    broken = package.files(pattern)
    assert len(broken) == 2
    for path, content in zip(broken, garbage, strict=True):
        path.write_bytes(content)
    assert "climbed 3 4" in package.run()
    assert not set(garbage) & set(package.files(pattern).values())
    last = package.run()
    assert "climbed 3 4" in last
    assert compiles(last) == 0


def test_without_a_folder_kernels_are_compiled_each_time(package):
    package.cache.write_text("a file, where a folder should be made")
    for _ in range(2):
        output = package.run()
        assert "climbed 3 4" in output
        assert compiles(output) == 1
        assert "no folder to keep them in can be written to" in output


def test_what_cannot_be_written_is_no_error(package):
    package.run()
    for path in package.files():  # as if the disk were full: files cannot be made
        path.unlink()
        path.mkdir()
    assert "climbed 3 4" in package.run()


# In this process: which folder is taken


@pytest.fixture
def no_choice(monkeypatch, tmp_path):
    """Nothing is set that decides where the cache goes, but for a home in a new folder."""
    for name in ("SUMWISE_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(jit.tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    return tmp_path


def test_a_read_only_folder_is_passed_over(no_choice, monkeypatch):
    def refuse(dir):
        if "home" in str(dir):
            raise PermissionError(13, "read-only", str(dir))
        return open_temporary(dir=dir)

    open_temporary = jit.tempfile.TemporaryFile
    monkeypatch.setattr(jit.tempfile, "TemporaryFile", refuse)
    folder = jit.find_cache_folder.__wrapped__()
    assert folder.is_relative_to(no_choice / "temporary")


def find_folder():
    return jit.find_cache_folder.__wrapped__()


def test_the_folder_is_named_after_the_sources():
    assert jit.hash_sources() == jit.hash_sources.__wrapped__()
    folder = jit.find_cache_folder()
    assert folder is None or folder.name == jit.hash_sources()


def test_the_hash_covers_every_kernel_file(tmp_path, monkeypatch):
    for path in Path(jit.__file__).parent.glob("*.py"):
        shutil.copy(path, tmp_path)
    monkeypatch.setattr(jit, "__file__", str(tmp_path / "jit.py"))
    original = jit.hash_sources.__wrapped__()
    assert original == jit.hash_sources()
    for path in sorted(tmp_path.glob("*.py")):
        text = path.read_bytes()
        path.write_bytes(text + b"\n")
        assert jit.hash_sources.__wrapped__() != original, path.name
        path.write_bytes(text)
    # a file that moves is an edit, too
    (tmp_path / "split.py").rename(tmp_path / "splits.py")
    assert jit.hash_sources.__wrapped__() != original


def test_the_chosen_folder_comes_first(no_choice, monkeypatch):
    monkeypatch.setenv("SUMWISE_CACHE_DIR", str(no_choice / "chosen"))
    assert find_folder() == no_choice / "chosen" / jit.hash_sources()
    # no other is taken instead
    monkeypatch.setenv("SUMWISE_CACHE_DIR", os.devnull)
    assert find_folder() is None


@pytest.mark.skipif(sys.platform != "linux", reason="each platform has its own place")
def test_the_usual_folders(no_choice, monkeypatch):
    assert find_folder() == no_choice / "home/.cache/sumwise" / jit.hash_sources()
    monkeypatch.setenv("XDG_CACHE_HOME", str(no_choice / "xdg"))
    folder = find_folder()
    assert folder == no_choice / "xdg/sumwise" / jit.hash_sources()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert not list(folder.iterdir())  # what it tried to write is gone
    (no_choice / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(no_choice / "file"))
    assert find_folder().parent.parent == no_choice / "temporary"


@pytest.mark.parametrize("home", ["relative", "~"])
def test_no_folder_is_made_where_the_user_works(no_choice, monkeypatch, home):
    """Without a home, "~" stays as it is."""
    monkeypatch.chdir(no_choice)
    monkeypatch.setattr(jit.os.path, "expanduser", lambda path: path.replace("~", home))
    assert find_folder().parent.parent == no_choice / "temporary"
    assert [path.name for path in no_choice.iterdir()] == ["temporary"]


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners here")
def test_the_folder_of_another_user_is_not_trusted(no_choice, monkeypatch):
    monkeypatch.setenv("SUMWISE_CACHE_DIR", str(no_choice / "chosen"))
    find_folder()
    monkeypatch.setattr(jit.os, "getuid", lambda: 12345678)
    assert find_folder() is None


def test_importing_sumwise_changes_nothing(tmp_path):
    script = textwrap.dedent(
        """
        import logging, os, sys
        before = dict(os.environ)
        import sumwise
        import sumwise.kernels.grow
        assert dict(os.environ) == before
        assert not os.listdir()
        logger = logging.getLogger("sumwise")
        assert logger.level == logging.NOTSET and not logger.handlers
        slow = {"matplotlib", "rich", "sklearn.ensemble", "sklearn.model_selection"}
        assert not slow & set(sys.modules)  # imported where they are needed
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_failure_of_the_cache_is_only_logged(caplog, monkeypatch):
    @jit.kernel
    def double(x):
        return 2 * x

    def refuse(*_):
        raise OSError("disk on fire")

    monkeypatch.setattr(jit.FunctionCache, "_load_overload", refuse)
    monkeypatch.setattr(jit.FunctionCache, "save_overload", refuse)
    with caplog.at_level(logging.DEBUG, logger="sumwise"):
        assert double(21) == 42
    messages = " ".join(record.getMessage() for record in caplog.records)
    if jit.find_cache_folder() is not None:
        assert "unreadable kernel cache entry" in messages
        assert "could not write the kernel cache" in messages
