"""Pages in a browser: they render, log no error, ask for nothing, and what can be clicked works."""

import json

import pytest

from tests.report.browser import WHERE_TO_GET_IT, find_chromium, start_browser

pytestmark = pytest.mark.skipif(find_chromium() is None, reason=WHERE_TO_GET_IT)

PHONE, DESKTOP = 400, 1400
NAMES = ("classification", "regression", "model")
# The first column of the first table.
FIRST_COLUMN = (
    "[...document.querySelectorAll('tbody')[0].rows].map(r => r.cells[0].textContent.trim())"
)


@pytest.fixture(scope="module")
def files(reports, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, report in reports.items():
        report.save(folder / f"{name}.html")
    return {name: folder / f"{name}.html" for name in reports}


@pytest.fixture(scope="module")
def browser():
    with start_browser(find_chromium()) as running:
        yield running


@pytest.fixture
def page(browser, files):
    """The comparison of classifiers on a desktop with light colors."""
    browser.resize(DESKTOP)
    browser.prefer("light")
    browser.open(files["classification"])
    browser.ask("localStorage.clear()")
    browser.open(files["classification"])
    return browser


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
@pytest.mark.parametrize("name", NAMES)
def test_it_renders_without_errors_or_requests(browser, files, name, width):
    browser.resize(width)
    browser.open(files[name])
    assert browser.list_errors() == []
    assert browser.list_requests() == [files[name].as_uri()]
    # Nothing but tables scrolls sideways.
    assert browser.ask("document.documentElement.scrollWidth") == width
    sizes = browser.ask(
        "[...document.querySelectorAll('figure svg')].map(s => {"
        "const b = s.getBoundingClientRect(); return [b.left, b.right, b.height]; })"
    )
    assert len(sizes) > 5
    for left, right, height in sizes:
        assert 0 <= left < right <= width
        assert height > 40


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_letters_in_pictures_can_be_read(browser, files, width):
    browser.resize(width)
    browser.open(files["model"])
    heights = browser.ask(
        "[...document.querySelectorAll('figure svg .tick')].map(t => t.getBoundingClientRect())"
        ".filter(b => b.width > 0).map(b => b.height)"
    )
    assert min(heights) >= 10


def test_tables_are_sorted_by_clicks(page):
    head = "table thead th:nth-child({})"
    before = page.ask(FIRST_COLUMN)
    assert before == ["forest", "<i>boosting</i>", "a far outlier"]
    page.click(head.format(3) + " button")  # numbers: the largest first
    assert page.ask(FIRST_COLUMN) == before[::-1]
    assert (
        page.ask(f"document.querySelector({json.dumps(head.format(3))}).ariaSort") == "descending"
    )
    page.click(head.format(3) + " button")
    assert page.ask(FIRST_COLUMN) == before
    page.click(head.format(1) + " button")  # texts: in their order
    assert page.ask(FIRST_COLUMN) == ["<i>boosting</i>", "a far outlier", "forest"]
    assert (
        page.ask("document.querySelectorAll('table')[0].querySelectorAll('[aria-sort]').length")
        == 1
    )
    assert page.list_errors() == []


def test_empty_cells_are_last_in_both_orders(page):
    # The recommended model is not behind itself.
    behind = "table thead th:nth-child(5) button"
    for _ in range(2):
        page.click(behind)
        assert page.ask(FIRST_COLUMN)[-1] == "forest"


def test_tables_are_sorted_by_the_keyboard(page):
    page.ask("document.querySelector('table thead th:nth-child(3) button').focus()")
    page.send(
        "Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter", text="\r",
        windowsVirtualKeyCode=13,
    )  # fmt: skip
    assert page.ask(FIRST_COLUMN)[0] == "a far outlier"


def test_the_switch_changes_the_colors_and_is_remembered(page, files):
    color = "getComputedStyle(document.body).backgroundColor"
    light = page.ask(color)
    assert light == "rgb(255, 255, 255)"
    assert page.ask("document.getElementById('theme').textContent") == "Dark mode"
    page.click("#theme")
    dark = page.ask(color)
    assert dark != light
    assert page.ask("document.getElementById('theme').textContent") == "Light mode"
    page.open(files["classification"])
    assert page.ask(color) == dark
    page.click("#theme")
    assert page.ask(color) == light


def test_colors_follow_the_system(browser, files):
    color = "getComputedStyle(document.body).backgroundColor"
    browser.open(files["model"])
    browser.ask("localStorage.clear()")
    seen = []
    for scheme in ("light", "dark"):
        browser.prefer(scheme)
        browser.open(files["model"])
        seen.append(browser.ask(color))
    assert seen[0] == "rgb(255, 255, 255)"
    assert seen[1] != seen[0]


@pytest.mark.parametrize(
    ("selector", "part"),
    [
        ("#scores circle", "forest: 0.32 "),
        ("#calibration .hit", "observed frequency: "),
        ("#confusion .cell", "true <no>, predicted <no>"),
        ("thead th:nth-child(5) button", "Mean difference"),
    ],
)
def test_marks_have_tooltips(page, selector, part):
    page.hover("h1")
    assert page.ask("tip.hidden")
    page.hover(selector)
    assert not page.ask("tip.hidden")
    assert part in page.ask("tip.textContent")
    box = page.ask("(() => { const b = tip.getBoundingClientRect(); return [b.left, b.right]; })()")
    assert 0 <= box[0] < box[1] <= DESKTOP
    page.press("Escape")
    assert page.ask("tip.hidden")


def test_markup_in_a_tooltip_is_text(page):
    page.hover("#shap circle[data-tip*='<script>']")
    assert "<script>" in page.ask("document.getElementById('tip').textContent")
    assert page.ask("document.getElementById('tip').children.length") == 0


def test_numbers_of_a_figure_are_downloaded(page, tmp_path):
    page.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    page.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    page.events.clear()
    page.click("#gain .json")
    path = tmp_path / "gain.json"
    page.ask("new Promise(done => setTimeout(done, 50))")  # the browser writes it in the background
    for _ in range(100):
        if path.exists() and path.stat().st_size:
            break
        page.ask("new Promise(done => setTimeout(done, 50))")
    assert set(json.loads(path.read_text())) >= {"title", "mean_error", "ambiguity"}


def test_it_works_in_the_frame_of_a_notebook(browser, reports, tmp_path):
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><body>{reports['model']._repr_html_()}", encoding="utf-8")
    browser.resize(DESKTOP)
    browser.open(path)
    # A sandboxed page has no storage; that is no error.
    assert browser.list_errors() == []
    assert [url for url in browser.list_requests() if not url.startswith("about:")] == [
        path.as_uri()
    ]


def test_it_prints_without_controls(page):
    page.send("Emulation.setEmulatedMedia", media="print")
    shown = "getComputedStyle(document.querySelector('{}')).display"
    for control in ("nav", "#theme", ".json"):
        assert page.ask(shown.format(control)) == "none"
    assert page.ask(shown.format("main")) == "block"
    page.send("Emulation.setEmulatedMedia", media="")
