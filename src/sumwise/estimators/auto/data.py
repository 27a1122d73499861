"""TrainingData: X read once, as all members need it, with y, weights and groups."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_consistent_length

from sumwise.data.frames.selection import take_rows
from sumwise.data.matrix import ColumnMatrix, Matrix
from sumwise.data.sparse import SparseMatrix
from sumwise.errors import DataError
from sumwise.estimators.auto import portfolio
from sumwise.estimators.boosting.classifier import GradientBoostingClassifier
from sumwise.estimators.boosting.regressor import GradientBoostingRegressor
from sumwise.estimators.boosting.rows import GivenRows
from sumwise.estimators.boosting.validation import number_groups
from sumwise.estimators.combined.shared_table import SharedTable
from sumwise.estimators.input.features import ReadRows
from sumwise.estimators.input.targets import (
    check_sample_weight,
    encode_labels,
    find_classes,
    read_target,
)

# From so many rows on, members that need some rows are tried; up to so many, slow ones.
_SOME_ROWS = 100
_FEW_ROWS = 10_000


class ReadTable(NamedTuple):
    """Rows in the two forms that members take.

    Attributes
    ----------
    matrix : Matrix
        As the kernels of models fitted on the shared table read it.
    numbers : ndarray or sparse matrix of SciPy
        As all other members take it: categories are codes.
    """

    matrix: Any
    numbers: Any

    @classmethod
    def of(cls, matrix: Matrix) -> Self:
        if isinstance(matrix, ColumnMatrix):
            numbers = matrix.convert(0, matrix.n_rows)
        else:
            numbers = matrix.given.tocsr() if isinstance(matrix, SparseMatrix) else matrix
        return cls(matrix, numbers)

    def feed(self, is_shared: bool) -> Any:
        """Return the rows for a model that was fitted on the shared table, or for another."""
        return ReadRows(self.matrix) if is_shared else self.numbers


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The rows that an automatic ensemble learns from: those of positive weight.

    Attributes
    ----------
    table : SharedTable
        X with its bins, y as class indices or numbers, and the weights.
    rows : ReadTable
        All rows of X.
    classes : ndarray or None
        The labels of a classifier.
    groups : ndarray or None
        Groups as numbers.
    n_categories : ndarray
        Number of categories of each feature; 0 for numbers.
    kept : ndarray or None
        Numbers of the rows among those that were given; None if all have a positive weight.
    arguments : GivenRows
        All rows that were given.
    """

    table: SharedTable
    rows: ReadTable
    classes: np.ndarray | None
    groups: np.ndarray | None
    n_categories: np.ndarray
    kept: np.ndarray | None
    arguments: GivenRows

    @classmethod
    def read(
        cls,
        is_class: bool,
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any,
        categorical_features: Any,
        n_jobs: int | None,
    ) -> Self:
        """Check and read the arguments of ``fit``."""
        y = read_target(y, is_number=not is_class)
        if y is None:
            raise DataError("requires y to be passed, but the target y is None")
        check_consistent_length(X, y)
        if len(y) == 0:
            raise DataError("Found array with 0 sample(s) while a minimum of 2 is required")
        weight = check_sample_weight(sample_weight, len(y))
        group_numbers = None if groups is None else number_groups(groups, len(y))
        kept, arguments = None, GivenRows(X, y, weight, None, groups)
        if weight is not None:
            if (weight == 0.0).any():
                kept = np.flatnonzero(weight)
                X, y, weight = take_rows(X, kept), y[kept], weight[kept]
                group_numbers = None if group_numbers is None else group_numbers[kept]
            if (weight == weight[0]).all():
                weight = None  # only their ratios count
            else:
                weight = weight / weight.max()
                weight = weight / weight.mean()
        classes = None
        if is_class:
            classes, _ = find_classes(y, at_least=1)
        encoded = y if classes is None else encode_labels("y", y, classes)
        reader = make_reader(is_class, categorical_features, n_jobs)
        table = SharedTable.read(reader, X, encoded, weight)
        assert table is not None  # native categories need no target
        schema = table.features["schema_"]
        rows = ReadTable(table.matrix, _read_all(table))
        return cls(table, rows, classes, group_numbers, schema.n_categories, kept, arguments)

    @property
    def given(self) -> Any:
        """X as the user passed it, without rows of weight zero."""
        return self.table.given

    @property
    def y(self) -> np.ndarray:
        return self.table.y

    @property
    def weight(self) -> np.ndarray | None:
        return self.table.weight

    @property
    def n_rows(self) -> int:
        return self.table.n_rows

    @property
    def n_features(self) -> int:
        return int(self.n_categories.size)

    @property
    def n_outputs(self) -> int:
        """Number of columns of a prediction: of classes, or one."""
        return 1 if self.classes is None else int(self.classes.size)

    @property
    def is_sparse(self) -> bool:
        return isinstance(self.rows.matrix, SparseMatrix)

    @property
    def categorical(self) -> list[int]:
        """Indices of the features that are categories."""
        return np.flatnonzero(self.n_categories).tolist()

    def find_traits(self, loss: str) -> frozenset[str]:
        """Return what recipes may need, as named in ``portfolio``, for a loss of boosting."""
        traits = {
            portfolio.CATEGORIES: self.n_categories.any(),
            portfolio.DENSE: not self.is_sparse,
            portfolio.FEW_ROWS: self.n_rows <= _FEW_ROWS,
            portfolio.SOME_ROWS: self.n_rows >= _SOME_ROWS,
            portfolio.REGRESSION: self.classes is None,
            portfolio.TWO_CLASSES: self.n_outputs == 2,
            portfolio.MANY_CLASSES: self.n_outputs > 2,
            portfolio.NEWTON: loss != "absolute_error",
            portfolio.EQUAL_WEIGHTS: self.weight is None,
            portfolio.WEIGHABLE_NETWORK: self.weight is None or _can_weigh_networks(),
        }
        return frozenset(name for name, has_it in traits.items() if has_it)

    def make_reader(self) -> Any:
        """Return an estimator that can read rows like those of X."""
        reader = make_reader(self.classes is not None)
        self.table.describe_features(reader)
        return reader

    def take_weight(self, rows: np.ndarray) -> np.ndarray | None:
        """Return the weights of some rows; None if all are equal."""
        return None if self.weight is None else self.weight[rows]


def make_reader(
    is_class: bool, categorical_features: Any = "auto", n_jobs: int | None = None
) -> Any:
    """Return an unfitted estimator that reads X as an ensemble does."""
    kind: Any = GradientBoostingClassifier if is_class else GradientBoostingRegressor
    return kind(
        categorical_features=categorical_features, categorical_encoding="native", n_jobs=n_jobs
    )


def _read_all(table: SharedTable) -> Any:
    numbers = table.numbers
    return numbers.given.tocsr() if isinstance(numbers, SparseMatrix) else numbers


def _can_weigh_networks() -> bool:
    """Whether this version of scikit-learn has networks with weights of rows."""
    from sklearn.neural_network import MLPClassifier
    from sklearn.utils.validation import has_fit_parameter

    return bool(has_fit_parameter(MLPClassifier, "sample_weight"))
