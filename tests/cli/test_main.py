import shlex
import signal
import subprocess
import sys

import pytest

import sumwise
from sumwise.cli import compare, warmup
from sumwise.cli.main import _COMMANDS, build_parser, main
from sumwise.cli.usage import UsageError
from sumwise.errors import DataError, ModelFileError, TrainingError


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


def fail_with(error, monkeypatch):
    def fail(args):
        raise error

    monkeypatch.setattr(warmup, "run", fail)


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (PermissionError("no entry"), 2, "error: no entry"),
        (FileNotFoundError(2, "No such file", "a.csv"), 2, "error: a.csv: No such file"),
        (UsageError("no column"), 2, "error: no column"),
        (DataError("X is empty"), 2, "error: X is empty"),
        (ModelFileError("damaged"), 2, "error: damaged"),
        (ImportError("pip install 'sumwise[onnx]'"), 2, "error: pip install 'sumwise[onnx]'"),
        (OSError(28, "No space left on device"), 1, "error: [Errno 28] No space left on device"),
        (TrainingError("not finite"), 1, "error: not finite"),
        (MemoryError(), 1, "error: MemoryError"),
        (ValueError("a bug"), 1, "error: ValueError: a bug (unexpected: --debug shows where)"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_errors_are_one_line_and_an_exit_code(error, code, message, monkeypatch, capsys):
    fail_with(error, monkeypatch)
    assert main(["warmup"]) == code
    assert capsys.readouterr().err == f"sumwise: {message}\n"


def test_debug_shows_the_traceback(monkeypatch, capsys):
    fail_with(ValueError("a bug"), monkeypatch)
    assert main(["warmup", "--debug"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("Traceback")
    assert err.endswith("\nsumwise: error: ValueError: a bug\n")


def test_a_misspelled_command_is_suggested(capsys):
    with pytest.raises(SystemExit):
        main(["predct"])
    assert "did you mean 'predict'?" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(_COMMANDS))
def test_help_of_every_command_has_examples(name, capsys):
    with pytest.raises(SystemExit) as exit_info:
        main([name, "--help"])
    assert exit_info.value.code == 0
    text = capsys.readouterr().out
    examples = text.partition("\nexamples:\n")[2].splitlines()
    assert examples
    parser = build_parser()
    for line in examples:
        words = shlex.split(line.partition("sumwise ")[2].partition(")")[0].partition(">")[0])
        assert words[0] == name
        parser.parse_args(words)  # exits if an option of an example is unknown


def test_help_lists_commands_and_exit_codes(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    assert all(f"    {name} " in text for name in _COMMANDS)
    assert "130  interrupted" in text


# --- as a process ---


def start(*argv, **options):
    command = [sys.executable, "-m", "sumwise.cli.main", *map(str, argv)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, **options)


def test_a_process_predicts_from_a_pipe_without_control_codes(flats, flats_model):
    process = start("predict", flats_model, "-", stdin=subprocess.PIPE)
    out, err = process.communicate(flats.read_bytes())
    assert process.returncode == 0
    assert out.startswith(b"flat_id,prediction\n1000,")
    assert len(out.splitlines()) == 201
    assert b"\x1b" not in out + err
    assert b"\r" not in out + err


def test_a_closed_pipe_ends_the_process_quietly(flats, flats_model, tmp_path):
    header, *rows = flats.read_text().splitlines(keepends=True)
    large = tmp_path / "large.csv"
    large.write_text(header + "".join(rows * 100))  # more than a pipe holds
    process = start("predict", flats_model, large, "-q")
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 141


def test_ctrl_c_ends_the_process_quietly(pets, tmp_path):
    path = tmp_path / "m.sumwise"
    options = ["--set", "n_estimators=10000000", "-o", path, "--jobs", 1]
    process = start("fit", pets, *options)
    lines = iter(process.stderr.readline, b"")
    assert any(line.startswith(b"training") for line in lines)
    process.send_signal(signal.SIGINT)
    assert process.stderr.read() == b"sumwise: interrupted\n"
    assert process.wait() == 130
    assert [each.name for each in tmp_path.iterdir()] == ["pets.csv"]


def test_commands_are_dispatched(monkeypatch):
    seen = []
    monkeypatch.setattr(compare, "run", seen.append)
    assert main(["compare", "--data", "digits", "--data", "friedman", "--jobs", "3"]) == 0
    (args,) = seen
    assert (args.data, args.folds, args.rounds) == (["digits", "friedman"], 5, 100)
    assert (args.jobs, args.report, args.save) == (3, [], None)
