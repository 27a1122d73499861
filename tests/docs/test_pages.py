"""The examples of all pages run and draw their pictures; Chinese pages follow the English ones."""

import re
from pathlib import Path

import matplotlib
import pytest

from build_tools.pictures import list_pictures, read_examples, run_examples

matplotlib.use("Agg")

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(
    page
    for page in DOCS.rglob("*.md")
    if "zh" not in page.parts and read_examples(page.read_text(encoding="utf-8"))
)
CHINESE = sorted(page for page in (DOCS / "zh").rglob("*.md") if page.name != "README.md")


def name_page(page):
    return page.relative_to(DOCS).with_suffix("").as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name_page)
def test_the_examples_of_a_page_run_and_draw_its_pictures(page, tmp_path):
    run_examples(page, tmp_path)
    for picture in list_pictures(page.read_text(encoding="utf-8")):
        assert (page.parent / picture).is_file()
        assert (tmp_path / Path(picture).name).is_file()


@pytest.mark.parametrize("page", CHINESE, ids=name_page)
def test_a_page_in_chinese_has_the_code_formulas_and_pictures_of_the_english_one(page):
    original = DOCS / page.relative_to(DOCS / "zh")
    chinese, english = (path.read_text(encoding="utf-8") for path in (page, original))
    assert read_examples(chinese) == read_examples(english)
    assert list_formulas(chinese) == list_formulas(english)
    assert [(page.parent / path).resolve() for path in list_pictures(chinese)] == [
        (original.parent / path).resolve() for path in list_pictures(english)
    ]


def list_formulas(text):
    """Return the formulas that are lines of their own, without their indentation."""
    found = re.findall(r"^ *\$\$\n(.*?)^ *\$\$$", text, flags=re.DOTALL | re.MULTILINE)
    return [re.sub(r"^ +", "", formula, flags=re.MULTILINE) for formula in found]


def test_every_method_has_a_page_in_chinese():
    methods = {page.name for page in (DOCS / "methods").glob("*.md")} - {"README.md"}
    assert methods == {page.name for page in (DOCS / "zh" / "methods").glob("*.md")}
    assert len(methods) == 16


def test_pictures_are_small():
    sizes = [picture.stat().st_size for picture in DOCS.rglob("*.png")]
    assert max(sizes) < 150_000
    assert sum(sizes) < 1_500_000
