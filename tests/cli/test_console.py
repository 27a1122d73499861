import io
import json
import warnings

import numpy as np

from sumwise.cli.console import Console, is_terminal, to_plain


def test_results_and_messages_have_streams_of_their_own(capsys):
    console = Console()
    console.say("reading")
    console.print_table(("name", "n"), [("a", "1"), ("bcd", "22")])
    console.print_json({"a": 1})
    found = capsys.readouterr()
    assert found.err == "reading\n"
    assert found.out == "name   n\na      1\nbcd   22\n"


def test_json_replaces_text_and_quiet_silences_messages(capsys):
    console = Console(quiet=True, as_json=True)
    console.say("reading")
    console.print("text")
    console.print_json({"a": np.float64("nan"), "b": np.array([1, 2]), "c": np.int64(3)})
    found = capsys.readouterr()
    assert found.err == ""
    assert json.loads(found.out) == {"a": None, "b": [1, 2], "c": 3}


def test_warnings_are_lines_and_each_is_shown_once(capsys):
    with Console(quiet=True).show_warnings():
        for _ in range(2):
            warnings.warn("look out", UserWarning, stacklevel=1)
            warnings.warn("later", FutureWarning, stacklevel=1)
    assert capsys.readouterr().err == "sumwise: warning: look out\n"


def test_a_terminal_that_cannot_show_a_character_shows_a_question_mark(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii"))
    Console().print("R² ± 1")
    assert raw.getvalue() == b"R? ? 1\n"


def test_lines_are_overwritten_only_for_a_person(capsys, monkeypatch):
    with Console().overwrite() as show:
        show("long text")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sumwise.cli.console.is_terminal", lambda stream: True)
    with Console().overwrite() as show:
        show("long text")
        show("short")
    assert capsys.readouterr().err == "\rlong text\rshort    \r     \r"


def test_closed_streams_are_no_terminals():
    stream = io.StringIO()
    stream.close()
    assert not is_terminal(stream)
    assert to_plain((1, None, "a", True)) == [1, None, "a", True]
