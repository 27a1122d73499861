"""Pages: well formed, accessible, self-contained, and free of what users' texts could inject."""

import json
import re
from itertools import pairwise

import numpy as np
import pytest

from sumwise.report import Report
from sumwise.report.blocks import Figure, Section, Text, Warnings
from sumwise.report.document import _read_asset
from sumwise.report.markup import Markup
from tests.report.conftest import EVIL
from tests.report.pages import Page

NAMES = ("classification", "regression", "model")


@pytest.fixture(scope="module")
def pages(reports):
    return {name: Page(report.to_html()) for name, report in reports.items()}


@pytest.mark.parametrize("name", NAMES)
def test_headings_descend_by_one(pages, name):
    levels = [int(tag[1]) for tag, _ in pages[name].elements if re.fullmatch(r"h\d", tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))


@pytest.mark.parametrize("name", NAMES)
def test_ids_are_unique_and_links_have_targets(pages, name):
    ids = [own["id"] for _, own in pages[name].elements if "id" in own]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[a-z][a-z-]*", own) for own in ids)
    links = [own["href"] for own in pages[name].find("a")]
    assert len(links) > 3
    assert {link.removeprefix("#") for link in links} <= set(ids)
    labels = [own["aria-labelledby"] for own in pages[name].find("section")]
    assert set(labels) <= set(ids)


@pytest.mark.parametrize("name", NAMES)
def test_pictures_have_alternative_texts_and_buttons_names(pages, name):
    pictures = pages[name].find("svg")
    assert len(pictures) > 5
    for own in pictures:
        assert own["role"] == "img"
        assert len(own["aria-label"]) > 10
    assert not pages[name].find("img")
    for own in pages[name].find("button"):
        assert own["type"] == "button"
    for own in pages[name].find("button", **{"class": "json"}):
        assert own["aria-label"].startswith("Numbers of ")
    for own in pages[name].find("div", **{"class": "frame"}):
        assert own["tabindex"] == "0"
        assert own["aria-label"]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_asked_for_elsewhere(reports, pages, name):
    html = reports[name].to_html()
    assert "http:" not in html
    assert "https:" not in html
    assert "url(" not in html
    assert "@import" not in html
    for _, own in pages[name].elements:
        assert not own.get("src")
        assert (own.get("href") or "#")[0] == "#" or own["href"] == "data:,"
    assert len(html) < 1_500_000


@pytest.mark.parametrize("name", NAMES)
def test_texts_of_users_are_texts(reports, pages, name):
    page = pages[name]
    assert len(page.find("script")) == 2
    assert not page.find("i")
    assert "alert(" not in "".join(page.read("script"))[-len(_read_asset("report.js")) :]
    assert any(EVIL in text for text in page.read("th"))  # the name of a column
    attributes = {key for _, own in page.elements for key in own}
    assert not {key for key in attributes if key.startswith("on")}


def test_classes_and_names_with_markup_are_shown(pages):
    texts = [text for _, text in pages["classification"].texts]
    assert "<i>boosting</i>" in texts
    assert "<no>" in texts
    assert 'sumwise compare "rows & columns.csv"' in texts


@pytest.mark.parametrize("name", NAMES)
def test_numbers_of_the_figures_are_in_the_page(reports, pages, name):
    html = reports[name].to_html()
    (embedded,) = re.findall(r'<script type="application/json" id="figures">(.*?)</script>', html)
    figures = json.loads(embedded)
    assert figures == reports[name].to_dict()["figures"]
    assert set(figures) == {own["id"] for own in pages[name].find("figure")}
    buttons = pages[name].find("button", **{"class": "json"})
    assert {own["data-figure"] for own in buttons} == set(figures)


def test_to_dict_is_json_without_nan(reports):
    for report in reports.values():
        content = json.loads(json.dumps(report.to_dict(), allow_nan=False))
        assert content["title"] == report.title
        assert [own["title"] for own in content["sections"]] == [s.title for s in report.sections]


def test_json_cannot_end_its_element():
    figure = Figure("x", "x", Markup("<svg></svg>"), {"a": "</script><!--&"})
    html = Report("t", [Section("s", "S", [figure])]).to_html()
    assert html.count("</script>") == 2
    assert "<!--" not in html
    (embedded,) = re.findall(r'id="figures">(.*?)</script>', html)
    assert json.loads(embedded)["x"]["a"] == "</script><!--&"


def test_it_is_saved_as_utf_8_and_the_same_each_time(reports, tmp_path):
    path = tmp_path / "report.html"
    reports["regression"].save(path)
    assert path.read_text(encoding="utf-8") == reports["regression"].to_html()
    reports["regression"].save(str(path))
    assert [own.name for own in tmp_path.iterdir()] == ["report.html"]


def test_notebooks_show_it_in_a_frame_of_its_own(reports):
    page = Page(reports["regression"]._repr_html_())
    (frame,) = page.find("iframe")
    assert frame["srcdoc"] == reports["regression"].to_html()
    # Without allow-same-origin, the page cannot read the notebook.
    assert frame["sandbox"] == "allow-scripts allow-downloads"
    assert frame["title"] == "houses: 3 models compared"


def test_long_names_may_break_between_their_words():
    html = Report("RandomForestRegressor <x>", []).to_html()
    assert "<h1>Random<wbr>Forest<wbr>Regressor &lt;x&gt;</h1>" in html


def test_repr_names_the_sections():
    report = Report("t", [Section("a", "First", [Text("x")]), Section("b", "Second")])
    assert repr(report) == "Report('t': First, Second)"


def test_warnings_are_a_list():
    block = Warnings([("Leak:", "<x>")])
    assert "<li><strong>Leak:</strong> &lt;x&gt;</li>" in block.to_html()
    assert block.to_dict()["items"] == [{"subject": "Leak:", "text": "<x>"}]


# --- colors ---


def _read_colors():
    pairs = re.findall(
        r"(--\w+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", _read_asset("report.css")
    )
    return {name: (light, dark) for name, light, dark in pairs}


def _measure_light(color):
    parts = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def _contrast(one, other):
    dark, light = sorted([_measure_light(one), _measure_light(other)])
    return (light + 0.05) / (dark + 0.05)


def _mix(color, page, strength):
    parts = [
        round(strength * int(color[i : i + 2], 16) + (1 - strength) * int(page[i : i + 2], 16))
        for i in (1, 3, 5)
    ]
    return "#" + "".join(f"{part:02x}" for part in parts)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_texts_have_enough_contrast(scheme):
    colors = {name: pair[scheme] for name, pair in _read_colors().items()}
    for text in ("--ink", "--soft", "--link", "--alert"):
        for ground in ("--page", "--card", "--mark"):
            assert _contrast(colors[text], colors[ground]) >= 4.5, (text, ground)
    # Numbers in the cells of matrices.
    strengths = re.findall(r"\.h\d \{ fill-opacity: ([0-9.]+)", _read_asset("report.css"))
    assert len(strengths) == 9
    for strength in map(float, strengths):
        cell = _mix(colors["--s0"], colors["--page"], strength)
        assert _contrast(colors["--ink"], cell) >= 4.5, strength


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_marks_have_enough_contrast(scheme):
    colors = {name: pair[scheme] for name, pair in _read_colors().items()}
    for name in [*(f"--s{k}" for k in range(8)), "--none"]:
        assert _contrast(colors[name], colors["--page"]) >= 3.0, name
