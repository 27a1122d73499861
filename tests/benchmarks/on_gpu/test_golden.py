import json
from pathlib import Path

import pytest

from benchmarks.on_gpu import golden
from benchmarks.on_gpu.settings import SETTINGS


def test_hashes_are_written_and_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "models.json"
    monkeypatch.setattr(golden, "NAMES", ("dart",))
    hashes = {"cuda": "1234", "cpu": "5678"}
    monkeypatch.setattr(golden, "hash_model", lambda name, device: hashes[device])
    outcome = golden.run(path, gpu="an emulator")
    assert golden.read_hashes(path) == {"dart": "1234"}
    assert json.loads(path.read_text())["gpu"] == "an emulator"
    assert outcome.problems == ["golden model dart: the CPU's has other bytes"]
    assert not golden.run(path, "cpu").problems


def test_models_are_settings_of_every_growth() -> None:
    settings = [SETTINGS[name] for name in golden.NAMES]
    growths = {setting.params.get("growth", "leaf") for setting in settings}
    assert growths == {"leaf", "depth", "symmetric"}
