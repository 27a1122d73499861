import pytest

from benchmarks.splits import load, main


def test_classes_are_both_there() -> None:
    X, y = load(1_000)
    assert X.shape == (1_000, 28)
    assert 0.2 < y.mean() < 0.8


@pytest.mark.parametrize("method", ["approx", "exact"])
def test_a_tiny_run(method, capsys) -> None:
    models = [f"sumwise {method}", f"XGBoost {method}"]
    main(["--rows", "500", "--trees", "2", "--repeat", "1", "--bins", "16", "--models", *models])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines[-2:]] == models
    assert len(lines[-2].split()) == len(lines[-1].split()) + 1  # the ratio
