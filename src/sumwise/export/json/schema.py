"""The JSON Schema of exported models, and a check of documents against it.

The check knows the keywords that this schema uses. Its messages say where a document is wrong.
"""

from itertools import chain
from typing import Any

from sumwise.errors import ModelFileError

# Numbers that JSON cannot write.
SPECIAL = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}
_NUMBER = "#/$defs/number"


def _array(items: dict[str, Any], at_least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": at_least}


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def _node(type_name: str, required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    return _object({"type": {"const": type_name}, **required}, optional)


_INDEX = {"type": "integer", "minimum": 0}
_NUMBERS = _array({"$ref": _NUMBER})
_MATRIX = _array(_NUMBERS)
_SEVERAL = _array(_INDEX)

JSON_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "sumwise model, version 1",
    **_object(
        {
            "format": {"const": "sumwise-model"},
            "version": {"const": 1},
            "estimator": {"type": "string"},
            "inputs": _array({"$ref": "#/$defs/input"}),
            "classes": _array(_array({"type": ["string", "number", "boolean"]}, 1)),
            "nodes": _array({"$ref": "#/$defs/node"}, 1),
            "output": _INDEX,
        }
    ),
    "$defs": {
        "number": {"anyOf": [{"type": "number"}, {"enum": list(SPECIAL)}]},
        "input": _object(
            {
                "name": {"type": "string"},
                "kind": {"enum": ["number", "category", "date", "duration"]},
            },
            {"categories": _array({"type": ["string", "number"]})},
        ),
        "column": {
            "anyOf": [
                _object({"node": _INDEX, "output": _INDEX}),
                _object({"inputs": _array(_INDEX, 1)}, {"lookup": {"$ref": "#/$defs/lookup"}}),
            ]
        },
        "lookup": _object(
            {
                "codes": _array(_array(_INDEX, 1)),
                "values": _NUMBERS,
                "default": {"$ref": _NUMBER},
            }
        ),
        "tree": _object(
            {
                "column": _array({"type": "integer", "minimum": -1}, 1),
                "threshold": _NUMBERS,
                "missing_left": _array({"type": "boolean"}),
                "left": _array({"type": "integer", "minimum": -1}),
                "value": _MATRIX,
            },
            {
                "categories": _array({"anyOf": [{"type": "null"}, _SEVERAL]}),
                "linear": _array({"anyOf": [{"type": "null"}, {"$ref": "#/$defs/linear"}]}),
                "gain": _NUMBERS,
                "rows": _SEVERAL,
                "weight": _NUMBERS,
            },
        ),
        "linear": _object(
            {
                "constant": {"$ref": _NUMBER},
                "columns": _array(_INDEX, 1),
                "coefficients": _NUMBERS,
                "low": {"$ref": _NUMBER},
                "high": {"$ref": _NUMBER},
            }
        ),
        "node": {
            "oneOf": [
                _node(
                    "trees",
                    {
                        "columns": _array({"$ref": "#/$defs/column"}),
                        "base_score": _array({"$ref": _NUMBER}, 1),
                        "divisor": {"$ref": _NUMBER},
                        "trees": _array({"$ref": "#/$defs/tree"}),
                    },
                ),
                _node("median", {"of": _INDEX, "weights": _NUMBERS}),
                _node(
                    "affine",
                    {"of": _SEVERAL, "coefficient": _MATRIX, "intercept": _NUMBERS},
                    columns=_array({"$ref": "#/$defs/column"}),
                    column_coefficient=_MATRIX,
                ),
                _node(
                    "link",
                    {
                        "of": _INDEX,
                        "name": {
                            "enum": [
                                "identity",
                                "log",
                                "log1p",
                                "sigmoid",
                                "sorted",
                                "logistic",
                                "half_logistic",
                                "softmax",
                            ]
                        },
                    },
                ),
                _node("vote", {"of": _array(_INDEX, 1), "weights": _NUMBERS}),
                _node("share", {"of": _INDEX}),
                _node("curve", {"of": _INDEX, "x": _MATRIX, "y": _MATRIX}),
            ]
        },
    },
}

_TYPES: dict[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}


def check_document(value: Any, schema: dict[str, Any] = JSON_SCHEMA, where: str = "model") -> None:
    """Raise ModelFileError if a document does not follow the schema."""
    if "$ref" in schema:
        schema = JSON_SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    if "anyOf" in schema:
        _check_any(value, schema["anyOf"], where)
    elif "oneOf" in schema:
        check_document(value, _choose_node(value, schema["oneOf"], where), where)
    elif "const" in schema or "enum" in schema:
        allowed = schema["enum"] if "enum" in schema else [schema["const"]]
        if not any(type(value) is type(each) and value == each for each in allowed):
            _refuse(where, f"must be {' or '.join(map(repr, allowed))}", value)
    else:
        _check_type(value, schema, where)


def _check_type(value: Any, schema: dict[str, Any], where: str) -> None:
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(type(value) in _TYPES[name] for name in names):
        _refuse(where, f"must be of type {' or '.join(names)}", value)
    if isinstance(value, dict):
        _check_object(value, schema, where)
    elif isinstance(value, list):
        _check_array(value, schema, where)
    elif "minimum" in schema and value < schema["minimum"]:
        _refuse(where, f"must be at least {schema['minimum']}", value)


def _check_object(value: dict[str, Any], schema: dict[str, Any], where: str) -> None:
    for name in schema["required"]:
        if name not in value:
            raise ModelFileError(f"{where} has no {name!r}")
    for name, own in value.items():
        if name not in schema["properties"]:
            raise ModelFileError(f"{where} has {_shorten(name)}, which the schema does not know")
        check_document(own, schema["properties"][name], f"{where}.{name}")


def _check_array(value: list[Any], schema: dict[str, Any], where: str) -> None:
    if len(value) < schema.get("minItems", 0):
        raise ModelFileError(f"{where} must have at least {schema['minItems']} items")
    items = schema["items"]
    if _are_plain(value, items):
        return
    for k, own in enumerate(value):
        check_document(own, items, f"{where}[{k}]")


def _are_plain(value: list[Any], items: dict[str, Any]) -> bool:
    """Whether all items are plain numbers or flags that fit: the common case, in a few calls."""
    types = set(map(type, value))
    if items.get("$ref") == _NUMBER:
        return types <= {int, float}
    if items.get("type") == "integer":
        return types <= {int} and min(value, default=0) >= items["minimum"]
    if items.get("type") == "array" and types <= {list}:
        return not items["minItems"] and _are_plain(
            list(chain.from_iterable(value)), items["items"]
        )
    return items.get("type") == "boolean" and types <= {bool}


def _check_any(value: Any, choices: list[dict[str, Any]], where: str) -> None:
    """Check against several choices; the error of the last one is raised if none fits."""
    for choice in choices[:-1]:
        try:
            return check_document(value, choice, where)
        except ModelFileError:
            continue
    return check_document(value, choices[-1], where)


def _choose_node(value: Any, choices: list[dict[str, Any]], where: str) -> dict[str, Any]:
    known = {choice["properties"]["type"]["const"]: choice for choice in choices}
    found = value.get("type") if isinstance(value, dict) else None
    if not isinstance(found, str) or found not in known:
        _refuse(f"{where}.type", f"must be one of {', '.join(known)}", found)
    return known[found]


def _refuse(where: str, rule: str, value: Any) -> None:
    raise ModelFileError(f"{where} {rule}, got {_shorten(value)}")


def _shorten(value: Any) -> str:
    if isinstance(value, (list, dict)):
        return "an array" if isinstance(value, list) else "an object"
    text = repr(value) if not isinstance(value, int) or abs(value) < 1 << 64 else "a huge integer"
    return text if len(text) <= 40 else f"{text[:40]}..."
