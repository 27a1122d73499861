import io
import re
import sys

import pytest

from sumwise.cli.comparing import board
from sumwise.cli.comparing.contenders import AUTOMATIC, Contender, Terms
from sumwise.cli.comparing.scores import METRICS
from sumwise.cli.comparing.validation import Decomposition, Result
from sumwise.cli.console import Console

ACCURACY = METRICS["classification"]["accuracy"]
CONTENDERS = [Contender("tree", "x", None, 1.0), Contender("forest", "x", None, 3.0)]


def run(contender, *scores, n_rows=10):
    result = Result(contender, n_rows)
    for score in scores:
        result.scores.append(score)
        result.fit_seconds.append(0.5)
        result.predict_seconds.append(0.1)
        result.members.append(100)
        result.decompositions.append(Decomposition(0.1, 0.2, 0.12, 0.02))
    return result


class Terminal(io.StringIO):
    def isatty(self):
        return True


def show_all():
    with board.show_board(Console(), CONTENDERS, ACCURACY, Terms(), 2) as show:
        show(run(CONTENDERS[0], 0.5))
        show(run(CONTENDERS[0], 0.5, 0.7))
        show(run(CONTENDERS[1], 0.9, 0.7))


def test_nothing_is_shown_if_nobody_watches(capsys):
    show_all()
    assert capsys.readouterr() == ("", "")


def test_lines_without_rich(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(board, "has_rich", lambda: False)
    show_all()
    lines = terminal.getvalue().splitlines()
    assert [line.split()[0] for line in lines] == ["method", "tree", "forest"]
    assert re.search(r"forest +0.8000 ± 2.\d+ +0.500 +100.0 +100 +50 %$", lines[2])
    assert len({line.index("fit s") + 5 for line in lines[:1]}) == 1
    assert max(map(len, lines)) <= 80


def test_live_table_shows_all_contenders_and_the_time(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    pytest.importorskip("rich")
    for name in ("TERM", "COLUMNS", "LINES"):
        monkeypatch.setenv(name, {"TERM": "xterm", "COLUMNS": "80", "LINES": "24"}[name])
    show_all()
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue())
    assert "2/2 done" in text
    assert "0.8000 ±" in text
    assert max(map(len, re.split("[\r\n]+", text))) <= 80


def test_the_time_left_follows_costs_and_limits(monkeypatch):
    automatic = Contender("auto", AUTOMATIC, None, 0.0)
    times = iter([0.0, 0.6, 5.0, 9.0])
    monkeypatch.setattr(board, "perf_counter", lambda: next(times))
    clock = board.Clock([*CONTENDERS, automatic], Terms(auto_seconds=10.0), 2)
    assert clock.find_left() is None
    clock.update(run(CONTENDERS[0], 0.5))
    # 0.6 s for a cost of 1: the rest costs 1 + 6, and the automatic ensemble two limits.
    assert clock.find_left() == pytest.approx(0.6 * 7 + 20)
    failed = run(CONTENDERS[1])
    failed.failure = "ValueError: x"
    clock.update(failed)
    clock.update(run(automatic, 0.5, 0.5))
    assert clock.n_done == 2
    assert clock.find_left() == pytest.approx(5.0 / 7 * 1)
