from benchmarks.multi_target import load, main, make_models


def test_targets_are_of_the_same_functions() -> None:
    X, y = load(500, 3)
    assert X.shape == (500, 20)
    assert y.shape == (500, 3)
    assert (load(500, 3, seed=1)[1] != y).all()


def test_a_tiny_run(capsys) -> None:
    main(["--rows", "300", "--targets", "2", "--trees", "2", "--repeat", "1", "--jobs", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert [" ".join(line.split()[:2]) for line in lines[-4:]] == list(make_models(1, 1))
