import pytest

from benchmarks.adaboost import main


@pytest.mark.parametrize("depth", [[], ["--depth", "4"]], ids=["shallow", "deep"])
def test_a_tiny_run(depth, capsys) -> None:
    main(["--rows", "300", "--rounds", "2", "--repeat", "1", *depth])
    first, second = capsys.readouterr().out.splitlines()[-2:]
    assert first.startswith("classifier,")
    assert second.startswith("regressor,")
    assert "ratio" in first
