import numpy as np
import pytest

from benchmarks.importing import CASES, main, make_targets


def test_targets() -> None:
    X = np.linspace(0, 1, 100, dtype=np.float32)[:, None]
    targets = make_targets(X, np.zeros(100, dtype=np.int64))
    assert np.bincount(targets["five"]).tolist() == [20] * 5


@pytest.mark.parametrize("name", ["LightGBM", "RandomForest, 5 classes"])
def test_a_tiny_run(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--train", "300", "--rows", "400", "--trees", "2", "--repeat", "1", "--jobs", "1"]
    main([*sizes, "--only", name, "--cpu-time"])
    *_, line = capsys.readouterr().out.splitlines()
    assert line.startswith(name)
    assert float(line.split()[-1]) < 1e-12


def test_every_library_has_a_case() -> None:
    assert {case.convert.__name__ for case in CASES.values()} == {
        "from_catboost",
        "from_lightgbm",
        "from_sklearn",
        "from_xgboost",
    }
