import matplotlib
import numpy as np

from examples import iris_regions

matplotlib.use("Agg")


def test_regions_of_all_models(tmp_path, capsys):
    panels = iris_regions.main(["--quick", "--out", str(tmp_path / "new")])
    assert [panel.name for panel in panels[-2:]] == ["soft voting", "stacking"]
    assert all(panel.accuracy > 0.9 for panel in panels)
    assert all(set(np.unique(panel.data.regions)) == {0, 1, 2} for panel in panels)
    assert (tmp_path / "new" / "iris_regions.png").stat().st_size > 10_000
    assert "stacking             accuracy" in capsys.readouterr().out


def test_nothing_is_written_by_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    iris_regions.main(["--quick"])
    assert not list(tmp_path.iterdir())
