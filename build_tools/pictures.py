"""Draw the pictures of the documentation again: ``python -m build_tools.pictures [PAGE ...]``.

A picture of a page is drawn by the examples on that page, one of the gallery by ``examples/``. The
pages are given by their paths under docs/; without any, all pictures are drawn (several minutes).
"""

import contextlib
import importlib
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import matplotlib
from matplotlib import pyplot

DOCS = Path(__file__).parents[1] / "docs"
GALLERY = DOCS / "pictures"


def list_pictures(text: str) -> list[str]:
    """Return the paths of the pictures that a page shows, relative to the page."""
    return re.findall(r"!\[[^\]]*\]\(([^)]*)\)", text)


def read_examples(text: str) -> str:
    """Return the Python code of a page."""
    return "\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))


def run_examples(page: Path, folder: Path) -> None:
    """Run the code of a page in a folder, where it writes its files."""
    code = compile(read_examples(page.read_text(encoding="utf-8")), page.name, "exec")
    with contextlib.chdir(folder):
        exec(code, {"__name__": "page"})
    pyplot.close("all")


def draw_page(page: Path) -> None:
    """Run the examples of a page, and keep the pictures that it shows."""
    with tempfile.TemporaryDirectory() as folder:
        run_examples(page, Path(folder))
        for picture in list_pictures(page.read_text(encoding="utf-8")):
            shutil.copy(Path(folder) / Path(picture).name, page.parent / picture)


def draw_gallery() -> None:
    """Run the examples whose pictures are in the gallery."""
    for picture in sorted(GALLERY.glob("*.png")):
        importlib.import_module(f"examples.{picture.stem}").main(["--out", str(GALLERY)])


def main(names: list[str]) -> None:
    """Draw the pictures of some pages, or all."""
    matplotlib.use("Agg")
    pages = [DOCS / name for name in names] or [
        page
        for folder in ("methods", "guide")
        for page in sorted((DOCS / folder).glob("*.md"))
        if list_pictures(page.read_text(encoding="utf-8"))
    ]
    for page in pages:
        print(os.fspath(page.relative_to(DOCS)))
        draw_page(page)
    if not names:
        draw_gallery()


if __name__ == "__main__":
    main(sys.argv[1:])
