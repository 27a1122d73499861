import numpy as np
import pytest

from examples import iris_regions


def test_regions_of_all_models(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    regions = iris_regions.main(["--quick", "--out", str(tmp_path / "new")])
    assert [region.name for region in regions[-2:]] == ["soft voting", "stacking"]
    assert all(region.accuracy > 0.9 for region in regions)
    assert all(set(np.unique(region.classes)) == {0, 1, 2} for region in regions)
    assert (tmp_path / "new" / "iris_regions.png").stat().st_size > 10_000
    assert "stacking             accuracy" in capsys.readouterr().out


def test_nothing_is_written_by_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    iris_regions.main(["--quick"])
    assert not list(tmp_path.iterdir())
