"""The reader of UBJSON, on examples of the specification and on broken content."""

import struct

import numpy as np
import pytest

from sumwise.errors import ModelFileError
from sumwise.estimators.imported.ubjson import parse_ubjson


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (b"Z", None),
        (b"T", True),
        (b"NNF", False),
        (b"i\xff", -1),
        (b"U\xff", 255),
        (b"I\x01\x00", 256),
        (b"l\xff\xff\xff\xff", -1),
        (b"L" + struct.pack(">q", -(2**40)), -(2**40)),
        (b"d" + struct.pack(">f", 0.5), 0.5),
        (b"D" + struct.pack(">d", 0.1), 0.1),
        (b"Ca", "a"),
        (b"SU\x03\xe2\x82\xac", "\u20ac"),
        (b"HU\x031.5", 1.5),
        (b"[i\x01ZNSU\x01a]", [1, None, "a"]),
        (b"[#U\x02i\x01T", [1, True]),
        (b"[$S#U\x02U\x01aU\x01b", ["a", "b"]),
        (b"{U\x01ai\x01NU\x01b[]}", {"a": 1, "b": []}),
        (b"{#U\x01U\x01aT", {"a": True}),
        (b"{$i#U\x02U\x01a\x05U\x01b\x06", {"a": 5, "b": 6}),
    ],
)
def test_values(content, value):
    assert parse_ubjson(content) == value


def test_arrays_of_numbers():
    found = parse_ubjson(b"[$d#L" + struct.pack(">qff", 2, 1.5, -2.0))
    assert found.dtype == np.float32
    assert found.tolist() == [1.5, -2.0]
    assert parse_ubjson(b"[$L#U\x01" + struct.pack(">q", 2**40)).tolist() == [2**40]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "truncated"),
        (b"{", "truncated"),
        (b"SU\x05abc", "beyond the end"),
        (b"Si\xffabc", "beyond the end"),
        (b"[$d#L" + struct.pack(">q", 2**60), "beyond the end"),
        (b"[$d#U\x02abcd", "truncated"),
        (b"[$Z#L" + struct.pack(">q", 2**60), "no bytes"),
        (b"[$T#U\x01", "no bytes"),
        (b"[$i", "truncated"),
        (b"[$ii", "a type and no length"),
        (b"[#d\x00\x00\x00\x00", "not an integer"),
        (b"[" * 1000, "levels deep"),
        (b"q", "no marker"),
        (b"ZZ", "more bytes"),
    ],
)
def test_broken_content_is_refused(content, message):
    with pytest.raises(ModelFileError, match=message):
        parse_ubjson(content)
