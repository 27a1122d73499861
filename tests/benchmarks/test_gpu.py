import json
from pathlib import Path

import pytest

from benchmarks import gpu
from benchmarks.gpu import main, parse_arguments
from benchmarks.on_gpu.outcome import Outcome
from benchmarks.report import Table


def test_parts_are_run_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Table("Found", ("what", "much"), [("a", "1")])
    monkeypatch.setitem(gpu.PARTS, "memory", lambda parsed: Outcome([table], {"a": 1}))
    monkeypatch.setitem(gpu.PARTS, "golden", lambda parsed: Outcome([], [], ["a hash differs"]))
    path = tmp_path / "gpu.json"
    assert main(["memory", "--json", str(path)]) == 0
    assert "Found\n" in capsys.readouterr().out
    assert main(["memory", "golden", "--json", str(path)]) == 1
    assert capsys.readouterr().out.endswith("\na hash differs\n1 problems\n")
    content = json.loads(path.read_text())
    assert content["memory"] == {"a": 1}
    assert content["machine"]["gpu"]


def test_equality_of_the_cpu_with_itself(capsys: pytest.CaptureFixture[str]) -> None:
    run = ["equality", "--rows", "200", "--rounds", "1", "--only", "l1", "--devices", "cpu"]
    assert main(run) == 0
    assert "200 rows, cpu" in capsys.readouterr().out


def test_unknown_parts_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_arguments(["equal"])
    assert "there is no part 'equal'; there are equality, " in capsys.readouterr().err


def test_every_part_is_described() -> None:
    assert all(f"\n{name}" in (gpu.__doc__ or "") for name in gpu.PARTS)
    assert parse_arguments([]).parts == []
