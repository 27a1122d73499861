import argparse
import shutil
import subprocess

import pytest

from sumwise.cli.completion import SHELLS
from sumwise.cli.main import build_parser, main
from sumwise.cli.shells import list_commands, write_script


def complete(script, *words):
    """Return what bash offers for the last of the words."""
    array = " ".join(f"'{word}'" for word in words)
    code = (
        f"{script}\nCOMP_WORDS=({array}); COMP_CWORD={len(words) - 1}; _sumwise; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_options_and_choices():
    script = write_script("bash", build_parser())
    assert complete(script, "sumwise", "e") == ["evaluate", "explain", "export"]
    assert complete(script, "sumwise", "fit", "--va") == ["--valid"]
    assert complete(script, "sumwise", "fit", "--model", "b") == ["boosting"]
    assert complete(script, "sumwise", "completion", "f") == ["fish"]
    assert complete(script, "sumwise", "predict", "rows") == []  # files, by bash itself


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_name_every_command_and_option(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for command in list_commands(build_parser()):
        assert command.name in script
        for flag in command.flags:
            assert flag.lstrip("-") in script


def test_quotes_and_brackets_in_help_are_escaped():
    parser = argparse.ArgumentParser()
    command = parser.add_subparsers().add_parser("go", help="it's [go]: 100 %%")
    command.add_argument("--way", help="a [b]: it's", choices=("x", "y"))
    assert "'*--way[a (b)\\: it'\\''s]:value:(x y)'" in write_script("zsh", parser)
    assert "-l way -x -a 'x y' -d 'a [b]: it'\\''s'" in write_script("fish", parser)
