"""Elements: what is escaped, and how attributes are written."""

import pytest

from sumwise.report.markup import Markup, element, format_place, join


def test_texts_are_escaped_and_markup_is_not():
    assert join("a < b & c", Markup("<br>")) == "a &lt; b &amp; c<br>"
    assert element("p", "<script>", element("b", "x")) == "<p>&lt;script&gt;<b>x</b></p>"


def test_quotes_do_not_end_an_attribute():
    assert element("p", title='" onclick="') == '<p title="&quot; onclick=&quot;"></p>'
    assert element("p", title="'") == '<p title="&#x27;"></p>'


def test_attributes_by_name():
    assert element("p", class_="x", data_tip="y") == '<p class="x" data-tip="y"></p>'
    assert element("p", hidden=True, id=None, lang=False) == "<p hidden></p>"


def test_void_elements_and_shapes_have_no_content():
    assert element("meta", charset="utf-8") == '<meta charset="utf-8">'
    assert element("circle", cx=1.0, cy=2.504, r=3) == '<circle cx="1" cy="2.5" r="3"/>'


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (-0.0, "0"), (100.0, "100"), (1.239, "1.24"), (-0.001, "0")]
)
def test_places_have_two_digits(value, text):
    assert format_place(value) == text
