from benchmarks.wide import SHAPES, TEST_ROWS, load, main


def test_the_features_that_matter_can_be_learned() -> None:
    X, y, X_test, y_test = load("tiny")
    assert X.shape == SHAPES["tiny"]
    assert X_test.shape[0] == y_test.size == TEST_ROWS
    assert 4 < y.std() < 6


def test_a_tiny_run(capsys) -> None:
    own = ["--models", "sumwise", "XGBoost", "--shares", "1", "0.3"]
    main(["--sets", "tiny", "--trees", "2", "--repeat", "1", *own])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[-4:]] == [
        ["sumwise", "1"],
        ["XGBoost", "1"],
        ["sumwise", "0.3"],
        ["XGBoost", "0.3"],
    ]
    assert "0%" in lines[-4]
