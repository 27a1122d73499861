"""The operators of an ONNX graph, as they are added one after another."""

from typing import Any

import numpy as np

# TreeEnsemble came with version 5 of ai.onnx.ml; onnxruntime has it since version 1.21.
ML_DOMAIN = "ai.onnx.ml"
ML_VERSION, CORE_VERSION, IR_VERSION = 5, 21, 10


def import_onnx() -> Any:
    """Return the package onnx."""
    try:
        import onnx
    except ImportError:
        raise ImportError(
            "to_onnx needs the package onnx: install it with pip install 'sumwise[onnx]'"
        ) from None
    return onnx


class Operators:
    """Operators and constants of a graph. Results have names, which are made here.

    Parameters
    ----------
    dtype : dtype
        Type of all numbers: float64 or float32.
    """

    def __init__(self, dtype: np.dtype) -> None:
        self._onnx = import_onnx()
        self.dtype = dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._known: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add an operator and return the name of its result."""
        return self._append(operator, inputs, 1, "", attributes)[0]

    def add_pair(self, operator: str, *inputs: str, **attributes: Any) -> tuple[str, str]:
        """Add an operator with two results."""
        first, second = self._append(operator, inputs, 2, "", attributes)
        return first, second

    def add_ml(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add an operator of ai.onnx.ml, whose attributes may be arrays."""
        made = {
            name: self._onnx.numpy_helper.from_array(value, name)
            if isinstance(value, np.ndarray)
            else value
            for name, value in attributes.items()
        }
        return self._append(operator, inputs, 1, ML_DOMAIN, made)[0]

    def _append(
        self,
        operator: str,
        inputs: tuple[str, ...],
        n_results: int,
        domain: str,
        attributes: dict[str, Any],
    ) -> list[str]:
        name = f"/{len(self.nodes)}/{operator}"  # no feature should have such a name
        results = [name + "'" * k for k in range(n_results)]
        make = self._onnx.helper.make_node
        node = make(operator, list(inputs), results, name=name, domain=domain, **attributes)
        self.nodes.append(node)
        return results

    def rename(self, result: str, name: str) -> None:
        """Give a result a name that users see."""
        self.nodes.append(self._onnx.helper.make_node("Identity", [result], [name], name=name))

    def constant(self, values: Any) -> str:
        """Return the name of a constant array."""
        array = np.asarray(values)
        content = repr(array.tolist()).encode() if array.dtype == object else array.tobytes()
        key = array.dtype.str, array.shape, content
        if key not in self._known:
            self._known[key] = f"/constant/{len(self._known)}"
            self.constants.append(self._onnx.numpy_helper.from_array(array, self._known[key]))
        return self._known[key]

    def numbers(self, values: Any) -> str:
        """Return the name of constant numbers, in the precision of the graph."""
        return self.constant(np.asarray(values, dtype=np.float64).astype(self.dtype))

    def cast(self, result: str, dtype: Any) -> str:
        """Convert a result to another type."""
        return self.add("Cast", result, to=self.element_type(dtype))

    def element_type(self, dtype: Any) -> int:
        """Return the number that ONNX has for a type; strings have dtype object."""
        if np.dtype(dtype) == object:
            return int(self._onnx.TensorProto.STRING)
        return int(self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def join(self, results: list[str]) -> str:
        """Put results side by side."""
        return results[0] if len(results) == 1 else self.add("Concat", *results, axis=1)
