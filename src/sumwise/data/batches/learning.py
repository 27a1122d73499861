"""The first pass over a source: the targets of all rows, and the schema of the features."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sumwise.data.batches.sources import BATCH_ROWS, Batch, Source, refuse_empty
from sumwise.data.categories.bins import check_number
from sumwise.data.categories.dictionary import CategoryColumn, Dictionary
from sumwise.data.frames.columns import CATEGORY, NUMBER, Column, read_series
from sumwise.data.frames.factorize import to_objects
from sumwise.data.frames.reading import ColumnFrame, series_to_array
from sumwise.data.schema import PLURAL, FeatureSchema, is_empty, refuse_strings
from sumwise.errors import DataError, ParameterError

# Row numbers are uint32.
MOST_ROWS = (1 << 32) - 1
# One column, several, or none.
Names = str | Sequence[str] | None


class Roles(NamedTuple):
    """The columns of a source that are not features.

    Attributes
    ----------
    target, sample_weight, init_score, groups : str, sequence of str, or None
        Names of columns. A sequence gives an array of two dimensions.
    """

    target: Names = None
    sample_weight: Names = None
    init_score: Names = None
    groups: Names = None

    def list_targets(self) -> list[str]:
        """Return the names of the columns of the target."""
        return _as_list(self.target)

    def list_names(self) -> list[str]:
        """Return the names of all these columns."""
        return list(dict.fromkeys(name for names in self for name in _as_list(names)))


@dataclass
class BatchedTable:
    """A source of rows: which columns are features, and what the others are for.

    Attributes
    ----------
    source : Source
    names : list of str
        The features, in their order.
    roles : Roles
    batch_rows : int
        The most rows read at a time.
    n_rows : int or None
        The number of rows; None before the first pass has ended.
    """

    source: Source
    names: list[str]
    roles: Roles
    batch_rows: int = BATCH_ROWS
    n_rows: int | None = None

    @classmethod
    def open(
        cls,
        source: Source,
        roles: Roles,
        columns: Sequence[str] | None = None,
        batch_rows: int = BATCH_ROWS,
    ) -> "BatchedTable":
        """Find the features: ``columns``, or all columns without another role."""
        known = source.list_columns()
        repeated = sorted({name for name in known if known.count(name) > 1})
        if repeated:
            raise DataError(f"{source.name} has several columns of the name {repeated[0]!r}")
        taken = set(roles.list_names())
        if columns is None:
            names = [n for n in known if n not in taken and n not in source.index]
        else:
            names = list(columns)
        for name in (*taken, *names):
            if name not in known:
                raise DataError(
                    f"{source.name} has no column {name!r}; it has {', '.join(map(repr, known))}"
                )
        both = [name for name in names if name in taken]
        if both:
            raise ParameterError(f"column {both[0]!r} cannot be a feature: it has another role")
        if len(set(names)) < len(names) or not names:
            raise ParameterError(f"columns={columns!r} must name each feature once, at least one")
        return cls(source, names, roles, batch_rows)

    def read(self, columns: Sequence[str]) -> Iterator[tuple[int, Batch]]:
        """Yield (first row, batch) of some columns; every pass must have as many rows."""
        n_read = 0
        for batch in self.source.read(columns, self.batch_rows):
            yield n_read, batch
            n_read += len(batch.frame)
            if self.n_rows is not None and n_read > self.n_rows:
                raise self._refuse_change(f"more than {self.n_rows}")
        if n_read == 0:
            raise refuse_empty(self.source.name)
        if n_read > MOST_ROWS:
            raise DataError(f"{n_read} rows are too many; the limit is {MOST_ROWS}")
        if self.n_rows is None:
            self.n_rows = n_read
        elif n_read < self.n_rows:
            raise self._refuse_change(str(n_read))

    def _refuse_change(self, found: str) -> DataError:
        return DataError(
            f"{self.source.name} had {self.n_rows} rows in the first pass, and {found} in a later "
            "one; every pass must have the same rows in the same order"
        )

    def read_columns(self, batch: Batch) -> ColumnFrame:
        """Return the features of a batch, labeled with where they come from."""
        frame = batch.frame.select(self.names)
        columns = [
            read_series(f"column {name!r}", series)
            for name, series in zip(self.names, frame.iter_columns(), strict=True)
        ]
        return ColumnFrame(batch.frame, columns, len(batch.frame))


@dataclass(frozen=True)
class LearnedTable:
    """What the first pass has found.

    Attributes
    ----------
    table : BatchedTable
        The source; its number of rows is known now.
    schema : FeatureSchema
        The same as for all rows in memory.
    dtype : dtype
        The type that values are read as, float32 or float64.
    target, sample_weight, init_score, groups : ndarray or None
        The columns that :class:`Roles` names.
    """

    table: BatchedTable
    schema: FeatureSchema
    dtype: np.dtype
    target: np.ndarray | None
    sample_weight: np.ndarray | None
    init_score: np.ndarray | None
    groups: np.ndarray | None

    @property
    def n_rows(self) -> int:
        assert self.table.n_rows is not None
        return self.table.n_rows

    def read_matrices(
        self, unknown_category: str = "missing", unknown_code: float = np.nan
    ) -> Iterator[tuple[int, np.ndarray, ColumnFrame]]:
        """Yield (first row, numbers, columns) of every batch, in order."""
        known = () if self.table.source.has_types else self.table.roles.list_targets()
        for first, batch in self.table.read([*self.table.names, *known]):
            if known:
                self._compare_target(first, batch)
            columns = self.table.read_columns(batch)
            try:
                matrix = self.schema.convert(columns, unknown_category, unknown_code)
            except DataError as error:
                raise DataError(f"{batch.place}: {error}") from None
            if not isinstance(matrix, np.ndarray):
                matrix = matrix.convert(0, columns.n_rows)
            yield first, matrix.astype(self.dtype, copy=False), columns

    def _compare_target(self, first: int, batch: Batch) -> None:
        """Refuse a function that yields its rows in another order than before."""
        assert self.target is not None
        for k, name in enumerate(self.table.roles.list_targets()):
            now = series_to_array(batch.frame[name].to_native())
            known = self.target if self.target.ndim == 1 else self.target[:, k]
            if not np.array_equal(now, known[first : first + len(now)]):
                raise DataError(
                    f"{batch.place} has other values in column {name!r} than in the first pass; "
                    "every pass must have the same rows in the same order"
                )


def learn_table(
    table: BatchedTable,
    is_category: Sequence[bool] | None = None,
    known: FeatureSchema | None = None,
) -> LearnedTable:
    """Read the targets of all rows and learn the schema.

    Numbers are not read where the source knows the types of its columns.

    Parameters
    ----------
    table : BatchedTable
    is_category : sequence of bool or None
        Which features are categories; None for those that hold strings or categories.
    known : FeatureSchema or None
        A schema to use in place of a new one, for example of a model that training continues.
    """
    features = [
        _Feature(f"column {name!r}", None if is_category is None else bool(is_category[f]))
        for f, name in enumerate(table.names)
    ]
    to_read: Sequence[int] = range(len(features))
    if table.source.has_types:
        for batch in table.source.probe(table.names):
            for feature, column in zip(features, table.read_columns(batch).columns, strict=True):
                feature.see(column, batch)
        to_read = range(0) if known else [f for f in to_read if features[f].is_category]
    gathered = {name: _Gathered() for name in table.roles.list_names()}
    columns = [*gathered, *(table.names[f] for f in to_read)] or table.names[:1]
    for _, batch in table.read(columns):
        for name, own in gathered.items():
            own.add(batch.frame[name])
        for f in to_read:
            column = read_series(features[f].label, batch.frame[table.names[f]])
            features[f].see(column, batch)
            if known is None:
                features[f].collect(column, batch.place)
        check_number(np.array([own.values.n_values for own in features]))
    schema = _make_schema(features) if known is None else known
    of_rows = (_join(gathered, names) for names in table.roles)
    return LearnedTable(table, schema, _find_type(features, schema), *of_rows)


class _Feature:
    """What the batches so far hold in a column."""

    def __init__(self, label: str, chosen: bool | None) -> None:
        self.label = label
        self.chosen = chosen  # None: a category if it holds strings or categories
        self.kind = NUMBER
        self.is_certain = False  # a value that is not missing has been seen
        self.is_single = True
        self.values = _CategoryValues()

    @property
    def is_category(self) -> bool:
        return self.kind == CATEGORY if self.chosen is None else self.chosen

    def see(self, column: Column, batch: Batch) -> None:
        """Compare the kind of a column with that of earlier batches."""
        self.is_single &= column.is_single
        if column.kind == self.kind and self.is_certain:
            return
        empty = is_empty(column, len(batch.frame))
        if empty and (self.is_certain or column.kind == NUMBER):
            return  # missing values fit every kind
        if self.is_certain:
            raise DataError(
                f"{self.label} holds {PLURAL[column.kind]} in {batch.place}, and "
                f"{PLURAL[self.kind]} before; its type must not change between batches"
            )
        self.kind, self.is_certain = column.kind, not empty

    def collect(self, column: Column, place: str) -> None:
        """Add the category values of a batch; refuse strings in other features."""
        if not self.is_category:
            if column.kind == CATEGORY and CategoryColumn.from_column(column).holds != "nothing":
                raise refuse_strings(self.label)
            return
        self.values.add(CategoryColumn.from_column(column), place)


class _CategoryValues:
    """The union of the category values of batches."""

    def __init__(self) -> None:
        self._holds = "nothing"
        self._strings: set[str] = set()
        self._numbers: list[np.ndarray] = []
        self._n_numbers = 0

    @property
    def n_values(self) -> int:
        return max(len(self._strings), self._n_numbers)

    def add(self, column: CategoryColumn, place: str) -> None:
        if column.holds == "nothing":
            return
        if self._holds not in ("nothing", column.holds):
            raise DataError(
                f"{column.label} has {column.holds} as categories in {place}, and {self._holds} "
                "before; its type must not change between batches"
            )
        self._holds = column.holds
        values = column.learn().values
        if self._holds == "strings":
            self._strings.update(values.tolist())
            return
        self._numbers.append(values)
        if len(self._numbers) > 1 and sum(v.size for v in self._numbers) > 2 * self._n_numbers:
            self._numbers = [_unite(column.label, self._numbers)]
            self._n_numbers = self._numbers[0].size

    def learn(self, label: str) -> Dictionary:
        if self._holds == "numbers":
            return Dictionary.from_values(_unite(label, self._numbers))
        return Dictionary.from_values(to_objects(sorted(self._strings)))


def _unite(label: str, parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the distinct numbers of arrays of int64, uint64 or float64."""
    kinds = {part.dtype for part in parts}
    if kinds == {np.dtype(np.int64), np.dtype(np.uint64)}:  # NumPy would make floats of them
        if min(part.min() for part in parts) < 0:
            raise DataError(f"{label} has integers beyond 64 bits; convert them to strings")
        parts = [part.astype(np.uint64) for part in parts]
    return np.unique(np.concatenate(parts))


