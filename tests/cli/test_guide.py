"""The examples of shells in the guide run, in their order."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

from sumwise.cli.main import main

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "command_line.md"


def test_the_examples_of_the_guide_run(tmp_path, monkeypatch, capfd):
    text = GUIDE.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for example in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(example, {})
    commands = re.findall(r"^\$ (.*)$", text, flags=re.MULTILINE)
    assert len(commands) > 15
    used = set()
    for command in commands:
        if "|" in command:
            define = f'sumwise() {{ {sys.executable} -m sumwise.cli.main "$@"; }}\n'
            done = subprocess.run(["bash", "-c", define + command], capture_output=True, text=True)
            assert done.stdout.startswith("flat_id,prediction\n1500,"), command
            assert done.stderr == "", command
        else:
            program, *words = shlex.split(command)
            assert program == "sumwise"
            assert main(words) == 0, (command, capfd.readouterr().err)
            used.add(words[0])
    assert used == {
        "fit",
        "evaluate",
        "predict",
        "info",
        "explain",
        "diversity",
        "export",
        "compare",
    }
    for name in ("predictions.csv", "contributions.csv", "rent.c", "report.html", "best.sumwise"):
        assert (tmp_path / name).stat().st_size > 0
