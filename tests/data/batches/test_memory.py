"""Limits are read from text and from the system, and tables are cut to fit."""

import numpy as np
import pytest

from sumwise.data.batches import memory
from sumwise.data.batches.memory import (
    PAGE_ROWS,
    choose_batch_rows,
    find_free_memory,
    plan_memory,
    read_memory_limit,
    show_size,
)
from sumwise.errors import MemoryLimitError, ParameterError


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        (1000, 1000),
        (np.int32(7), 7),
        ("123", 123),
        ("4GB", 4_000_000_000),
        ("512 mb", 512_000_000),
        ("1.5GiB", 3 << 29),
        (" 2k ", 2000),
        ("1T", 10**12),
    ],
)
def test_sizes_are_read(text, n_bytes):
    assert read_memory_limit(text) == n_bytes


@pytest.mark.parametrize("wrong", ["", "GB", "4 gigs", "-1GB", 0, -5, 1.5, True, "nan", "0MB"])
def test_other_sizes_are_refused(wrong):
    with pytest.raises(ParameterError, match="memory_limit="):
        read_memory_limit(wrong)


def test_free_memory_is_that_of_the_machine_at_most():
    assert 0 < read_memory_limit(None) < 1 << 50


def write_group(folder, limit, usage, cached, names):
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in zip(names, (limit, usage, f"rss 5\n{names[3]} {cached}\n"), strict=False):
        (folder / name).write_text(f"{value}\n")


V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat", "total_inactive_file")
V2 = ("memory.max", "memory.current", "memory.stat", "inactive_file")


@pytest.mark.parametrize(
    ("line", "top", "names"),
    [
        ("0::/jobs/mine", "sys/fs/cgroup", V2),
        ("4:cpu,memory:/jobs/mine", "sys/fs/cgroup/memory", V1),
    ],
)
def test_limits_of_containers_count(tmp_path, line, top, names):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(f"7:pids:/x\n{line}\n")
    write_group(tmp_path / top / "jobs/mine", 1000, 600, 100, names)
    write_group(tmp_path / top / "jobs", "max", 600, 100, names)
    write_group(tmp_path / top, 800, 700, 0, names)
    assert list(memory._read_control_groups(tmp_path)) == [500, 100]
    (tmp_path / "proc/self/cgroup").write_text(line.replace("mine", "of-the-host"))
    assert list(memory._read_control_groups(tmp_path)) == [100]
    assert list(memory._read_control_groups(tmp_path / "nowhere")) == []


def test_the_tightest_limit_counts(monkeypatch):
    monkeypatch.setattr(memory, "_read_machine", lambda: iter([500]))
    monkeypatch.setattr(memory, "_read_control_groups", lambda root: iter([900, 300]))
    monkeypatch.setattr(memory, "_read_own_limit", lambda: iter([]))
    assert find_free_memory() == 300
    for name in ("_read_machine", "_read_control_groups"):
        monkeypatch.setattr(memory, name, lambda *_: iter([]))
    assert find_free_memory() > 1 << 30


def test_batches_are_smaller_if_there_are_many_columns():
    assert choose_batch_rows(8 << 30, 28) == 1 << 16
    assert 1 << 10 < choose_batch_rows(1 << 30, 1000) < 1 << 16
    assert choose_batch_rows(1 << 20, 1000) == 1 << 10


def test_pages_stay_in_memory_if_they_fit():
    plan = plan_memory(4 << 30, 4_000_000, 28)
    assert plan.keeps_pages
    assert plan.page_rows == PAGE_ROWS
    assert 4_000_000 * 28 * 2 <= plan.binned_bytes <= 4_000_000 * 28 * 3
    assert plan.keeps_sample
    assert not plan_memory(300_000_000, 4_000_000, 28).keeps_pages
    assert not plan_memory(600_000_000, 4_000_000, 200).keeps_sample
    assert plan_memory(4 << 30, 10, 64, n_threads=16).binned_bytes > 10 * 64 * 2
    assert not plan_memory(4 << 30, 4_000_000, 28, reserved=4_000_000_000).keeps_pages


def test_pages_of_wide_tables_have_fewer_rows():
    plan = plan_memory(1 << 30, 1_000_000, 2000)
    assert not plan.keeps_pages
    assert plan.page_rows * 2000 * 3 <= 1 << 27


def test_too_little_memory_for_the_rows_is_an_error():
    with pytest.raises(
        MemoryLimitError, match=r"1000000 rows of 28 features need at least .*44 MB"
    ):
        plan_memory(40_000_000, 1_000_000, 28)
    with pytest.raises(MemoryLimitError, match="raise memory_limit"):
        plan_memory(100_000_000, 1_000_000, 28, n_outputs=10)


def test_sizes_are_shown_in_words():
    assert [show_size(n) for n in (5, 1500, 44_000_000, 10**13)] == [
        "5 bytes",
        "1.5 kB",
        "44 MB",
        "10 TB",
    ]
