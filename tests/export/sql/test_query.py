"""SQL computes what the model computes: in SQLite and in DuckDB."""

import math
import os
import shutil
import sqlite3
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from sumwise.errors import ExportError, ParameterError
from sumwise.export import to_sql
from sumwise.export.portable import (
    CATEGORY,
    NUMBER,
    Affine,
    Link,
    Median,
    PortableModel,
    TreeSum,
    list_nodes,
)
from sumwise.export.sql.dialects import DIALECTS, quote_string
from tests.export.random_models import make_line, make_rows
from tests.export.source_cases import (
    ODD_INPUTS,
    Case,
    find_labels,
    fit_cases,
    make_case_of_numbers,
    make_chain_case,
    make_graph_cases,
    make_model,
    make_odd_trees,
)
from tests.naive.portable import predict_label, predict_row


def has_exp():
    try:
        sqlite3.connect(":memory:").execute("SELECT EXP(1)")
    except sqlite3.OperationalError:
        return False
    return True


def name_type(own, types):
    if own.kind != CATEGORY:
        return types[0]
    return types[1] if own.categories and isinstance(own.categories[0], str) else types[2]


def quote(name):
    return '"' + name.replace('"', '""') + '"'


def create_table(database, inputs, rows, types):
    """Make a table ``some rows`` with a column ``sw_key``."""
    columns = [f"{quote(own.name)} {name_type(own, types)}" for own in inputs]
    database.execute('DROP TABLE IF EXISTS "some rows"')
    database.execute(f'CREATE TABLE "some rows" (sw_key INTEGER, {", ".join(columns)})')
    marks = ", ".join("?" * (len(columns) + 1))
    numbered = [[k, *row] for k, row in enumerate(rows)]
    database.executemany(f'INSERT INTO "some rows" VALUES ({marks})', numbered)


def clear_missing(case, kinds):
    """Return the rows with None in place of NaN, in columns of some kinds."""
    return [
        [
            None if own.kind in kinds and isinstance(value, float) and math.isnan(value) else value
            for own, value in zip(case.model.inputs, row, strict=True)
        ]
        for row in case.rows
    ]


def query(database, case, dialect, types, nulls=(CATEGORY,)):
    """Return the outputs and labels that a database computes."""
    create_table(database, case.model.inputs, clear_missing(case, nulls), types)
    text = to_sql(case.model, table="some rows", keep="sw_key", dialect=dialect)
    rows = sorted(database.execute(text).fetchall())
    assert [row[0] for row in rows] == list(range(len(case.rows)))
    n_targets = len(case.model.classes)
    outputs = np.array([row[1 + n_targets :] for row in rows], dtype=np.float64)
    return outputs, [list(row[1 : 1 + n_targets]) for row in rows]


def check(case, outputs, labels):
    if case.is_exact and not uses_exp(case.model.output):
        np.testing.assert_array_equal(outputs, case.outputs, err_msg=case.name)
    else:
        np.testing.assert_allclose(
            outputs, case.outputs, rtol=2e-15, atol=1e-300, err_msg=case.name
        )
    if labels is not None and case.model.classes and case.is_exact:
        assert labels == find_labels(case), case.name


def keep_rows(case, is_kept):
    """Return a case with some of its rows."""
    kept = np.flatnonzero(is_kept)
    return replace(case, rows=[case.rows[k] for k in kept], outputs=case.outputs[kept])


def uses_exp(node):
    return getattr(node, "name", "identity") not in ("identity", "sorted") or (
        hasattr(node, "of") and isinstance(node.of, tuple) and any(map(uses_exp, node.of))
    )


@pytest.fixture(scope="module")
def cases():
    chains = [make_chain_case(True), make_chain_case(False), make_chain_case(True, n_splits=0)]
    return [*fit_cases(), *make_graph_cases(), make_case_of_numbers(), *chains]


needs_exp = pytest.mark.skipif(not has_exp(), reason="SQLite has no mathematical functions")
SQLITE_TYPES = "REAL", "TEXT", "NUMERIC"
DUCKDB_TYPES = "DOUBLE", "VARCHAR", "DOUBLE"


@needs_exp
def test_sqlite_computes_the_outputs(cases):
    database = sqlite3.connect(":memory:")
    for case in cases:
        check(case, *query(database, case, "sqlite", SQLITE_TYPES))


@pytest.fixture(scope="module")
def duck():
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    return duckdb.connect(config={"threads": 1})


def test_duckdb_computes_the_outputs(cases, duck):
    for case in cases:
        check(case, *query(duck, case, "duckdb", DUCKDB_TYPES))


