"""Sections of the site are read from tables, and formulas become MathML."""

from build_tools.documentation import convert_formula, expand, is_index, read_sections


def write_pages(folder, text, *names):
    folder.mkdir()
    (folder / "README.md").write_text(text)
    for name in names:
        (folder / name).write_text("# Title")


def test_the_tables_of_a_readme_name_the_pages_of_a_section(tmp_path):
    text = """# Guide

| [First](first.md) | an [inner link](other.md) |

**Data**

| Page | Contents |
|---|---|
| [Tables](tables.md) | |
| [Upper](../index.md) | |
"""
    write_pages(tmp_path / "guide", text, "first.md", "tables.md", "forgotten.md")
    data = {"Data": [{"Tables": "guide/tables.md"}, {"Upper": "index.md"}]}
    pages = [{"First": "guide/first.md"}, data]
    assert read_sections(tmp_path / "guide" / "README.md", tmp_path) == pages
    entry = expand({"Guide": "guide/README.md"}, tmp_path)
    assert entry == {"Guide": ["guide/README.md", *pages, "guide/forgotten.md"]}
    assert expand({"Home": "index.md"}, tmp_path) == {"Home": "index.md"}
    assert not is_index(pages)


def test_signs_belong_to_their_numbers_and_operators_do_not():
    assert convert_formula(r"\{-1, +1\}", "inline").count('form="prefix"') == 2
    assert 'form="prefix"' not in convert_formula(r"(a) - b", "inline")
    assert 'display="block"' in convert_formula("a &lt; b", "block")
    assert "&#x0003C;" in convert_formula("a &lt; b", "block")
