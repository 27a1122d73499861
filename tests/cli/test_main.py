import pytest

import sumwise
from sumwise.cli import compare, warmup
from sumwise.cli.main import main


def test_version(capsys):
    with pytest.raises(SystemExit) as exit_info:
        main(["--version"])
    assert exit_info.value.code == 0
    assert capsys.readouterr().out == f"sumwise {sumwise.__version__}\n"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "COMMAND"),
        (["train"], "invalid choice: 'train'"),
        (["compare", "--data", "mnist"], "invalid choice: 'mnist'"),
        (["compare", "--folds", "1"], "expected an integer of at least 2, got '1'"),
        (["compare", "--rounds", "0"], "expected an integer of at least 1, got '0'"),
        (["compare", "--jobs", "two"], "expected an integer of at least 1, got 'two'"),
    ],
)
def test_bad_usage_exits_with_2(argv, message, capsys):
    with pytest.raises(SystemExit) as exit_info:
        main(argv)
    assert exit_info.value.code == 2
    assert message in capsys.readouterr().err


def test_error_exits_with_2(monkeypatch, capsys):
    def fail(args):
        raise PermissionError("no entry")

    monkeypatch.setattr(warmup, "run", fail)
    assert main(["warmup"]) == 2
    assert capsys.readouterr().err == "sumwise: error: no entry\n"


def test_bug_keeps_its_traceback(monkeypatch):
    def fail(args):
        raise ValueError("a bug")

    monkeypatch.setattr(warmup, "run", fail)
    with pytest.raises(ValueError, match="a bug"):
        main(["warmup"])


def test_commands_are_dispatched(monkeypatch):
    seen = []
    monkeypatch.setattr(compare, "run", seen.append)
    assert main(["compare", "--data", "digits", "--data", "friedman", "--jobs", "3"]) == 0
    (args,) = seen
    assert (args.data, args.folds, args.rounds) == (["digits", "friedman"], 5, 100)
    assert (args.jobs, args.report) == (3, None)
