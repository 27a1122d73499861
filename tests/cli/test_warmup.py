import re

from sumwise.cli.main import main
from sumwise.cli.warmup import warm_up


def test_warm_up_returns_seconds():
    assert warm_up() > 0


def test_warmup_prints_the_seconds(monkeypatch, capsys):
    monkeypatch.setattr("sumwise.cli.warmup.warm_up", lambda: 1.25)
    assert main(["warmup"]) == 0
    assert re.fullmatch(r"Kernels ready in 1\.\d s\n", capsys.readouterr().out)
