"""Pictures of a page are drawn by its own examples."""

from matplotlib import pyplot

from build_tools import pictures
from build_tools.pictures import draw_page, list_pictures, read_examples

PAGE = """# Page

```python
from matplotlib import pyplot

figure, ax = pyplot.subplots(figsize=(1, 1))
```

```sh
ls
```

```python
figure.savefig("line.png")
```

![A line](pictures/line.png)
"""


def test_a_page_gets_the_pictures_that_its_examples_draw(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    (tmp_path / "pictures").mkdir()
    draw_page(page)
    assert (tmp_path / "pictures" / "line.png").read_bytes()[1:4] == b"PNG"
    assert not pyplot.get_fignums()


def test_examples_and_pictures_are_read_from_the_page():
    assert "ls" not in read_examples(PAGE)
    assert list_pictures(PAGE) == ["pictures/line.png"]


def test_every_picture_of_the_gallery_has_an_example():
    examples = pictures.DOCS.parent / "examples"
    drawn = {picture.stem for picture in pictures.GALLERY.glob("*.png")}
    assert drawn
    assert drawn <= {example.stem for example in examples.glob("*.py")}
