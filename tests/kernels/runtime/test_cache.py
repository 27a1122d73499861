"""The kernel cache: when it is used, when it is not, and that it never stands in the way.

A small package with copies of the modules that make kernels, and two kernels, stands for the real
one: it compiles in a moment, and its sources can be edited.
"""

import json
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sumwise
from sumwise.kernels.runtime import cache, jit

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
print("compiler", "used" if "small.compiling" in sys.modules else "not used")
print("environment", "same" if dict(os.environ) == before else "changed")
"""


MODULES = ("arguments", "cache", "compiling", "jit", "library", "loading", "machine_code")


# Importing Numba takes most of the time of a process: one does so, and forks one per script.
FORKS = """
import io, json, os, sys, traceback
import numba.core.registry, numba.extending

def run(script, path, cwd, variables):
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    output = [sys.stdout, sys.stderr]
    try:
        os.environ.clear()
        os.environ.update(variables)
        os.chdir(cwd)
        sys.path.insert(0, path)
        exec(compile(script, "script", "exec"), {"__name__": "__main__"})
    except BaseException:
        traceback.print_exc(file=output[1])
    return json.dumps([stream.getvalue() for stream in output])

for line in sys.stdin:
    reader, writer = os.pipe()
    if os.fork() == 0:
        with open(writer, "w") as answer:
            answer.write(run(*json.loads(line)))
        os._exit(0)
    os.close(writer)
    with open(reader) as answer:
        print(answer.read(), flush=True)
    os.wait()
"""


@pytest.fixture(scope="module")
def run_script():
    """A function that runs a script in a process of its own and returns (stdout, stderr)."""
    if not hasattr(os, "fork"):
        yield run_alone
        return
    process = subprocess.Popen(
        [sys.executable, "-c", FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def run_fork(*args):
        print(json.dumps(args), file=process.stdin, flush=True)
        return json.loads(process.stdout.readline())

    with process:
        yield run_fork
        process.stdin.close()


def run_alone(script, path, cwd, variables):
    command = [sys.executable, "-c", script]
    variables = {**variables, "PYTHONPATH": path}
    done = subprocess.run(
        command, cwd=cwd, env=variables, capture_output=True, text=True, timeout=120
    )
    return done.stdout, done.stderr


class Package:
    """The small package in a folder of its own, and processes that import it."""

    def __init__(self, folder: Path, run_script: Callable[..., Any]) -> None:
        self.folder = folder
        self.cache = folder / "cache"
        self.cwd = folder / "cwd"
        self.cwd.mkdir()
        self.run_script = run_script
        (folder / "small").mkdir()
        (folder / "small" / "__init__.py").touch()
        (folder / "small" / "caller.py").write_text(CALLER)
        for name in MODULES:
            path = Path(cache.__file__).with_name(f"{name}.py")
            text = path.read_text().replace("sumwise.kernels.runtime", "small")
            (folder / "small" / path.name).write_text(text)
        self.set_increment(1)

    def set_increment(self, increment: int) -> None:
        (self.folder / "small" / "callee.py").write_text(CALLEE.format(increment=increment))

    def run(self, main: str = MAIN, **environment: str) -> str:
        variables = {**os.environ, "SUMWISE_CACHE_DIR": str(self.cache), **environment}
        variables["PYTHONDONTWRITEBYTECODE"] = "1"
        output, errors = self.run_script(main, str(self.folder), str(self.cwd), variables)
        assert not errors
        assert not list(self.cwd.iterdir())  # nothing is written where the user works
        assert main != MAIN or "environment same" in output
        return output

    def files(self, pattern: str = "*.kernel") -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in self.cache.rglob(pattern)}


def compiles(output: str) -> int:
    return output.count("LOG sumwise sumwise compiles its kernels")


@pytest.fixture
def package(tmp_path, run_script):
    return Package(tmp_path, run_script)


def test_an_edit_in_another_file_is_seen(package):
    first = package.run()
    assert "climbed 3 4" in first
    assert "fell -5" in first
    assert "compiler used" in first
    assert compiles(first) == 1  # announced once, for all kernels and all processes
    kept = package.files()
    assert len(kept) == 2  # a file for each kernel

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
from small.jit import kernel, routine

def make_step(increment):
    def step(x, n):
        for i in range(n):
{lines}
        return x
    return routine(step)

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
    lines = "\n".join(line.format(k=k) for k in range(5, 40))  # too long to be inlined
    (package.folder / "small" / "steps.py").write_text(STEPS.format(lines=lines))
    (expected,) = package.run("import small.steps as s; print(s.by_two(9))").split()
    shutil.rmtree(package.cache)
    package.run("import small.steps as s; s.by_one(9)")
    # Here by_one comes from the cache, and by_two is compiled.
    (found,) = package.run("import small.steps as s; s.by_one(9); print(s.by_two(9))").split()
    assert found == expected


def test_a_damaged_file_is_a_miss_and_is_replaced(package):
    """Machine code is never run unless it is what was written."""
    package.run()
    files = package.files()
    assert len(files) == 2
    (first, content), (_, other) = files.items()
    flipped = content[:-100] + bytes([content[-100] ^ 4]) + content[-99:]
    for damaged in (b"", content[:-9], flipped, other):
        first.write_bytes(damaged)
        again = package.run()
        assert "climbed 3 4" in again
        assert "fell -5" in again
        assert compiles(again) == 1
        assert first.read_bytes() not in (damaged, b"")
    assert compiles(package.run()) == 0


def test_an_edit_recompiles_what_depends_on_it_and_nothing_else(package):
    (package.folder / "small" / "other.py").write_text(
        "from small.jit import kernel\n\n@kernel\ndef negate(n):\n    return -n\n"
    )
    main = MAIN + "\nfrom small.other import negate\nprint('negated', negate(2))"
    package.run(main)
    others = {path for path in package.files() if path.parent.name.startswith("other-")}
    assert len(others) == 1
    package.set_increment(10)
    assert "climbed 30 40" in package.run(main)
    assert {p for p in package.files() if p.parent.name.startswith("other-")} == others


FIELDS = """
from typing import NamedTuple
class Pair(NamedTuple):
    {first}: int
    {second}: int
