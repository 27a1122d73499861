"""The first pass over a source: the targets of all rows, and the schema of the features."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sumwise.data.batches.agreement import agree
from sumwise.data.batches.sources import BATCH_ROWS, Batch, Source, refuse_empty
from sumwise.data.categories.bins import check_number
from sumwise.data.categories.dictionary import CategoryColumn, Dictionary
from sumwise.data.frames.columns import CATEGORY, NUMBER, Column
from sumwise.data.frames.factorize import to_objects
from sumwise.data.frames.reading import ColumnFrame
from sumwise.data.schema import PLURAL, FeatureSchema, is_empty, refuse_strings
from sumwise.errors import DataError, ParameterError
from sumwise.peers import ALONE, Peers

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
        repeated = [name for name, count in Counter(known).items() if count > 1]
        if repeated:
            raise DataError(f"{source.name} has several columns of the name {min(repeated)!r}")
        all_names, taken = set(known), set(roles.list_names())
        if columns is None:
            names = [n for n in known if n not in taken and n not in source.index]
        else:
            names = list(columns)
        for name in (*roles.list_names(), *names):
            if name not in all_names:
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
            n_read += batch.n_rows
            if self.n_rows is not None and n_read > self.n_rows:
                raise self._refuse_change(f"more than {self.n_rows}")
        if n_read == 0 and not self.source.may_be_empty:
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
            columns = batch.read_columns(self.table.names)
            matrix = batch.read_matrix(self.table.names) if self.schema.is_numeric else None
            if matrix is None:
                try:
                    matrix = self._convert(columns, unknown_category, unknown_code)
                except DataError as error:
                    raise DataError(f"{batch.place}: {error}") from None
            yield first, matrix.astype(self.dtype, copy=False), columns

    def _convert(
        self, columns: ColumnFrame, unknown_category: str, unknown_code: float
    ) -> np.ndarray:
        matrix = self.schema.convert(columns, unknown_category, unknown_code)
        return matrix if isinstance(matrix, np.ndarray) else matrix.convert(0, columns.n_rows)

    def _compare_target(self, first: int, batch: Batch) -> None:
        """Refuse a function that yields its rows in another order than before."""
        assert self.target is not None
        for k, name in enumerate(self.table.roles.list_targets()):
            now = batch.read_values(name)
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
    peers: Peers = ALONE,
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
    peers : Peers
        Processes that have other rows of the same table. All learn the same schema, and each has
        the targets of its own rows.
    """
    columns = {name: _Gathered() for name in table.roles.list_names()}

    def read() -> _Findings:
        features = _read_features(table, is_category, known, columns)
        types = {name: own.find_type() for name, own in columns.items()}
        return _Findings(table.n_rows or 0, features, types)

    every = agree(peers, read)
    if not any(found.n_rows for found in every):
        raise refuse_empty(table.source.name)
    own_features = zip(*(found.features for found in every), strict=True)
    features = [_Feature.unite(own) for own in own_features]
    check_number(np.array([own.values.n_values for own in features]))
    schema = _make_schema(features) if known is None else known
    gathered = {
        name: own.join(find_common_type([found.types[name] for found in every]))
        for name, own in columns.items()
    }
    of_rows = (_join(gathered, names) for names in table.roles)
    return LearnedTable(table, schema, _find_type(features, schema), *of_rows)


class _Findings(NamedTuple):
    """What a process has found in its rows; the types are those of columns with other roles."""

    n_rows: int
    features: list["_Feature"]
    types: dict[str, np.dtype | None]


def _read_features(
    table: BatchedTable,
    is_category: Sequence[bool] | None,
    known: FeatureSchema | None,
    gathered: dict[str, "_Gathered"],
) -> list["_Feature"]:
    """Return what the batches of this process hold; add to columns with other roles."""
    features = [
        _Feature(f"column {name!r}", None if is_category is None else bool(is_category[f]))
        for f, name in enumerate(table.names)
    ]
    to_read: Sequence[int] = range(len(features))
    if table.source.has_types:
        for batch in table.source.probe(table.names):
            read = batch.read_columns(table.names).columns
            for feature, column in zip(features, read, strict=True):
                feature.see(column, batch)
        to_read = range(0) if known else [f for f in to_read if features[f].is_category]
    columns = [*gathered, *(table.names[f] for f in to_read)] or table.names[:1]
    for _, batch in table.read(columns):
        for name, own in gathered.items():
            own.add(batch.read_values(name))
        for f in to_read:
            column = batch.read_column(table.names[f])
            features[f].see(column, batch)
            if known is None:
                features[f].collect(column, batch)
        check_number(np.array([own.values.n_values for own in features]))
    return features


