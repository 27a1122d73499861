"""The pages of migration show the tables that translate parameters."""

import re

import pytest

from build_tools.migration_tables import FOLDER, fill, make_tables
from tests.test_docstrings import GUIDES


@pytest.mark.parametrize("page", make_tables())
def test_pages_are_up_to_date(page):
    text = (FOLDER / page).read_text(encoding="utf-8")
    assert fill(text, make_tables()[page]) == text, "run python -m build_tools.migration_tables"


@pytest.mark.parametrize("page", [*make_tables(), "from_scikit_learn.md"])
def test_links_and_examples(page):
    path = FOLDER / page
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)", text):
        assert (path.parent / target).is_file(), target
    assert path in GUIDES  # whose examples are run
    # What is executed is the program before, with another import.
    before, after = (
        re.search(rf"```{kind}\n(.*?)```", text, re.DOTALL)[1] for kind in ("py", "python")
    )
    changed = [line for line in before.splitlines() if line not in after.splitlines()]
    assert len(changed) == (1 if page in make_tables() else 2)


def test_a_page_without_a_place_is_an_error():
    with pytest.raises(ValueError, match="no place for the table of rows"):
        fill("", {"rows": ""})