"""
READS_FIELD = """
from small.jit import kernel

@kernel
def get_left(pair):
    return pair.left
"""


def test_the_fields_of_an_argument_count(package):
    """A kernel may not import the module of the named tuples that it is called with."""
    (package.folder / "small" / "reads.py").write_text(READS_FIELD)
    main = "from small.pairs import Pair; from small.reads import get_left; p = Pair(1, 2)"
    for fields in (("left", "right"), ("right", "left")):
        text = FIELDS.format(first=fields[0], second=fields[1])
        (package.folder / "small" / "pairs.py").write_text(text)
        found = package.run(main + "; print(get_left(p), p.left)").split()
        assert found[0] == found[1]


READ_ONLY = """
from small import cache
def refuse(*_, **__):
    raise PermissionError(13, "read-only")
cache.tempfile.TemporaryFile = cache._write_checked = refuse
"""


def test_a_read_only_cache_is_read(package):
    package.run()
    output = package.run(READ_ONLY + MAIN)
    assert "climbed 3 4" in output
    assert compiles(output) == 0
    # what is not there is compiled, and cannot be kept
    shutil.rmtree(package.cache)
    package.cache.mkdir(mode=0o700)
    output = package.run(READ_ONLY + MAIN)
    assert "climbed 3 4" in output
    assert "in every process: no folder can be written to" in output


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners here")
def test_a_cache_of_root_can_be_read_by_others_and_written_by_nobody_else(package):
    previous = os.umask(0o002)  # as where every user has a group
    try:
        package.run()
    finally:
        os.umask(previous)
    folders = [package.cache, *package.cache.iterdir()]
    assert {folder.stat().st_mode & 0o777 for folder in folders} == {0o755}
    assert {path.stat().st_mode & 0o777 for path in package.files()} == {0o644}


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners here")
def test_what_others_could_have_written_is_not_read(package):
    package.run()
    for mode in (0o775, 0o757):
        for folder in package.cache.iterdir():
            folder.chmod(mode)
        output = package.run()
        assert "climbed 3 4" in output
        assert compiles(output) == 1


def test_without_a_folder_kernels_are_compiled_each_time(package):
    package.cache.write_text("a file, where a folder should be made")
    for _ in range(2):
        output = package.run()
        assert "climbed 3 4" in output
        assert compiles(output) == 1
        assert "in every process: no folder can be written to" in output


def test_what_cannot_be_written_is_no_error(package):
    package.run()
    for path in package.files():  # as if the disk were full: files cannot be made
        path.unlink()
        path.mkdir()
    assert "climbed 3 4" in package.run()


WATCHED = """
import sys
sys.stderr.isatty = lambda: True
from small.caller import fall
sys.stderr = sys.stdout
sys.stdout.isatty = lambda: True
fall(5)
"""


def test_a_person_is_told_why_the_first_fit_takes_long(package):
    first = package.run(WATCHED)
    assert first.startswith("sumwise compiles its kernels for this machine; this takes about")
    assert first.count("\n") == 1
    assert package.run(WATCHED) == ""


def test_notebooks_are_watched_and_pipes_are_not(tmp_path):
    class Stream:
        __module__ = "ipykernel.iostream"

    assert cache._is_watched(Stream())
    assert not cache._is_watched(None)
    with (tmp_path / "log").open("w") as file:
        assert not cache._is_watched(file)
    assert not cache._is_watched(file)  # closed


# In this process: which folder is taken


@pytest.fixture
def no_choice(monkeypatch, tmp_path):
    """Nothing is set that decides where the cache goes, but for a home in a new folder."""
    for name in ("SUMWISE_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    return tmp_path


def find_root():
    return cache.find_writable_root.__wrapped__()


def test_a_read_only_folder_is_passed_over(no_choice, monkeypatch):
    def refuse(dir):
        if "home" in str(dir):
            raise PermissionError(13, "read-only", str(dir))
        return open_temporary(dir=dir)

    open_temporary = cache.tempfile.TemporaryFile
    monkeypatch.setattr(cache.tempfile, "TemporaryFile", refuse)
    assert find_root().is_relative_to(no_choice / "temporary")


GROWER = "sumwise.kernels.grow.best_first"


def path_of(name, source):
    return source.joinpath(*name.split(".")).with_suffix(".py")


def hash_grower(source):
    cache._read_source.cache_clear()
    return cache.hash_sources.__wrapped__(GROWER, str(path_of(GROWER, source)))


def test_the_hash_covers_all_that_a_module_needs(tmp_path):
    source = Path(sumwise.__file__).parents[1]
    needed = cache.find_closure(GROWER, str(path_of(GROWER, source)))
    used = ("runtime.compiling", "runtime.jit", "runtime.threads", "grow.layout", "grow.frontier")
    assert {GROWER, "sumwise.errors", *(f"sumwise.kernels.{name}" for name in used)} <= needed
    unused = ("runtime.cache", "runtime.loading", "forest.grow", "predict.walk", "adaboost.shallow")
    assert not {f"sumwise.kernels.{name}" for name in unused} & needed

    shutil.copytree(source / "sumwise" / "kernels", tmp_path / "sumwise" / "kernels")
    shutil.copy(source / "sumwise" / "errors.py", tmp_path / "sumwise")
    original = hash_grower(tmp_path)
    assert original == hash_grower(source)
    paths = {path_of(name, tmp_path) for name in needed}
    for path in sorted(paths):
        text = path.read_bytes()
        path.write_bytes(text + b"\n")
        assert hash_grower(tmp_path) != original, path
        path.write_bytes(text)
    for path in {*tmp_path.rglob("*.py")} - paths:
        path.write_bytes(path.read_bytes() + b"\n")
    assert hash_grower(tmp_path) == original


def test_imports_are_found_however_they_are_written(tmp_path):
    folder = tmp_path / "package" / "inner"
    folder.mkdir(parents=True)
    main = """
