"""C and C++: a model as one source file that needs nothing but the standard library."""

from os import PathLike
from typing import Any

from sumwise.export.c.cpp_interface import CppInterface
from sumwise.export.c.interface import CInterface
from sumwise.export.portable import describe
from sumwise.export.program import document_source, save_text


@document_source
def to_c(
    model: Any,
    *,
    name: str = "model",
    header: bool = False,
    path: str | PathLike[str] | None = None,
) -> str:
    """Write a model as C99.

    The source stands alone: it needs only the standard library (link with ``-lm``). Its functions
    allocate nothing and have no state, so that threads may share them. Raw scores and
    probabilities have the same bits as those of the model, unless the compiler is allowed to
    change arithmetic; do not use ``-ffast-math``.

    ======================================  =======================================================
    in the source, for ``name="model"``     meaning
    ======================================  =======================================================
    ``MODEL_N_INPUTS, MODEL_N_OUTPUTS``     lengths of ``x`` and ``out``
    ``MODEL_<FEATURE>``                     index of a feature in ``x``
    ``model_encode_<feature>(value)``       what ``x`` holds for a category
    ``model_predict(x, out)``               predictions, or the probabilities of the classes
    ``model_class(out)``                    index of the most probable class
    ``model_label(out)``                    its label
    ======================================  =======================================================

    Parameters
    ----------
    {model}
    name : str, default="model"
        Begins all names in the source.
    {header}
    {written}

    Raises
    ------
    ExportError
        If C cannot hold a part of the model.

    Examples
    --------
    >>> import numpy as np
    >>> import sumwise
    >>> from sumwise.export import to_c
    >>> X = np.arange(40.0).reshape(-1, 1)
    >>> model = sumwise.DecisionTreeRegressor(max_depth=2).fit(X, X[:, 0] ** 2)
    >>> "void square_predict(const double *x, double *out);" in to_c(model, name="square")
    True
    """
    source = CInterface(describe(model, nested=True), name)
    return save_text(source.declare() if header else source.define(), path)


@document_source
def to_cpp(
    model: Any,
    *,
    name: str = "model",
    header: bool = False,
    path: str | PathLike[str] | None = None,
) -> str:
    """Write a model as C++11.

    The source stands alone, as that of :func:`to_c`; it has the same bits and allocates nothing
    but the strings it returns. Everything is in the namespace ``name``:

    ===============================  ==============================================================
    in the source                    meaning
    ===============================  ==============================================================
    ``struct Row``                   a row, with a member for each feature; all start as missing
    ``predict(row)``                 the prediction, or the label; an array if there are several
    ``predict_proba(row)``           ``std::array`` with the probabilities of the classes
    ``predict(x, out)``              the same from an array of numbers, without a ``Row``
    ===============================  ==============================================================

    A category is assigned by its value (``row.color = "red"``), and encoded at that moment.

    Parameters
    ----------
    {model}
    name : str, default="model"
        The namespace.
    {header}
    {written}

    Raises
    ------
    ExportError
        If C++ cannot hold a part of the model.

    Examples
    --------
    >>> import numpy as np
    >>> import sumwise
    >>> from sumwise.export import to_cpp
    >>> X = np.arange(40.0).reshape(-1, 1)
    >>> model = sumwise.DecisionTreeRegressor(max_depth=2).fit(X, X[:, 0] ** 2)
    >>> "double predict(const Row &row);" in to_cpp(model, name="square")
    True
    """
    source = CppInterface(describe(model, nested=True), name)
    return save_text(source.declare() if header else source.define(), path)
