"""Progress: on standard error only, a bar on a terminal and few lines elsewhere."""

import io
import sys

import numpy as np
import pytest

from sumwise import GradientBoostingRegressor
from sumwise.training.callbacks import RoundState
from sumwise.training.progress import format_seconds, show_progress

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = X[:, 0] + RNG.normal(size=60)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def open_terminal(monkeypatch):
    """A function to call within the test: pytest sets standard error after fixtures have run."""

    def open_one():
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "120")
        monkeypatch.setattr(sys, "stderr", Terminal())
        return sys.stderr

    return open_one


@pytest.fixture
def no_rich(monkeypatch):
    for name in ("rich", "rich.progress", "rich.console"):
        monkeypatch.setitem(sys.modules, name, None)


def show(n_shown, n_rounds, first=1, pause=1.0):
    """Show some rounds that each take some time."""
    with show_progress(True) as (callback,):
        for k in range(n_shown):
            scores = {"training_loss": 1 / (k + 1)}
            callback(RoundState(first + k, n_rounds, scores, (k + 1) * pause, lambda: None))


def test_few_lines_where_there_is_no_terminal(capfd):
    show(200, 200)
    out, err = capfd.readouterr()
    assert out == ""
    numbers = [int(line.split()[1].partition("/")[0]) for line in err.splitlines()]
    assert numbers == [1, *range(20, 201, 20)]
    assert err.splitlines()[1] == "round 20/200  training_loss 0.05  3:00 left"


def test_a_line_for_each_of_few_rounds(capfd):
    show(4, 4)
    assert len(capfd.readouterr().err.splitlines()) == 4


def test_the_last_round_is_shown_where_training_stops_early(capfd):
    show(33, 200)
    assert capfd.readouterr().err.splitlines()[-1].startswith("round 33/200")


def test_time_left_counts_the_rounds_of_this_fit(capfd):
    show(2, 104, first=101)
    lines = capfd.readouterr().err.splitlines()
    assert lines[-1].endswith("2 s left")


@pytest.mark.usefixtures("no_rich")
def test_one_line_on_a_terminal_without_rich(open_terminal):
    terminal = open_terminal()
    show(50, 50, pause=0.03)
    text = terminal.getvalue()
    assert text.count("\n") == 1
    assert text.endswith("\n")
    lines = text.strip().split("\r")
    assert 10 < len(lines) < 20
    assert lines[-1].startswith("round 50/50")


def test_a_bar_on_a_terminal(open_terminal, capsys):
    pytest.importorskip("rich")
    terminal = open_terminal()
    show(50, 50)
    text = terminal.getvalue()
    assert "50/50" in text
    assert "training_loss 0.02" in text
    assert "0 s left" in text
    assert capsys.readouterr().out == ""


def test_printing_during_a_bar_stays_on_standard_output(open_terminal, capsys):
    pytest.importorskip("rich")
    terminal = open_terminal()
    params = {"n_estimators": 3, "verbose": True, "callbacks": [lambda state: print("mine")]}
    GradientBoostingRegressor(**params).fit(X, Y)
    assert capsys.readouterr().out == "mine\n" * 3
    assert "3/3" in terminal.getvalue()


@pytest.mark.parametrize("with_rich", [True, False])
def test_an_error_closes_the_bar(with_rich, open_terminal, request):
    if not with_rich:
        request.getfixturevalue("no_rich")

    terminal = open_terminal()

    def fail(state):
        raise RuntimeError("enough")

    model = GradientBoostingRegressor(n_estimators=3, verbose=True, callbacks=[fail])
    with pytest.raises(RuntimeError, match="enough"):
        model.fit(X, Y)
    assert terminal.getvalue().endswith("\n") or "\x1b[?25h" in terminal.getvalue()


def test_nothing_is_shown_unless_wanted(capfd):
    with show_progress(False) as callbacks:
        assert callbacks == []
    with show_progress(True):
        pass  # no round, nothing to show
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "0 s"), (59.4, "59 s"), (59.6, "1:00"), (125, "2:05"), (3725, "1:02:05")],
)
def test_times(seconds, text):
    assert format_seconds(seconds) == text


def fit_aloud(capfd, **params):
    params = {"min_samples_leaf": 5, "random_state": 0, "verbose": True, **params}
    model = GradientBoostingRegressor(**params).fit(X, Y)
    return model, capfd.readouterr().err.splitlines()


def test_the_last_line_names_the_best_round(capfd):
    model, lines = fit_aloud(capfd, n_estimators=500, early_stopping=True)
    n_rounds, best = model.history_["validation_loss"].size, model.best_iteration_
    assert n_rounds < 500
    assert lines[-1] == (
        f"stopped at round {n_rounds}, best round {best}, validation_loss {model.best_score_:.6g}"
    )
    assert lines[-2].startswith(f"round {n_rounds}/500")


def test_the_last_line_of_a_fit_that_was_not_stopped(capfd):
    model, lines = fit_aloud(capfd, n_estimators=5, early_stopping=True, scoring="r2")
    best = model.best_iteration_
    score = f"validation_score {model.best_score_:.6g}"
    assert lines[-1] == f"trained 5 rounds, best round {best}, {score}"


def test_the_last_line_of_rows_left_out(capfd):
    params = {"n_estimators": 50, "early_stopping": "oob", "sampler": "subsample"}
    model, lines = fit_aloud(capfd, **params)
    total = model.oob_improvement_[: model.best_iteration_].sum()
    assert lines[-1].endswith(
        f"best round {model.best_iteration_}, sum of oob_improvement {total:.6g}"
    )


def test_no_best_round_without_early_stopping(capfd):
    assert "best round" not in fit_aloud(capfd, n_estimators=3)[1][-1]
