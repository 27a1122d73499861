"""The pages of migration show the tables that translate parameters."""

import re

import pytest

from build_tools.migration_tables import FOLDER, fill, make_tables


@pytest.mark.parametrize("page", make_tables())
def test_pages_are_up_to_date(page):
    text = (FOLDER / page).read_text(encoding="utf-8")
    assert fill(text, make_tables()[page]) == text, "run python -m build_tools.migration_tables"


def read(path, kind):
    """Return the blocks of code of a kind on a page."""
    return re.findall(rf"```{kind}\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("page", sorted(FOLDER.glob("*.md")), ids=lambda path: path.stem)
def test_examples_run_and_links_lead_somewhere(page, tmp_path, monkeypatch, capsys):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).is_file(), target
    monkeypatch.chdir(tmp_path)
    exec("\n".join(read(page, "python")), {"__name__": "page"})


@pytest.mark.parametrize("page", [*make_tables(), "from_scikit_learn.md"])
def test_only_imports_change(page):
    (before,), after = read(FOLDER / page, "py"), read(FOLDER / page, "python")[0]
    changed = [line for line in before.splitlines() if line not in after.splitlines()]
    others = [line for line in changed if "import" not in line]
    assert len(changed) - len(others) == 1
    assert len(others) == (0 if page in make_tables() else 1)  # there, parameters have other names


def test_a_page_without_a_place_is_an_error():
    with pytest.raises(ValueError, match="no place for the table of rows"):
        fill("", {"rows": ""})
