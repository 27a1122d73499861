import pytest

from benchmarks.compat import LIBRARIES, main


def test_a_tiny_run(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--rows", "300", "--rounds", "5", "--only", "friedman"])
    _, *lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines[:3]] == list(LIBRARIES)
    assert all(0.5 < float(line.split()[-1]) < 2.0 for line in lines[3:])
