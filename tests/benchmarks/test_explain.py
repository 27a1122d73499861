import pytest

from benchmarks.explain import main


@pytest.mark.parametrize(
    ("case", "models"),
    [
        ("leaf", ["sumwise", "LightGBM", "XGBoost"]),
        ("symmetric", ["sumwise", "CatBoost"]),
        ("interactions", ["sumwise", "XGBoost"]),
        ("interventional forest", ["sumwise"]),
    ],
)
def test_a_tiny_run(case, models, capsys, monkeypatch) -> None:
    monkeypatch.setattr("benchmarks.explain.N_TRAIN", 300)
    sizes = ["--rows", "50", "--trees", "2", "--repeat", "1", "--jobs", "1"]
    main([*sizes, "--cases", case, "--models", *models])
    lines = capsys.readouterr().out.splitlines()[-len(models) :]
    assert [line.split()[0] for line in lines] == models
    assert all(float(line.split()[-1]) < 1e-5 for line in lines)
    assert float(lines[0].split()[-1]) < 1e-9
