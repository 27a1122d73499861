"""Progress in notebooks: one output of the cell, which is updated."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from sumwise import AutoEnsembleRegressor, GradientBoostingRegressor
from sumwise.training.notebook import NotebookBar, find_display

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))


class Cell:
    """What IPython's ``display`` shows, and the handle that it returns."""

    def __init__(self):
        self.shown = []
        self.n_outputs = 0

    def display(self, content, display_id=None):
        assert display_id is True
        self.n_outputs += 1
        self.update(content)
        return self

    def update(self, content):
        self.shown.append(content)

    @property
    def texts(self):
        return [repr(content) for content in self.shown]


@pytest.fixture
def cell(monkeypatch):
    """A notebook, as far as this process can tell."""
    own = Cell()
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=own.display))
    return own


def test_a_terminal_is_no_notebook(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert find_display() is None
    for shell in (None, SimpleNamespace()):  # imported only; IPython in a terminal
        module = SimpleNamespace(get_ipython=lambda shell=shell: shell)
        monkeypatch.setitem(sys.modules, "IPython", module)
        assert find_display() is None


def test_a_fit_updates_one_output_up_to_the_last_round(cell, capfd):
    GradientBoostingRegressor(n_estimators=20, verbose=True).fit(X, X[:, 0])
    assert cell.n_outputs == 1
    assert cell.texts[-1].startswith("round 20/20  training_loss ")
    assert capfd.readouterr() == ("", "")


def test_a_silent_fit_shows_nothing(cell):
    GradientBoostingRegressor(n_estimators=3).fit(X, X[:, 0])
    assert cell.n_outputs == 0


def test_an_automatic_ensemble_shows_its_members(cell, capfd):
    model = AutoEnsembleRegressor(
        time_limit=None, members=["linear"], preset="fast", n_folds=2, verbose=True
    )
    model.fit(X, X[:, 0])
    assert cell.n_outputs == 1
    assert cell.texts[-1].startswith("linear: rmse ")
    assert capfd.readouterr().err == ""


def test_bars_are_html_with_escaped_texts(cell):
    bar = NotebookBar(find_display())
    bar.update(0.25, "a < b")
    bar.update(None, "unknown")
    bar.update(7.0, "late")
    known, unknown, late = (content._repr_html_() for content in cell.shown)
    assert '<progress max="1" value="0.250"' in known
    assert "a &lt; b" in known
    assert "value=" not in unknown
    assert 'value="1.000"' in late
    assert cell.n_outputs == 1
