"""HTML and SVG elements, in which every text and attribute is escaped."""

from html import escape

# Elements without content or end, in HTML; those of SVG are written with a slash.
_VOID = frozenset({"input", "link", "meta"})
_DRAWN = frozenset({"circle", "line", "path", "polygon", "polyline", "rect"})


class Markup(str):
    """Text that is HTML already, and is not escaped again."""

    __slots__ = ()


def element(tag: str, *content: str, **attributes: str | float | bool | None) -> Markup:
    """Return an element.

    Parameters
    ----------
    tag : str
    *content : str or Markup
        Texts are escaped.
    **attributes : str, number, bool or None
        ``class_`` is written "class", ``data_tip`` "data-tip". True stands for an attribute without
        value; None and False leave it out. Fractions have two digits.

    Examples
    --------
    >>> from sumwise.report.markup import element
    >>> element("p", "1 < 2 ", element("b", "&"), class_="note")
    '<p class="note">1 &lt; 2 <b>&amp;</b></p>'
    """
    written = "".join(_write_attribute(key, value) for key, value in attributes.items())
    if tag in _DRAWN and not content:
        return Markup(f"<{tag}{written}/>")
    if tag in _VOID:
        return Markup(f"<{tag}{written}>")
    return Markup(f"<{tag}{written}>{join(*content)}</{tag}>")


def join(*content: str) -> Markup:
    """Return texts, escaped, and markup one after the other."""
    return Markup(
        "".join(
            part if isinstance(part, Markup) else escape(str(part), quote=False) for part in content
        )
    )


def _write_attribute(key: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    text = format_place(value) if isinstance(value, float) else str(value)
    return f' {name}="{escape(text)}"'


def format_place(value: float) -> str:
    """Return a place in a picture: two digits after the point, without zeros at the end."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("", "-0") else text
