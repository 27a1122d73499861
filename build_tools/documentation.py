"""Hooks of mkdocs for the documentation site: sections, mathematics, pages from outside docs/.

Formulas are written in LaTeX between dollars and become MathML here, so that pages need neither
a script nor a font of another server.
"""

import html
import logging
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
# A sign after an opening bracket, a comma or a relation, or at the start, is no operation.
SIGN = re.compile(
    r"(<mrow>|<mo[^>]*>(?:&#x0007B;|&#x00028;|&#x0005B;|&#x0002C;|&#x0003D;|&#x0003C;|&#x0003E;)</mo>)"
    r"<mo>(&#x02212;|&#x0002B;)"
)
OUTSIDE = {"changelog.md": "CHANGELOG.md"}  # pages whose text is not in docs/


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Expand each entry of the navigation that names a README into a section."""
    logging.getLogger("jieba").setLevel(logging.WARNING)  # it reports how it loads its words
    docs = Path(config.docs_dir)
    config.nav = [expand(entry, docs) for entry in config.nav if exists(entry, docs)]
    return config


def exists(entry: dict[str, Any], docs: Path) -> bool:
    """Tell whether a section has a README; other entries are checked by mkdocs."""
    (target,) = entry.values()
    return not is_index(target) or (docs / target).is_file()


def is_index(target: Any) -> bool:
    """Tell whether an entry of the navigation stands for the section of a README."""
    return isinstance(target, str) and target.endswith("README.md")


def expand(entry: dict[str, Any], docs: Path) -> dict[str, Any]:
    """Return the entry of a section: README, the pages that its tables link to, and others."""
    ((title, target),) = entry.items()
    if not is_index(target):
        return entry
    pages = read_sections(docs / target, docs)
    folder = (docs / target).parent
    others = {page.relative_to(docs).as_posix() for page in folder.glob("*.md")}
    return {title: [target, *pages, *sorted(others - {target} - list_targets(pages))]}


def list_targets(pages: list[Any]) -> set[str]:
    """Return the paths of all pages of a section."""
    targets: set[str] = set()
    for page in pages:
        (target,) = page.values()
        targets |= list_targets(target) if isinstance(target, list) else {target}
    return targets


def read_sections(readme: Path, docs: Path) -> list[Any]:
    """Return the pages linked in the first column of a README's tables, under their headings.

    A line in bold, such as ``**Data**``, starts a group of pages.
    """
    pages: list[Any] = []
    group = pages
    for line in readme.read_text(encoding="utf-8").splitlines():
        if heading := re.fullmatch(r"\*\*(.+)\*\*", line):
            group = []
            pages.append({heading[1]: group})
        elif link := re.match(r"\| \[(.+?)\]\((\S+?\.md)\)", line):
            page = (readme.parent / link[2]).resolve().relative_to(docs.resolve())
            group.append({link[1]: page.as_posix()})
    return pages


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages whose text is outside docs/."""
    for name, source in OUTSIDE.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(text: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links to files outside docs/ lead to their pages."""
    folder = "../" * page.file.src_uri.count("/")
    for name, source in OUTSIDE.items():
        text = text.replace(f"](../{folder}{source}", f"]({folder}{name}")
    return text


def on_page_content(text: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Write formulas as MathML, and make links of what docstrings refer to."""
    if page.file.src_uri.startswith("api/"):
        text = re.sub(r"<code>docs/([a-z_/]+)\.md</code>", r'<a href="../\1.html">\1</a>', text)
        text = text.replace(":func:<code>", "<code>").replace(":class:<code>", "<code>")
    text = re.sub(r'<span class="arithmatex">\\\((.*?)\\\)</span>', write_inline, text, flags=re.S)
    return re.sub(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', write_block, text, flags=re.S)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Declare the language of pages in Chinese."""
    if page.file.src_uri.startswith("zh/"):
        return output.replace('<html lang="en"', '<html lang="zh"', 1)
    return output


def write_inline(formula: re.Match[str]) -> str:
    """Return a formula within a line."""
    return convert_formula(formula[1], "inline")


def write_block(formula: re.Match[str]) -> str:
    """Return a formula that is a line of its own."""
    return f'<div class="math-block">{convert_formula(formula[1], "block")}</div>'


def convert_formula(latex: str, display: str) -> str:
    """Return the MathML of a formula, with signs close to their numbers."""
    return SIGN.sub(r'\1<mo form="prefix">\2', convert(html.unescape(latex), display=display))
