"""Stages: a query as a chain of common table expressions, each with some more columns."""

from collections.abc import Mapping, Sequence

from sumwise.export.sql.dialects import Dialect, quote_name


class Stages:
    """A chain of common table expressions; each selects from the one before.

    Parameters
    ----------
    dialect : Dialect
    keep : sequence of str
        Columns of the table that the result has.
    """

    def __init__(self, dialect: Dialect, keep: Sequence[str]) -> None:
        self._dialect, self._keep = dialect, keep
        self._texts: list[str] = []
        # No name of ours may be the same as one in `keep`.
        self._prefix = "sw_"
        while any(name.lower().startswith(self._prefix) for name in keep):
            self._prefix += "_"

    def name(self, end: str) -> str:
        """Return a name of a column or table."""
        return f"{self._prefix}{end}"

    def begin(self, table: str, columns: Mapping[str, str]) -> None:
        """Select columns from the table, which is called ``t``."""
        kept = [f"t.{quote_name(name)} AS {quote_name(name)}" for name in self._keep]
        own = [f"{text} AS {name}" for name, text in columns.items()]
        self._append([*kept, *own] or ["1 AS " + self.name("one")], f"{table} AS t")

    def add(self, columns: Mapping[str, str]) -> list[str]:
        """Add columns that are computed from those of earlier stages; return their names."""
        if columns:
            own = [f"{text} AS {name}" for name, text in columns.items()]
            self._append(["*", *own], self._last)
        return list(columns)

    @property
    def _last(self) -> str:
        return self.name(f"stage{len(self._texts) - 1}")

    def _append(self, columns: Sequence[str], source: str) -> None:
        name, listed = self.name(f"stage{len(self._texts)}"), ",\n    ".join(columns)
        as_ = f"AS {self._dialect.materialized}"
        self._texts.append(f"{name} {as_}(\n  SELECT\n    {listed}\n  FROM {source}\n)")

    def write(self, columns: Sequence[str]) -> str:
        """Return the query."""
        stages, listed = ",\n".join(self._texts), ",\n  ".join(columns)
        return f"WITH {stages}\nSELECT\n  {listed}\nFROM {self._last}\n"