def test_standard_sql_computes_the_outputs(cases, duck):
    for case in cases[::3]:
        known = keep_rows(case, ~np.isnan(case.outputs).any(axis=1))  # there is no NaN
        check(known, *query(duck, known, "ansi", DUCKDB_TYPES, nulls=(CATEGORY, NUMBER)))


class Psql:
    """A session of psql for each query."""

    def __init__(self, connection):
        self._command = ["psql", connection, "-qAtX", "-F", "\x1f", "-v", "ON_ERROR_STOP=1"]

    def query(self, case):
        """Return outputs and labels, with the labels as text."""
        inputs, rows = case.model.inputs, clear_missing(case, (CATEGORY,))
        types = "DOUBLE PRECISION", "TEXT", "DOUBLE PRECISION"
        columns = ", ".join(f"{quote(own.name)} {name_type(own, types)}" for own in inputs)
        script = [f'CREATE TEMP TABLE "some rows" (sw_key INTEGER, {columns});']
        for k, row in enumerate(rows):
            values = ", ".join([str(k), *map(self._write, row)])
            script.append(f'INSERT INTO "some rows" VALUES ({values});')
        text = to_sql(case.model, table="some rows", keep="sw_key", dialect="postgres")
        script.append(f"{text} ORDER BY 1;")
        done = subprocess.run(
            self._command, input="\n".join(script), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (case.name, done.stderr[-1000:])
        found = [line.split("\x1f")[1:] for line in done.stdout.splitlines()]
        n_targets = len(case.model.classes)
        outputs = [[float(x or "nan") for x in row[n_targets:]] for row in found]
        return np.array(outputs), [row[:n_targets] for row in found]

    @staticmethod
    def _write(value):
        if value is None:
            return "NULL"
        return quote_string(value) if isinstance(value, str) else f"'{float(value)!r}'"


@pytest.mark.skipif(
    "SUMWISE_TEST_POSTGRES" not in os.environ or shutil.which("psql") is None,
    reason="SUMWISE_TEST_POSTGRES is not set to a connection string of PostgreSQL, or psql missing",
)
def test_postgres_computes_the_outputs(cases):
    database = Psql(os.environ["SUMWISE_TEST_POSTGRES"])
    for case in cases:
        own = case
        if any(map(multiplies, list_nodes(case.model.output))):
            own = keep_rows(case, [all(map(is_moderate, row)) for row in case.rows])
        outputs, labels = database.query(own)
        check(own, outputs, None)
        if own.is_exact and own.model.classes:
            assert labels == [list(map(show_label, row)) for row in find_labels(own)], own.name


def show_label(value):
    """Return a label as psql prints it."""
    return str(value)[0].lower() if isinstance(value, bool) else str(value)


def multiplies(node):
    """Whether a node multiplies columns: PostgreSQL raises an error if a product overflows."""
    if isinstance(node, TreeSum):
        return node.trees.models is not None
    return isinstance(node, Affine) and bool(node.columns)


def is_moderate(value):
    if not isinstance(value, float) or value == 0.0 or not math.isfinite(value):
        return True
    return 1e-150 < abs(value) < 1e150


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_many_terms_are_added_in_order(dialect, request):
    rng = np.random.default_rng(0)
    trees = make_odd_trees(rng, 230, n_outputs=2)
    line = make_line(rng, 2, n_terms=1500)
    both = Affine((trees, line), rng.normal(size=(3, 4)), np.zeros(3))
    model = PortableModel("Trees", ODD_INPUTS, both)
    case = Case.by_twin("many", model, make_rows(model, 3))
    if dialect == "sqlite":
        check(case, *query(sqlite3.connect(":memory:"), case, dialect, SQLITE_TYPES))
    else:
        check(case, *query(request.getfixturevalue("duck"), case, dialect, DUCKDB_TYPES))


def test_large_sets_of_categories_are_strings_of_bits_in_duckdb(duck):
    values = [f"c{k:02}" for k in range(60)]
    model = make_model(["code", "a"], categories=values)
    assert "SUBSTRING('" in to_sql(model, table="points", dialect="duckdb")
    assert "SUBSTRING" not in to_sql(model, table="points", dialect="sqlite")
    rows = [[value, 0.5] for value in [*values, "other", "", None]]
    case = Case.by_twin("large", model, rows)
    check(case, *query(duck, case, "duckdb", DUCKDB_TYPES))


# --- names, labels, errors ---


def select(model, row, **options):
    """Return the names and values of the result for one row, in SQLite."""
    database = sqlite3.connect(":memory:")
    create_table(database, model.inputs, [row], SQLITE_TYPES)
    done = database.execute(to_sql(model, table="some rows", dialect="sqlite", **options))
    return [column[0] for column in done.description], list(done.fetchone())


def test_the_result_has_named_columns():
    names, values = select(make_model(["a"], classes=["x", "X", "it's"]), [1.0], keep=["a"])
    assert names == ["a", "prediction", "probability_x", "probability_X_2", "probability_it's"]
    assert values[0] == 1.0
    assert values[1] in ("x", "X", "it's")
    names, _ = select(make_model(["a"]), [1.0])
    assert names == ["prediction"]


@pytest.mark.parametrize("classes", [[3, -7], [0.5, 1.25], [False, True]])
def test_labels_are_of_their_type(classes):
    model = make_model(["a"], classes=classes)
    _, values = select(model, [1.0])
    assert values[0] == predict_label(model, [1.0])


def test_any_names_can_be_written():
    names = ['"', "a b", "select", "größe", "\n", "sw_i0", "t"]
    model = make_model(names, categories=["'", "''", "\\"], classes=["'", '"'])
    row = ["'", *[1.0] * 6]
    _, values = select(model, row, keep=names)
    assert values[:7] == row
    assert values[8:] == predict_row(model, row)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_features_that_differ_by_case_are_refused_where_case_does_not_count(dialect):
    model = make_model(["size", "Size", "Ä", "ä"])
    with pytest.raises(ExportError, match="'size' and 'Size' would be the same column"):
        to_sql(model, table="points", dialect=dialect)
    assert "Size" in to_sql(model, table="points", dialect="postgres")
    to_sql(make_model(["Ä", "ä"]), table="points", dialect=dialect)


def test_an_empty_name_is_refused():
    with pytest.raises(ExportError, match="empty name '', which SQL cannot hold"):
        to_sql(make_model(["", "a"]), table="points", dialect="duckdb")


def test_a_table_may_be_in_a_schema():
    database = sqlite3.connect(":memory:")
    database.execute("ATTACH ':memory:' AS other")
    database.execute("CREATE TABLE other.points (a REAL)")
    database.execute("INSERT INTO other.points VALUES (0.5)")
    model = make_model(["a"])
    text = to_sql(model, table=("other", "points"), dialect="sqlite")
    assert database.execute(text).fetchone()[0] == predict_row(model, [0.5])[0]


def test_a_column_that_is_not_there_is_an_error():
    """SQLite would read a quoted name that it does not know as a string."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE points (b REAL)")
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        database.execute(to_sql(make_model(["a"]), table="points", dialect="sqlite"))


def test_the_text_is_written_to_a_file(tmp_path):
    text = to_sql(make_model(["a"]), table="points", path=tmp_path / "query.sql")
    assert (tmp_path / "query.sql").read_text() == text


def test_bad_parameters_are_refused():
    model = make_model(["a"])
    with pytest.raises(ParameterError, match="dialect='oracle'; must be one of 'ansi'"):
        to_sql(model, table="points", dialect="oracle")
    for table in ("", (), ("schema", "")):
        with pytest.raises(ParameterError, match="the name of a table must not be empty"):
            to_sql(make_model(["a"]), table=table)
    with pytest.raises(ParameterError, match="two columns 'Prediction'"):
        to_sql(model, table="points", keep=["id", "Prediction"])


def test_what_sql_cannot_hold_is_refused():
    with pytest.raises(ExportError, match="zero character"):
        to_sql(make_model(["a"], categories=["a\0b"]), table="points")
    with pytest.raises(ExportError, match="zero character"):
        to_sql(make_model(["a\0b"]), table="points")
    model = make_model(["a"])
    model.output.trees.value[:] = math.inf
    with pytest.raises(ExportError, match="the number inf"):
        to_sql(model, table="points")
    trees = make_odd_trees(np.random.default_rng(0), 201)
    median = PortableModel("Model", ODD_INPUTS, Median(trees, np.ones(201)))
    with pytest.raises(ExportError, match="weighted median of 201 trees"):
        to_sql(median, table="points")
    with pytest.raises(ExportError, match="the link 'probit'"):
        to_sql(PortableModel("Model", ODD_INPUTS, Link(trees, "probit")), table="points")


def test_trees_that_are_too_large_for_the_parser_are_refused(monkeypatch):
    small = replace(DIALECTS["sqlite"], most_leaves=4)
    monkeypatch.setitem(DIALECTS, "sqlite", small)
    with pytest.raises(ExportError, match="sqlite can read at most 4"):
        to_sql(make_graph_cases()[0].model, table="points", dialect="sqlite")
