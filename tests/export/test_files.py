"""Where model files go to and come from: paths, links, open files, bytes."""

import errno
import gzip
import io
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading

import pytest

from sumwise.errors import ModelFileError
from sumwise.export.files import name_source, read_bytes, write_bytes

POSIX = pytest.mark.skipif(os.name != "posix", reason="of POSIX systems")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.sumwise"


def list_files(path):
    return sorted(os.listdir(path.parent))


# Paths


@POSIX
@pytest.mark.parametrize("is_relative", [True, False])
def test_a_link_stays_a_link(tmp_path, is_relative):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to("folder/target" if is_relative else target)
    write_bytes(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert sorted(os.listdir(tmp_path)) == ["folder", "link"]
    assert os.listdir(tmp_path / "folder") == ["target"]


@POSIX
def test_a_link_to_a_file_that_is_not_there_yet(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_bytes(tmp_path / "link", b"new")
    assert (tmp_path / "target").read_bytes() == b"new"


@POSIX
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
def test_a_file_keeps_its_permissions(path, mode):
    path.write_bytes(b"old")
    path.chmod(mode)
    write_bytes(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


@POSIX
def test_a_new_file_has_the_permissions_that_new_files_have(path):
    write_bytes(path, b"new")
    other = path.with_name("other")
    other.write_bytes(b"new")
    assert path.stat().st_mode == other.stat().st_mode


@POSIX
def test_a_pipe_stays_a_pipe(path):
    os.mkfifo(path)
    received = []
    reader = threading.Thread(target=lambda: received.append(path.read_bytes()))
    reader.start()
    write_bytes(path, b"new")
    reader.join()
    assert received == [b"new"]
    assert path.is_fifo()


def test_a_full_disk_is_told_with_the_path(path, monkeypatch):
    def fail(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=r"No space left.*model\.sumwise") as caught:
        write_bytes(path, b"new")
    assert caught.value.errno == errno.ENOSPC
    assert list_files(path) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_device_that_is_full_is_named():
    with pytest.raises(OSError, match="/dev/full"):
        write_bytes("/dev/full", b"new")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


# What is left after a kill

SAVE_AND_DIE = """
import os, signal, sys
from sumwise.export.files import write_bytes
os.fsync = lambda fd: os.kill(os.getpid(), signal.SIGKILL)
write_bytes(sys.argv[1], b"unfinished")
"""


def kill_a_save(path):
    ended = subprocess.run([sys.executable, "-c", SAVE_AND_DIE, str(path)], check=False)
    assert ended.returncode == -signal.SIGKILL


@POSIX
def test_the_next_save_removes_what_a_killed_one_left(path):
    other = path.with_name("other")
    kill_a_save(path)
    kill_a_save(other)
    assert len(list_files(path)) == 2
    write_bytes(path, b"new")
    assert path.read_bytes() == b"new"
    assert len(list_files(path)) == 2  # what was left of the other file is not its business
    write_bytes(other, b"new")
    assert list_files(path) == [path.name, "other"]


@POSIX
def test_saves_at_the_same_time_leave_each_other_alone(path, monkeypatch):
    """A second save begins and ends while the first is about to finish."""
    sync, nested = os.fsync, []

    def save_another(fd):
        sync(fd)
        if not nested:
            nested.append(True)
            write_bytes(path, b"second")
            assert path.read_bytes() == b"second"

    monkeypatch.setattr(os, "fsync", save_another)
    write_bytes(path, b"first")
    assert path.read_bytes() == b"first"
    assert list_files(path) == [path.name]


def test_many_saves_at_the_same_time(path):
    contents = [bytes([k]) * 100_000 for k in range(4)]
    errors = []

    def save_often(content):
        try:
            for _ in range(20):
                write_bytes(path, content)
                assert read_bytes(path) in contents
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=save_often, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert list_files(path) == [path.name]


# Open files and bytes


def test_open_files(path):
    with path.open("wb") as file:
        file.write(b"before")
        write_bytes(file, b"model")
        assert not file.closed
    assert path.read_bytes() == b"beforemodel"
    with path.open("rb") as file:
        file.seek(6)
        assert read_bytes(file) == b"model"


def test_files_in_memory_and_compressed(path):
    memory = io.BytesIO()
    write_bytes(memory, b"model")
    memory.seek(0)
    assert read_bytes(memory) == b"model"
    with gzip.open(path, "wb") as file:
        write_bytes(file, b"model" * 1000)
    with gzip.open(path, "rb") as file:
        assert read_bytes(file) == b"model" * 1000


def test_a_file_that_takes_little_at_a_time():
    class Slow(io.RawIOBase):
        def __init__(self):
            self.taken = b""

        def writable(self):
            return True

        def write(self, data):
            self.taken += bytes(data[:3])
            return min(3, len(data))

    file = Slow()
    write_bytes(file, b"something longer")
    assert file.taken == b"something longer"


@pytest.mark.parametrize("content", [b"model", bytearray(b"model"), memoryview(b"model")])
def test_bytes_are_content(content):
    assert bytes(read_bytes(content)) == b"model"


@pytest.mark.parametrize("make", [io.StringIO, tempfile.SpooledTemporaryFile])
def test_text_files_are_refused(make):
    with make(mode="w+") if make is not io.StringIO else make() as file:
        with pytest.raises(TypeError, match=r"text mode.*'wb'"):
            write_bytes(file, b"model")
        with pytest.raises(TypeError, match=r"text mode.*'rb'"):
            read_bytes(file)


@pytest.mark.parametrize("value", [None, 3, [b"model"]])
def test_other_things_are_refused(value):
    with pytest.raises(TypeError, match="pass a path or a file opened in binary mode"):
        write_bytes(value, b"model")
    with pytest.raises(TypeError, match="or bytes"):
        read_bytes(value)


def test_bytes_are_no_place_to_save_to():
    with pytest.raises(TypeError, match="cannot save to bytes"):
        write_bytes(b"model", b"model")


def test_errors_name_the_file_if_it_has_a_name(path):
    path.write_bytes(b"")
    with path.open("rb") as file:
        for source in (path, str(path), file):
            with (
                pytest.raises(ModelFileError, match=r"model\.sumwise: damaged"),
                name_source(source),
            ):
                raise ModelFileError("damaged")
    for source in (b"", io.BytesIO()):
        with pytest.raises(ModelFileError, match=r"^damaged"), name_source(source):
            raise ModelFileError("damaged")
