"""Docstrings are complete; the examples of public names and READMEs run as printed."""

import doctest
import re
import subprocess
import sys
from inspect import getdoc, getmembers
from pathlib import Path

import matplotlib
import pytest
from matplotlib import pyplot

import sumwise
from sumwise import dask, diversity, export, inspection, peers, plotting, report, theory
from sumwise.compat import catboost, lightgbm, xgboost
from sumwise.docstrings import fill_docstring

matplotlib.use("Agg")

THEORY = [
    name
    for name, thing in getmembers(theory)
    if getattr(thing, "__module__", None) == "sumwise.theory" and not name.startswith("_")
]
PUBLIC = [
    *((sumwise, name) for name in sumwise.__all__ if not name.startswith("_")),
    *(
        (module, name)
        for module in (dask, diversity, inspection, plotting, report, lightgbm, catboost)
        for name in module.__all__
    ),
    *((theory, name) for name in THEORY),
    (peers, "Alone"),
    *((xgboost, name) for name in xgboost.__all__ if name != "callback"),
    *((xgboost.callback, name) for name in xgboost.callback.__all__),
    *((export, name) for name in export.__all__ if not name.isupper()),
]
READMES = ["README.md", "README.zh.md"]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


@pytest.mark.parametrize(
    ("module", "name"), PUBLIC, ids=lambda item: getattr(item, "__name__", item)
)
def test_every_public_name_has_an_example_that_runs(module, name):
    thing = getattr(module, name)
    tests = [
        test
        for test in doctest.DocTestFinder(recurse=False).find(thing, name, globs={})
        if test.examples
    ]
    assert tests, f"{name} has no example"
    runner = doctest.DocTestRunner()
    for test in tests:
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.parametrize(
    ("module", "name"), PUBLIC, ids=lambda item: getattr(item, "__name__", item)
)
def test_no_docstring_has_an_unfilled_placeholder(module, name):
    thing = getattr(module, name)
    own = [member for key, member in getmembers(thing) if not key.startswith("_")]
    for documented in (thing, *own):
        assert not re.findall(r"\{[a-z]\w{2,}\}", getdoc(documented) or "")


def test_fill_docstring_indents_blocks_and_leaves_other_braces():
    @fill_docstring(block="a : int\n    First.", word="things")
    def describe():
        """Describe {word}.

        {block}
        {unknown} {"a", "b"}
        """

    lines = [
        "Describe things.",
        "",
        "a : int",
        "    First.",
        '{unknown} {"a", "b"}',
    ]
    assert getdoc(describe).splitlines() == lines


def test_everything_works_without_docstrings():
    code = "import sumwise; sumwise.VotingClassifier, sumwise.diversity.kappa([0, 1], [0, 1])"
    subprocess.run([sys.executable, "-OO", "-c", code], check=True)


@pytest.mark.parametrize("readme", READMES)
def test_the_example_of_the_readme_runs(readme, tmp_path, monkeypatch, capsys):
    text = (Path(__file__).parents[1] / readme).read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(example, {})
    score, *explanation = capsys.readouterr().out.splitlines()
    assert float(score) > 0.9
    assert explanation[0].startswith("<Explanation of the prediction: 1,000 rows")
    assert {path.name for path in tmp_path.iterdir()} == {"model.sumwise", "report.html"}


def test_both_readmes_show_the_same_figures():
    root = Path(__file__).parents[1]
    tables = [
        re.findall(r"\| (\d\S* (?:s|ms|µs|MB)) \|", (root / name).read_text(encoding="utf-8"))
        for name in READMES
    ]
    assert tables[0] == tables[1] != []
