"""Models outside of sumwise: source code, and files that other programs read.

``portable.py`` describes a model in plain terms; each format is written from that description by a
module of its own. ``native.py`` is the model file of sumwise itself.
"""

from typing import TYPE_CHECKING

from sumwise.lazy import import_on_use

if TYPE_CHECKING:
    from sumwise.export.c.source import to_c, to_cpp
    from sumwise.export.coreml.model import to_coreml
    from sumwise.export.json.model import from_json, to_json
    from sumwise.export.json.schema import JSON_SCHEMA
    from sumwise.export.libraries.lightgbm_text import to_lightgbm
    from sumwise.export.libraries.treelite_model import to_treelite
    from sumwise.export.libraries.xgboost_json import to_xgboost
    from sumwise.export.onnx.graph import to_onnx
    from sumwise.export.pmml.document import to_pmml
    from sumwise.export.python.source import to_python
    from sumwise.export.sql.query import to_sql

_MODULES = {
    "JSON_SCHEMA": "json.schema",
    "from_json": "json.model",
    "to_c": "c.source",
    "to_coreml": "coreml.model",
    "to_cpp": "c.source",
    "to_json": "json.model",
    "to_lightgbm": "libraries.lightgbm_text",
    "to_onnx": "onnx.graph",
    "to_pmml": "pmml.document",
    "to_python": "python.source",
    "to_sql": "sql.query",
    "to_treelite": "libraries.treelite_model",
    "to_xgboost": "libraries.xgboost_json",
}

__all__ = [
    "JSON_SCHEMA",
    "from_json",
    "to_c",
    "to_coreml",
    "to_cpp",
    "to_json",
    "to_lightgbm",
    "to_onnx",
    "to_pmml",
    "to_python",
    "to_sql",
    "to_treelite",
    "to_xgboost",
]

__getattr__ = import_on_use(
    __name__, {name: f"sumwise.export.{module}" for name, module in _MODULES.items()}
)
