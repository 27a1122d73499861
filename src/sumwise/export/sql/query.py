"""SQL: a model as a SELECT that predicts the rows of a table."""

from collections.abc import Sequence
from os import PathLike
from typing import Any

from sumwise.errors import ExportError, ParameterError
from sumwise.export.portable import PortableModel, describe, refuse_empty_names, refuse_large_labels
from sumwise.export.program import Program, plan_program, save_text
from sumwise.export.sql.columns import SqlColumns
from sumwise.export.sql.dialects import DIALECTS, Dialect, quote_name, quote_string
from sumwise.export.sql.stages import Stages
from sumwise.export.sql.steps import SqlSteps


def to_sql(
    model: Any,
    *,
    table: str | Sequence[str],
    keep: str | Sequence[str] = (),
    dialect: str = "ansi",
    path: str | PathLike[str] | None = None,
) -> str:
    """Write a model as a SELECT statement that predicts all rows of a table.

    The table must have a column for each feature, with the feature's name. NULL is missing, and so
    is NaN in DuckDB and PostgreSQL. The result has these columns:

    =================================  ============================================================
    column                             content
    =================================  ============================================================
    those in ``keep``                  as they are in the table
    ``prediction``                     the prediction, or the label
    ``probability_<label>``            the probability of each class, for a classifier
    =================================  ============================================================

    With several targets, these are ``prediction_0``, ``probability_0_<label>`` and so on. Raw
    scores have the same bits as those of the model; probabilities agree to the accuracy of the
    database's ``EXP``, about 1e-15. SQLite has this function if it was compiled with
    SQLITE_ENABLE_MATH_FUNCTIONS, as that of Python usually is.

    Parameters
    ----------
    model : estimator or PortableModel
        A fitted model.
    table : str or sequence of str
        The name of the table or view; a sequence of (schema, table) if it is in a schema.
    keep : str or sequence of str, default=()
        Columns of the table that the result has, too, such as a key. Rows may come in any order.
    dialect : {"ansi", "sqlite", "duckdb", "postgres"}, default="ansi"
        "ansi" uses common table expressions, CASE, CAST, NULLIF, COALESCE, and GREATEST and EXP
        for some models. Trees do not need the last two.
    path : path, optional
        Where to write the text. The old file stays until the new one is complete.

    Returns
    -------
    str
        The statement, without a semicolon.

    Raises
    ------
    ExportError
        If SQL cannot hold a part of the model.

    Examples
    --------
    >>> import sqlite3
    >>> import numpy as np
    >>> import sumwise
    >>> from sumwise.export import to_sql
    >>> X = np.arange(40.0).reshape(-1, 1)
    >>> model = sumwise.DecisionTreeRegressor(max_depth=2).fit(X, X[:, 0] ** 2)
    >>> database = sqlite3.connect(":memory:")
    >>> _ = database.execute("CREATE TABLE points (id INTEGER, x0 REAL)")
    >>> _ = database.execute("INSERT INTO points VALUES (7, 3.0)")
    >>> query = to_sql(model, table="points", keep="id", dialect="sqlite")
    >>> database.execute(query).fetchall() == [(7, model.predict([[3.0]])[0])]
    True
    """
    if dialect not in DIALECTS:
        known = ", ".join(map(repr, DIALECTS))
        raise ParameterError(f"dialect={dialect!r}; must be one of {known}")
    names = [keep] if isinstance(keep, str) else list(keep)
    parts = [table] if isinstance(table, str) else list(table)
    if not parts or not all(parts):
        raise ParameterError(f"table={table!r}: the name of a table must not be empty")
    portable = describe(model, nested=True)
    text = _write_query(portable, DIALECTS[dialect], parts, names)
    return save_text(text, path)


def _write_query(
    model: PortableModel, dialect: Dialect, table: Sequence[str], keep: Sequence[str]
) -> str:
    program = plan_program(model)
    _check_features(program, dialect)
    refuse_large_labels(model, "SQL (64 bits)")
    outputs, labels = _name_outputs(model)
    _refuse_repeated([*keep, *labels, *outputs], keep)
    stages = Stages(dialect, keep)
    columns = SqlColumns(program, dialect, stages)
    columns.write(".".join(map(quote_name, table)))
    results = SqlSteps(program, dialect, stages, columns).write()
    chosen = _choose_labels(model, dialect, stages, results)
    selected = [quote_name(name) for name in keep]
    selected += [f"{text} AS {quote_name(n)}" for n, text in zip(labels, chosen, strict=True)]
    selected += [f"{text} AS {quote_name(n)}" for n, text in zip(outputs, results, strict=True)]
    return stages.write(selected)


def _name_outputs(model: PortableModel) -> tuple[list[str], list[str]]:
    """Return the names of the outputs in the result, and of the labels."""
    if not model.is_classifier:
        n = model.n_outputs
        return ["prediction"] if n == 1 else [f"prediction_{k}" for k in range(n)], []
    several = len(model.classes) > 1
    outputs, labels = [], []
    for target, classes in enumerate(model.classes):
        end = f"_{target}" if several else ""
        labels.append(f"prediction{end}")
        outputs += [f"probability{end}_{label}" for label in classes.tolist()]
    return _make_distinct(outputs), labels


def _make_distinct(names: Sequence[str]) -> list[str]:
    """Return names that differ even if upper and lower case do not count."""
    taken: set[str] = set()
    result = []
    for name in names:
        own, k = name, 2
        while own.lower() in taken:
            own, k = f"{name}_{k}", k + 1
        taken.add(own.lower())
        result.append(own)
    return result


def _check_features(program: Program, dialect: Dialect) -> None:
    """Refuse names of features that a table of this database cannot have."""
    inputs = program.model.inputs
    used = [inputs[k] for k in sorted({k for c in program.columns for k in c.inputs})]
    if dialect.name != "sqlite":
        refuse_empty_names(used, "SQL")
    if not dialect.ignores_case:
        return
    known: dict[str, str] = {}
    for name in (own.name for own in used):
        other = known.setdefault("".join(c.lower() if c.isascii() else c for c in name), name)
        if other != name:
            raise ExportError(
                f"the features {other!r} and {name!r} would be the same column to {dialect.name}, "
                "which ignores case; rename one of them"
            )


def _refuse_repeated(names: Sequence[str], keep: Sequence[str]) -> None:
    lower = [name.lower() for name in names]
    for name in keep:
        if lower.count(name.lower()) > 1:
            raise ParameterError(
                f"keep={list(keep)!r}: the result would have two columns {name!r}; "
                "select from a view that renames this one"
            )


def _choose_labels(
    model: PortableModel, dialect: Dialect, stages: Stages, results: Sequence[str]
) -> list[str]:
    """Return the expression of the label of each target."""
    first, labels = 0, []
    for classes in model.classes:
        own = results[first : first + classes.size]
        (largest,) = stages.add({stages.name(f"max{first}"): dialect.find_largest(own)})
        values = [_write_label(label, dialect) for label in classes.tolist()]
        whens = [f"WHEN {p} THEN {v}" for p, v in zip(own[:-1], values[:-1], strict=True)]
        case = f"CASE {largest} {' '.join(whens)} ELSE {values[-1]} END"
        labels.append(case if whens else values[-1])
        first += classes.size
    return labels


def _write_label(label: Any, dialect: Dialect) -> str:
    if isinstance(label, str):
        return quote_string(label)
    if isinstance(label, bool):
        return "TRUE" if label else "FALSE"
    return dialect.write_number(label) if isinstance(label, float) else str(int(label))