def _make_schema(features: Sequence[_Feature]) -> FeatureSchema:
    kinds, dictionaries = [], {}
    for f, feature in enumerate(features):
        kind = feature.kind
        if feature.is_category:
            kind = CATEGORY
            dictionaries[f] = feature.values.learn(feature.label)
        elif kind == CATEGORY:
            if feature.is_certain:
                raise refuse_strings(feature.label)
            kind = NUMBER  # nothing but missing values
        kinds.append(kind)
    return FeatureSchema.of_kinds(kinds, dictionaries)


def _find_type(features: Sequence[_Feature], schema: FeatureSchema) -> np.dtype:
    """Return float32 if all features are numbers that fit into it; bins do not depend on it."""
    is_single = schema.is_numeric and all(own.is_single for own in features)
    return np.dtype(np.float32 if is_single else np.float64)


class _Gathered:
    """A column that is kept in memory as a whole."""

    def __init__(self) -> None:
        self._parts: list[np.ndarray] = []
        self._known: dict[Any, Any] = {}

    def add(self, series: Any) -> None:
        values = series_to_array(series.to_native())
        if values.dtype == object:
            # One object per distinct label, not one per row.
            keep = self._known.setdefault
            values = to_objects([keep(v, v) if type(v) is str else v for v in values.tolist()])
        self._parts.append(values)

    def join(self) -> np.ndarray:
        kinds = {part.dtype.kind for part in self._parts}
        if "O" in kinds and len(kinds) > 1:
            self._parts = [part.astype(object) for part in self._parts]
        self._parts = [np.concatenate(self._parts)]
        return self._parts[0]


def _join(gathered: dict[str, _Gathered], names: Names) -> np.ndarray | None:
    if names is None:
        return None
    if isinstance(names, str):
        return gathered[names].join()
    return np.column_stack([gathered[name].join() for name in names])


def _as_list(names: Names) -> list[str]:
    if names is None:
        return []
    return [names] if isinstance(names, str) else list(names)
