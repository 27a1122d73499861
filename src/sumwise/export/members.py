"""Files of ensembles of different models: the files of the members, one after another.

From format 6 on. The header has ``"model": "members"``. The array ``part_size`` has the length of
each part in bytes, and ``parts`` the parts themselves. A part is a complete model file: that of a
model of trees (see ``native.py``), or that of a *numeric* model, whose header has
``"model": "numeric"``. A numeric model prepares its columns and then multiplies matrices.

=================  =============================================================================
array              content
=================  =============================================================================
``n_categories``   number of categories of each feature, 0 for numbers
``low``, ``high``  smallest and largest value of each feature that is a number
``median``         what a missing value is replaced by
``center``         what is subtracted from each number, before it is divided by ``scale``
``is_marked``      1 if missing values have a column of their own
``n_levels``       number of categories with a column of their own, of each feature with categories
``levels``         the codes of these categories
``shape``          rows and columns of each matrix
``values``         the matrices, row by row
=================  =============================================================================

The ``about`` of a part says what the model is, and what it does with its matrices; see
``sumwise.estimators.auto.saving``.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sumwise.errors import ModelFileError
from sumwise.export.container import (
    ArrayGroup,
    OpenedFile,
    open_file,
    pack_file,
    read_arrays,
    read_n_features,
)

MEMBERS_FORMAT = 6
_PARTS = {"part_size": "<i8", "parts": "|u1"}
MEMBERS_ARRAYS = (ArrayGroup(_PARTS, since=MEMBERS_FORMAT),)
_INPUTS = {
    "n_categories": "<i8",
    "low": "<f8",
    "high": "<f8",
    "median": "<f8",
    "center": "<f8",
    "scale": "<f8",
    "is_marked": "|u1",
    "n_levels": "<i8",
    "levels": "<f8",
}
_MATRICES = {"shape": "<i8", "values": "<f8"}
_NUMERIC = ArrayGroup(_INPUTS | _MATRICES, since=MEMBERS_FORMAT)
_KIND = "numeric"


class MemberFiles(NamedTuple):
    """The files of the members of an ensemble."""

    n_features: int
    parts: Sequence[bytes | memoryview]


class NumericModel(NamedTuple):
    """A model of prepared columns.

    Attributes
    ----------
    about : dict
        Ready for JSON.
    inputs : mapping of str to ndarray
        The arrays of its preparation.
    matrices : sequence of ndarray
        With two dimensions each.
    """

    about: dict[str, Any]
    inputs: Mapping[str, np.ndarray]
    matrices: Sequence[np.ndarray]


def pack_members(members: MemberFiles, about: dict[str, Any]) -> bytes:
    """Return the bytes of the file of an ensemble."""
    arrays = {
        "part_size": np.array([len(part) for part in members.parts], dtype="<i8"),
        "parts": np.frombuffer(b"".join(members.parts), dtype="|u1"),
    }
    header = {"model": "members", "about": about, "n_features": members.n_features}
    return pack_file(MEMBERS_FORMAT, header, arrays)


def read_members(file: OpenedFile, arrays: Mapping[str, np.ndarray]) -> MemberFiles:
    """Return the parts of an opened file."""
    ends = np.cumsum(arrays["part_size"])
    sizes = arrays["part_size"]
    if sizes.size == 0 or sizes.min() < 0 or ends[-1] != arrays["parts"].size:
        raise ModelFileError("the sizes of the members do not fit")
    content = memoryview(arrays["parts"].tobytes())
    parts = [content[end - size : end] for size, end in zip(sizes, ends, strict=True)]
    return MemberFiles(read_n_features(file), parts)


def pack_numeric(model: NumericModel) -> bytes:
    """Return the bytes of the file of a numeric model."""
    own = {**model.inputs}
    own["shape"] = np.array([each.shape for each in model.matrices], dtype="<i8").ravel()
    own["values"] = np.concatenate([np.ravel(each) for each in model.matrices] or [np.empty(0)])
    arrays = {name: np.asarray(own[name]).astype(kind) for name, kind in _NUMERIC.types.items()}
    return pack_file(MEMBERS_FORMAT, {"model": _KIND, "about": model.about}, arrays)


def is_numeric(part: OpenedFile) -> bool:
    """Whether a part is a numeric model."""
    return part.header.get("model") == _KIND


def open_part(part: bytes | memoryview) -> OpenedFile:
    """Check the bytes of a part and read its header."""
    return open_file(part, MEMBERS_FORMAT)


def read_numeric(part: OpenedFile) -> NumericModel:
    """Return the contents of the file of a numeric model."""
    arrays = read_arrays(part, (_NUMERIC,))
    shapes, values = arrays.pop("shape"), arrays.pop("values")
    if shapes.size % 2 or (shapes < 0).any():
        raise ModelFileError("the shapes of the matrices are not valid")
    matrices, place = [], 0
    for n_rows, n_columns in shapes.reshape(-1, 2).tolist():
        own = values[place : place + n_rows * n_columns]
        if own.size != n_rows * n_columns:
            raise ModelFileError("the matrices do not fit together")
        matrices.append(own.reshape(n_rows, n_columns))
        place += own.size
    if place != values.size or not all(np.isfinite(each).all() for each in matrices):
        raise ModelFileError("the matrices do not fit together")
    return NumericModel(part.header["about"], arrays, matrices)
