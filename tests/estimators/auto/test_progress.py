"""Progress on standard error: lines, a bar on a terminal, or nothing."""

import builtins
import io
import sys

from sumwise.estimators.auto.progress import MemberState, show_members

STATE = MemberState("leaf_quick", "log_loss 0.25", "0.25", 12.0, 60.0)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def show(wanted=True):
    with show_members(wanted) as report:
        report(STATE)
        report(STATE._replace(name="linear", limit=float("inf")))


def test_nothing_is_shown_if_not_wanted(capsys):
    show(wanted=False)
    assert capsys.readouterr() == ("", "")


def test_a_line_for_each_member(capsys):
    show()
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "leaf_quick: log_loss 0.25  best 0.25  12 s of 1:00",
        "linear: log_loss 0.25  best 0.25  12 s",
    ]


def test_a_bar_on_a_terminal(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    show()
    assert "leaf_quick: log_loss 0.25" in terminal.getvalue()
    assert "members" in terminal.getvalue()


def test_lines_on_a_terminal_without_rich(monkeypatch):
    own = builtins.__import__

    def refuse(name, *args, **options):
        if name.startswith("rich"):
            raise ImportError(name)
        return own(name, *args, **options)

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(builtins, "__import__", refuse)
    show()
    assert terminal.getvalue().startswith("leaf_quick: log_loss 0.25  best 0.25")
