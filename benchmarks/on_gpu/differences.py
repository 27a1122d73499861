"""The first difference between two model files: the tree, the node and the field."""

from typing import Any

import numpy as np

from sumwise.export.container import OpenedFile, open_file
from sumwise.export.native import FORMAT_VERSION

# Arrays with an entry for every node, causes before effects.
_NODE_FIELDS = ("feature", "threshold", "missing_left", "left", "gain", "n_rows", "weight", "value")


def describe_difference(expected: bytes, found: bytes) -> str | None:
    """Return where a model file differs from the expected one; None if it does not."""
    if expected == found:
        return None
    wanted, own = (open_file(content, FORMAT_VERSION) for content in (expected, found))
    arrays, others = _read_arrays(wanted), _read_arrays(own)
    return (
        _compare_nodes(arrays, others)
        or _compare_arrays(arrays, others)
        or _compare_headers(wanted.header, own.header)
        or f"format {own.version} instead of {wanted.version}, or padding"
    )


def _read_arrays(file: OpenedFile) -> dict[str, np.ndarray]:
    arrays, place = {}, file.place
    for entry in file.header["arrays"]:
        place += -place % 8
        array = np.frombuffer(file.body, entry["dtype"], entry["length"], place)
        arrays[entry["name"]] = array
        place += array.nbytes
    return arrays


def _compare_nodes(arrays: dict[str, np.ndarray], others: dict[str, np.ndarray]) -> str | None:
    """Return the first node that differs, in the order of trees and nodes."""
    if "start" not in arrays or "start" not in others:
        return None
    firsts = {}
    for field in _NODE_FIELDS:
        if field in arrays and field in others:
            place = _find_difference(arrays[field], others[field])
            if place is not None:
                firsts[field] = place
    if not firsts:
        return None
    field = min(firsts, key=lambda name: (firsts[name], _NODE_FIELDS.index(name)))
    node = firsts[field]
    tree = int(np.searchsorted(arrays["start"], node, side="right")) - 1
    values = _format_values(arrays[field], others[field], node)
    where = f"tree {tree} of {arrays['start'].size}, node {node - int(arrays['start'][tree])}"
    return f"{where}, {field}: {values}"


def _compare_arrays(arrays: dict[str, np.ndarray], others: dict[str, np.ndarray]) -> str | None:
    """Return the first entry of any array that differs."""
    if list(arrays) != list(others):
        return f"arrays {sorted(set(arrays) ^ set(others))} are in one file only"
    for name, array in arrays.items():
        place = _find_difference(array, others[name])
        if place is not None:
            return f"{name}[{place}]: {_format_values(array, others[name], place)}"
    return None


def _find_difference(array: np.ndarray, other: np.ndarray) -> int | None:
    """Return the index of the first entry that differs in its bits, or that one array lacks."""
    n = min(array.size, other.size)
    width = array.dtype.itemsize
    if array.dtype != other.dtype:
        return 0
    bits = f"u{width}"
    different = np.flatnonzero(array[:n].view(bits) != other[:n].view(bits))
    if different.size:
        return int(different[0])
    return None if array.size == other.size else n


def _format_values(array: np.ndarray, other: np.ndarray, place: int) -> str:
    wanted, found = (
        _format_value(each[place]) if place < each.size else "nothing" for each in (array, other)
    )
    return f"{found} instead of {wanted}"


def _format_value(value: Any) -> str:
    if isinstance(value, np.floating):
        return f"{float(value)!r} ({float(value).hex()})"
    return str(value)


def _compare_headers(header: Any, other: Any, path: str = "header") -> str | None:
    """Return the first entry of the JSON header that differs."""
    if isinstance(header, dict) and isinstance(other, dict):
        for key in sorted({*header, *other}):
            if key not in header or key not in other:
                return f"{path}.{key} is in one file only"
            found = _compare_headers(header[key], other[key], f"{path}.{key}")
            if found:
                return found
        return None
    return None if header == other else f"{path}: {other!r:.60} instead of {header!r:.60}"


def describe_predictions(expected: Any, found: Any) -> str | None:
    """Return where predictions differ in their bits; None if they do not."""
    expected, found = np.asarray(expected), np.asarray(found)
    if (expected.shape, expected.dtype) != (found.shape, found.dtype):
        return f"{found.dtype}{found.shape} instead of {expected.dtype}{expected.shape}"
    flat, own = np.ravel(expected), np.ravel(found)
    place = _find_difference(flat, own)
    if place is None:
        return None
    row = int(np.unravel_index(place, expected.shape)[0])
    n_different = int(np.sum(flat.view(f"u{flat.itemsize}") != own.view(f"u{own.itemsize}")))
    return f"row {row}: {_format_values(flat, own, place)}; {n_different} of {flat.size} differ"
