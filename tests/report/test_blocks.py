"""Tables: cells, order and data."""

import numpy as np
import pytest

from sumwise.report.blocks import Cell, Code, Column, Figure, Section, Table, to_plain
from sumwise.report.markup import Markup
from tests.report.pages import Page


def test_cells_of_every_kind():
    columns = [Column("name"), Column("score", ".2f", "About <it>"), Column("text")]
    rows = [["<a>", 0.123, "x"], ["b", None, Cell(7.0, "seven")], ["c", float("nan"), ""]]
    page = Page(Table("All & more", columns, rows, marked=1).to_html())
    assert page.read("caption") == ["All & more"]
    assert page.read("th") == ["<a>", "b", "c"]
    assert page.read("td") == ["0.12", "x", "seven"]
    values = [own.get("data-value") for own in page.find("td")]
    assert values == ["0.123", None, None, "7", None, None]
    assert [own.get("class") for own in page.find("tr")] == [None, None, "marked", None]
    assert page.find("button")[1]["data-tip"] == "About <it>"
    assert [own.get("class") for own in page.find("th", scope="col")] == [None, "number", "number"]


def test_tables_as_data():
    table = Table("t", [Column("a"), Column("b")], [["x", Cell(1.5, "much")], ["y", np.nan]])
    assert table.to_dict()["columns"] == {"a": ["x", "y"], "b": [1.5, None]}


def test_figures_and_small_tables_share_a_row():
    figure = Figure("f", "F", Markup("<svg></svg>"), {})
    table = Table("t", [Column("a")], [["x"]], beside=True)
    html = Section("s", "S", [figure, table, Code("a < b"), figure]).to_html()
    assert html.count('class="figures"') == 2
    assert html.index("<table>") < html.index("<pre")
    assert "a &lt; b" in html


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.float64(1 / 3), 0.333333),
        (float("inf"), None),
        (np.int64(3), 3),
        (np.array([[1.0, np.nan]]), [[1.0, None]]),
        ({1: (np.True_, "a")}, {"1": [True, "a"]}),
        (None, None),
        (10**12, 10**12),
    ],
)
def test_plain_values(value, plain):
    assert to_plain(value) == plain
