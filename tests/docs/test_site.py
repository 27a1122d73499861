"""The site is built without warnings; its links work, and no page asks another server."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

import sumwise
from sumwise import diversity, export, inspection, mpi, plotting, presets

ROOT = Path(__file__).parents[2]
LOADING = {"audio": "src", "iframe": "src", "img": "src", "script": "src", "link": "href"}


class Page(HTMLParser):
    """The links of a page, what it loads, and the places that a link may name."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.places = set(), set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.places |= {attrs[key] for key in ("id", "name") if attrs.get(key)}
        if tag == "a" and attrs.get("href"):
            self.links.add(attrs["href"])
        if attrs.get(LOADING.get(tag, "")) and attrs.get("rel") not in (
            "prev",
            "next",
            "canonical",
        ):
            self.loads.add(attrs[LOADING[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": f"{ROOT}/src:{ROOT}"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site):
    return {
        page.relative_to(site).as_posix(): Page(page.read_text(encoding="utf-8"))
        for page in site.rglob("*.html")
        if page.name != "404.html"
    }


def test_links_and_anchors_lead_somewhere(site, pages):
    broken = []
    for name, page in pages.items():
        for link in page.links:
            target, anchor = urldefrag(link)
            if re.match(r"[a-z]+:", target):
                continue
            path = (site / name).parent / unquote(target) if target else site / name
            file = os.path.relpath(path / "index.html" if path.is_dir() else path, site)
            places = pages[file].places if file in pages else {""}
            if not (site / file).is_file() or unquote(anchor) not in places | {""}:
                broken.append((name, link))
    assert not broken


def test_nothing_is_loaded_from_other_servers(site, pages):
    for name, page in pages.items():
        assert not {link for link in page.loads if re.match(r"(https?:)?//", link)}, name
    for style in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import )[\"']?(https?:)?//", style.read_text("utf-8")), style


def test_formulas_are_mathml_and_no_placeholder_is_left(site):
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "arithmatex" not in text, page
        assert "$$" not in text, page
        assert "\\" not in "".join(re.findall(r"<math.*?</math>", text, flags=re.DOTALL)), page
    assert (site / "methods" / "adaboost.html").read_text("utf-8").count("<math") > 20
    reference = (site / "api" / "forests.html").read_text(encoding="utf-8")
    assert "{parameters}" not in reference
    assert "max_features_per_tree" in reference


def test_lists_and_tables_are_not_taken_for_text(site):
    for page in site.rglob("*.html"):
        for text in re.findall(r"<p>(.*?)</p>", page.read_text("utf-8"), flags=re.DOTALL):
            assert not re.search(r"\n(- |\d\. |\|)", text), (page, text)


def test_every_public_name_is_in_the_reference(pages):
    places = set().union(*(page.places for name, page in pages.items() if name.startswith("api/")))
    names = {f"sumwise.{name}" for name in sumwise.__all__ if name != "__version__"}
    for module in (diversity, export, inspection, mpi, plotting, presets):
        names |= {f"{module.__name__}.{name}" for name in module.__all__}
    assert not names - places


def test_pages_in_chinese_can_be_searched(site):
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    assert "zh/methods/bagging.html" in index
    assert "自助" in index or "\\u81ea\\u52a9" in index
