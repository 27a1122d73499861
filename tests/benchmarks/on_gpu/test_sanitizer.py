import sys
from pathlib import Path

import pytest

from benchmarks.on_gpu import sanitizer
from benchmarks.on_gpu.settings import SETTINGS

CLEAN = "========= ERROR SUMMARY: 0 errors\n"
RACES = "========= RACECHECK SUMMARY: 3 hazards displayed (2 errors, 1 warning)\n"


def test_settings_exist() -> None:
    assert set(sanitizer.NAMES) <= set(SETTINGS)


def test_summaries_are_read() -> None:
    assert sanitizer.count_errors(CLEAN) == 0
    assert sanitizer.count_errors(RACES) == 3
    assert sanitizer.count_errors("========= ERROR SUMMARY: 1 error\n") == 1
    assert sanitizer.count_errors(CLEAN + RACES) == 3
    assert sanitizer.count_errors("Device not supported") is None


@pytest.mark.parametrize(
    ("output", "n_errors"), [(CLEAN, 0), (RACES, 3), ("Device not supported", None)]
)
def test_a_tool_is_run(
    output: str, n_errors: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "compute-sanitizer"
    program.write_text(f"#!{sys.executable}\nprint({output!r})\n")
    program.chmod(0o755)
    monkeypatch.setattr(sanitizer, "find_sanitizer", lambda: str(program))
    monkeypatch.setattr(sanitizer, "fit_small", lambda names: None)
    outcome = sanitizer.run(["dart"], ["memcheck"])
    assert outcome.content["memcheck"]["errors"] == n_errors
    assert bool(outcome.problems) == (n_errors != 0)


def test_without_the_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sanitizer, "find_sanitizer", lambda: None)
    assert sanitizer.run().problems == ["compute-sanitizer is not installed: it comes with CUDA"]


def test_what_the_tools_watch() -> None:
    sanitizer.fit_small(["dart"], "cpu")
