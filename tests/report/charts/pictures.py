"""Pictures as their marks."""

import xml.etree.ElementTree as ET


def parse(markup):
    """Return the picture; a legend may be above it."""
    return ET.fromstring(markup[markup.index("<svg") :])


def find(markup, tag, kind):
    """Return the marks of a class of the style sheet."""
    found = parse(markup).iter(tag)
    return [own for own in found if kind in own.get("class", "").split()]
