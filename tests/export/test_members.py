"""Files that hold the files of several models."""

import numpy as np
import pytest

from sumwise.errors import ModelFileError
from sumwise.export.container import open_file, pack_file
from sumwise.export.members import (
    MEMBERS_FORMAT,
    MemberFiles,
    NumericModel,
    is_numeric,
    open_part,
    pack_members,
    pack_numeric,
    read_numeric,
)
from sumwise.export.native import parse_file

INPUTS = {
    "n_categories": np.array([0, 3]),
    "low": np.array([-1.0]),
    "high": np.array([2.0]),
    "median": np.array([0.5]),
    "center": np.array([0.25]),
    "scale": np.array([1.5]),
    "is_marked": np.array([True]),
    "n_levels": np.array([2]),
    "levels": np.array([0.0, 2.0]),
}
MATRICES = [np.arange(6.0).reshape(2, 3), np.empty((0, 4)), np.array([[0.1]])]


def change(content, alter):
    """Return a part with other arrays, and a valid checksum."""
    file = open_file(content, MEMBERS_FORMAT)
    arrays, place = {}, file.place
    for entry in file.header["arrays"]:
        place += -place % 8
        dtype = np.dtype(entry["dtype"])
        own = np.frombuffer(file.body, dtype, entry["length"], place)
        arrays[entry["name"]] = own.copy()
        place += own.nbytes
    alter(arrays)
    header = {key: value for key, value in file.header.items() if key != "arrays"}
    return pack_file(MEMBERS_FORMAT, header, arrays)


def test_numeric_models_come_back():
    part = open_part(pack_numeric(NumericModel({"kind": "linear"}, INPUTS, MATRICES)))
    assert is_numeric(part)
    again = read_numeric(part)
    assert again.about == {"kind": "linear"}
    assert [own.tolist() for own in again.matrices] == [own.tolist() for own in MATRICES]
    assert [own.shape for own in again.matrices] == [own.shape for own in MATRICES]
    for name, array in INPUTS.items():
        assert again.inputs[name].tolist() == array.tolist()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("shape", [2, 3, 0, 4, 1]),
        ("shape", [2, 3, 0, 4, 1, 2]),
        ("shape", [2, 3, 0, 4, -1, -1]),
        ("shape", [2, 3]),
        ("shape", [1 << 40, 1 << 40, 0, 4, 1, 1]),
        ("values", [np.nan] * 7),
    ],
)
def test_matrices_that_do_not_fit_are_refused(name, value):
    def alter(arrays):
        arrays[name] = np.array(value, dtype=arrays[name].dtype)

    content = change(pack_numeric(NumericModel({}, INPUTS, MATRICES)), alter)
    with pytest.raises(ModelFileError, match=r"matrices"):
        read_numeric(open_part(content))


def test_parts_come_back_in_their_order():
    content = pack_members(MemberFiles(3, [b"first", b"", b"last"]), {"name": "all"})
    found, about = parse_file(content)
    assert isinstance(found, MemberFiles)
    assert [bytes(part) for part in found.parts] == [b"first", b"", b"last"]
    assert found.n_features == 3
    assert about == {"name": "all"}


@pytest.mark.parametrize("sizes", [[], [5], [-1, 7], [3, 4]])
def test_sizes_that_do_not_fit_are_refused(sizes):
    def alter(arrays):
        arrays["part_size"] = np.array(sizes, dtype="<i8")

    content = change(pack_members(MemberFiles(3, [b"ab", b"cdef"]), {}), alter)
    with pytest.raises(ModelFileError, match="sizes of the members"):
        parse_file(content)
