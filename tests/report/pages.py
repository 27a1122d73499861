"""Pages as their tags: a parser that fails where HTML is not well formed."""

from html.parser import HTMLParser

_VOID = {"meta", "link", "wbr", "input", "br"}


class Page(HTMLParser):
    """The elements of a page, in order, with their attributes and texts."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == [], f"not closed: {self._open}"

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"{tag} has an attribute twice: {names}"
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open, f"</{tag}> without a start"
        assert self._open.pop() == tag, f"</{tag}> in the wrong place"

    def handle_data(self, data):
        if self._open and data.strip():
            self.texts.append((self._open[-1], data))

    def find(self, tag, **attributes):
        """Return the attributes of elements that have these ones."""
        return [
            own
            for name, own in self.elements
            if name == tag and all(own.get(key) == value for key, value in attributes.items())
        ]

    def read(self, tag):
        """Return the texts of elements."""
        return [text for name, text in self.texts if name == tag]