class _Feature:
    """What the batches so far hold in a column."""

    def __init__(self, label: str, chosen: bool | None) -> None:
        self.label = label
        self.chosen = chosen  # None: a category if it holds strings or categories
        self.kind = NUMBER
        self.is_certain = False  # a value that is not missing has been seen
        self.number, self.place = -1, ""  # the partition and batch that have this kind
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
        empty = is_empty(column, batch.n_rows)
        if empty and (self.is_certain or column.kind == NUMBER):
            return  # missing values fit every kind
        if self.is_certain:
            raise DataError(
                f"{self.label} holds {PLURAL[column.kind]} in {batch.place}, and "
                f"{PLURAL[self.kind]} before; its type must not change between batches"
            )
        self.kind, self.is_certain = column.kind, not empty
        self.number, self.place = batch.number, batch.place

    def collect(self, column: Column, batch: Batch) -> None:
        """Add the category values of a batch; refuse strings in other features."""
        if not self.is_category:
            if column.kind == CATEGORY and CategoryColumn.from_column(column).holds != "nothing":
                raise refuse_strings(self.label)
            return
        self.values.add(CategoryColumn.from_column(column), batch)

    @classmethod
    def unite(cls, parts: Sequence["_Feature"]) -> "_Feature":
        """Return what the batches of all peers hold, whoever has them."""
        if len(parts) == 1:
            return parts[0]
        certain = sorted((own for own in parts if own.is_certain), key=lambda own: own.number)
        # As in :meth:`see`: the first kind that is certain, or else the last one.
        first = certain[0] if certain else max(parts, key=lambda own: own.number)
        for own in certain:
            if own.kind != first.kind:
                raise DataError(
                    f"{own.label} holds {PLURAL[own.kind]} in {own.place}, and "
                    f"{PLURAL[first.kind]} in {first.place}; its type must not change between "
                    "partitions"
                )
        united = cls(first.label, first.chosen)
        united.kind, united.is_certain = first.kind, first.is_certain
        united.is_single = all(own.is_single for own in parts)
        united.values = _CategoryValues.unite(first.label, [own.values for own in parts])
        return united


class _CategoryValues:
    """The union of the category values of batches."""

    def __init__(self) -> None:
        self._holds = "nothing"
        self._number, self._place = -1, ""  # the first partition and batch with values
        self._strings: set[str] = set()
        self._numbers: list[np.ndarray] = []
        self._n_numbers = 0

    @property
    def n_values(self) -> int:
        return max(len(self._strings), self._n_numbers)

    def add(self, column: CategoryColumn, batch: Batch) -> None:
        if column.holds == "nothing":
            return
        if self._holds == "nothing":
            self._holds, self._number, self._place = column.holds, batch.number, batch.place
        elif self._holds != column.holds:
            raise DataError(
                f"{column.label} has {column.holds} as categories in {batch.place}, and "
                f"{self._holds} before; its type must not change between batches"
            )
        values = column.learn().values
        if self._holds == "strings":
            self._strings.update(values.tolist())
            return
        self._numbers.append(values)
        if len(self._numbers) > 1 and sum(v.size for v in self._numbers) > 2 * self._n_numbers:
            self._numbers = [_unite(column.label, self._numbers)]
            self._n_numbers = self._numbers[0].size

    @classmethod
    def unite(cls, label: str, parts: Sequence["_CategoryValues"]) -> "_CategoryValues":
        """Return the values of all peers."""
        united = cls()
        held = sorted((own for own in parts if own._holds != "nothing"), key=lambda p: p._number)
        for own in held:
            if own._holds != held[0]._holds:
                raise DataError(
                    f"{label} has {own._holds} as categories in {own._place}, and "
                    f"{held[0]._holds} in {held[0]._place}; its type must not change between "
                    "partitions"
                )
            united._holds = own._holds
            united._strings |= own._strings
            united._numbers += own._numbers
        if united._numbers:
            united._numbers = [_unite(label, united._numbers)]
            united._n_numbers = united._numbers[0].size
        return united

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

    def add(self, values: np.ndarray) -> None:
        if values.dtype == object:
            # One object per distinct label, not one per row.
            keep = self._known.setdefault
            values = to_objects([keep(v, v) if type(v) is str else v for v in values.tolist()])
        self._parts.append(values)

    def find_type(self) -> np.dtype | None:
        """Return the type of all rows; None if there are none."""
        return find_common_type([part.dtype for part in self._parts])

    def join(self, dtype: np.dtype | None) -> np.ndarray:
        """Return all rows in a type that the rows of all peers have."""
        parts = [part.astype(dtype, copy=False) for part in self._parts]
        self._parts = [np.concatenate(parts) if parts else np.empty(0, dtype=dtype)]
        return self._parts[0]


def find_common_type(dtypes: Sequence[np.dtype | None]) -> np.dtype | None:
    """Return the type of joined arrays; None stands for no rows."""
    known = [dtype for dtype in dtypes if dtype is not None]
    if np.dtype(object) in known:  # NumPy does not join dates and objects
        return np.dtype(object)
    return np.result_type(*known) if known else None


def _join(gathered: dict[str, np.ndarray], names: Names) -> np.ndarray | None:
    if names is None:
        return None
    if isinstance(names, str):
        return gathered[names]
    return np.column_stack([gathered[name] for name in names])


def _as_list(names: Names) -> list[str]:
    if names is None:
        return []
    return [names] if isinstance(names, str) else list(names)
