from benchmarks.team import main


def test_a_tiny_run(capsys) -> None:
    main(["--threads", "1", "2", "--calls", "10", "--barriers", "10"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["threads", "1", "2"]
    assert [line.split("  ")[0] for line in lines[3:]] == [
        "a barrier",
        "a call of a waiting team",
        "a call after 3 ms of pause",
    ]
