from benchmarks.adaboost import main


def test_a_tiny_run(capsys) -> None:
    main(["--rows", "300", "--rounds", "2", "--repeat", "1"])
    first, second = capsys.readouterr().out.splitlines()[-2:]
    assert first.startswith("classifier,")
    assert second.startswith("regressor,")
    assert "ratio" in first
