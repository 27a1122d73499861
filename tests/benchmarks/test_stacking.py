from benchmarks.stacking import main, make_members


def test_there_are_ten_members_and_all_differ() -> None:
    members = make_members(5)
    assert len({name for name, _ in members}) == 10
    assert len({repr(member) for _, member in members}) == 10


def test_a_tiny_run(capsys) -> None:
    main(["--rows", "300", "--trees", "1", "--repeat", "1"])
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.strip().startswith("300 rows: ours")
    assert "ratio" in line
