"""How the trees of an estimator use categories."""

from typing import Any

from sumwise.data.native import Native
from sumwise.errors import ParameterError
from sumwise.estimators.parameters import resolve_part


def resolve_encoding(estimator: Any) -> Native:
    """Return the checked part that ``categorical_encoding`` stands for."""
    value = estimator.categorical_encoding
    if isinstance(value, str) and value == "auto":
        return Native()
    part = resolve_part(estimator, "categorical_encoding", [Native], names=True)
    if part is None:
        raise ParameterError(
            f"{type(estimator).__name__}: categorical_encoding=None; must be 'auto', 'native' or "
            "Native(...)"
        )
    return part