import package.a
from package import b
from package.inner import (  # several
    c,
    d,
)
from package.inner.e import f
import numpy
def later():
    from package.inner import g as h
"""
    (folder / "main.py").write_text(main)
    for name in ("a", "b", "inner/c", "inner/d", "inner/e", "inner/g", "unused"):
        (tmp_path / "package" / f"{name}.py").touch()
    found = cache.find_closure("package.inner.main", str(folder / "main.py"))
    names = ("a", "inner.c", "inner.d", "inner.e", "inner.g", "inner.main", "b")
    assert found == {f"package.{name}" for name in names}


def test_the_chosen_folder_comes_first(no_choice, monkeypatch):
    monkeypatch.setenv("SUMWISE_CACHE_DIR", str(no_choice / "chosen"))
    assert find_root() == no_choice / "chosen"
    # no other is taken instead
    monkeypatch.setenv("SUMWISE_CACHE_DIR", os.devnull)
    assert find_root() is None


@pytest.mark.skipif(sys.platform != "linux", reason="each platform has its own place")
def test_the_usual_folders(no_choice, monkeypatch):
    assert find_root() == no_choice / "home/.cache/sumwise"
    monkeypatch.setenv("XDG_CACHE_HOME", str(no_choice / "xdg"))
    folder = find_root()
    assert folder == no_choice / "xdg/sumwise"
    assert folder.stat().st_mode & 0o022 == 0
    assert not list(folder.iterdir())  # what it tried to write is gone
    (no_choice / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(no_choice / "file"))
    assert find_root().parent == no_choice / "temporary"


@pytest.mark.parametrize("home", ["relative", "~"])
def test_no_folder_is_made_where_the_user_works(no_choice, monkeypatch, home):
    """Without a home, "~" stays as it is."""
    monkeypatch.chdir(no_choice)
    monkeypatch.setattr(cache.os.path, "expanduser", lambda path: path.replace("~", home))
    assert find_root().parent == no_choice / "temporary"
    assert [path.name for path in no_choice.iterdir()] == ["temporary"]


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners here")
def test_the_folder_of_another_user_is_not_trusted(no_choice, monkeypatch):
    monkeypatch.setenv("SUMWISE_CACHE_DIR", str(no_choice / "chosen"))
    root = find_root()
    if os.getuid() == 0:  # root's own folders are trusted by all
        os.chown(root, 1234567, -1)
    monkeypatch.setattr(cache.os, "getuid", lambda: 12345678)
    assert find_root() is None
    assert not cache.is_ours(root)


def test_only_folders_are_ours(tmp_path):
    assert cache.is_ours(tmp_path)
    (tmp_path / "file").touch()
    assert not cache.is_ours(tmp_path / "file")
    assert not cache.is_ours(tmp_path / "nothing")


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="links need rights here")
def test_a_linked_folder_of_kernels_is_not_read(package):
    package.run()
    for folder in list(package.cache.iterdir()):
        moved = folder.rename(package.folder / folder.name)
        folder.symlink_to(moved)
    assert compiles(package.run()) == 1


def test_a_failure_of_the_cache_is_only_logged(caplog, monkeypatch):
    @jit.kernel
    def double(x):
        return 2 * x

    def refuse(*_):
        raise OSError("disk on fire")

    monkeypatch.setattr(cache, "_read_checked", refuse)
    monkeypatch.setattr(cache, "_write_checked", refuse)
    with caplog.at_level(logging.DEBUG, logger="sumwise"):
        assert double(21) == 42
    messages = " ".join(record.getMessage() for record in caplog.records)
    assert "unreadable kernel cache entry" in messages
    if cache.find_writable_root() is not None:
        assert "could not write the kernel cache" in messages
