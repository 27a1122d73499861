"""Encoding the categories of trees and forests by statistics of their target."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sumwise.data.categories.encoder import ORIGINAL, CategoryEncoder, read_column
from sumwise.data.categories.groups import Group, read_codes
from sumwise.data.categories.target_statistics import CategorySums, find_places
from sumwise.data.matrix import Matrix
from sumwise.errors import ParameterError
from sumwise.estimators.input.parameters import check_choice
from sumwise.kernels.forest.category_statistics import CategoryRows
from sumwise.kernels.forest.many_outputs import Labels, MultiLabels, Vectors
from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.threads import Team
from sumwise.tree.encoded_table import encode_rows
from sumwise.tree.forest_grower import Target

if TYPE_CHECKING:
    from sumwise.estimators.forests.base import BaseTrees
    from sumwise.estimators.forests.training_set import TrainingSet

AUTO, NATIVE, STATISTICS = "auto", "native", "statistics"
# "auto": with more categories than this, statistics are more accurate than splits by sets. Boosting
# has a higher limit: its trees have few leaves, each of many rows.
_AUTO_LIMIT = 20
# Features with at most this many categories are split by sets.
_NATIVE_LIMIT = 2
# How many rows of mean weight the prior of a statistic counts as.
_PRIOR_ROWS = 1.0


def check_encoding(tree: "BaseTrees") -> None:
    """Check the parameter ``categorical_encoding``."""
    check_choice(tree, "categorical_encoding", (AUTO, NATIVE, STATISTICS))


class Encoding(NamedTuple):
    """Categories of a training set as statistics.

    Attributes
    ----------
    encoder : CategoryEncoder
        That of predictions: its sums are those of all rows.
    rows : CategoryRows
    matrix : Matrix
        All rows, encoded for a tree that sees all of them. Thresholds come from it.
    """

    encoder: CategoryEncoder
    rows: CategoryRows
    matrix: Matrix


def learn_encoding(train: "TrainingSet", team: Team) -> Encoding | None:
    """Return how to encode the categories of a training set; None if sets split them.

    Trees that are added to others use the statistics of these at prediction.
    """
    n_categories, old = train.tree.schema_.n_categories, train.old_encoder
    if not encodes_categories(train):
        return None
    codes = {
        int(f): read_codes(
            read_column(train.matrix, int(f))(0, train.matrix.shape[0]), int(n_categories[f])
        )
        for f in np.flatnonzero(n_categories)
    }
    if old is None:
        chosen = np.flatnonzero(n_categories > _NATIVE_LIMIT)
        groups = [Group.of_feature(int(f), int(n_categories[f])) for f in chosen]
    else:
        groups = list(old.groups)
    places, used = find_places(groups, codes), train.used_rows
    values = _make_values(train.target.target, train.target.n_columns)
    values = values * train.target.scale + train.target.shift[:, np.newaxis]
    weight = np.ones(places.shape[1]) if train.weight is None else train.weight
    sizes, own_weight = [group.n_places for group in groups], weight[used]
    encoder = old
    if encoder is None:
        prior = (values[:, used] * own_weight).sum(axis=1) / own_weight.sum()
        shrinkage = _PRIOR_ROWS * float(own_weight.mean())
        rows = (places, sizes, used.astype(np.uint32), values, weight, prior, shrinkage, team)
        encoder = CategoryEncoder(n_categories, tuple(groups), CategorySums.of_rows(*rows), False)
    sums = encoder.sums
    known = CategoryRows(
        places,
        sums.start,
        values,
        np.ascontiguousarray(weight, dtype=np.float64),
        sums.prior,
        sums.prior_weight,
        float(own_weight.sum()),
    )
    key = random.make_key(train.seed, random.PERMUTATIONS, 0)
    matrix = encoder.join(train.matrix, places, encode_rows(known, weight > 0, key))
    return Encoding(encoder, known, matrix)


def encodes_categories(train: "TrainingSet") -> bool:
    """Whether categories are encoded. Trees that are added to others do as these."""
    tree, most = train.tree, train.tree.schema_.n_categories.max(initial=0)
    chosen = tree.categorical_encoding
    limits = {AUTO: _AUTO_LIMIT, STATISTICS: _NATIVE_LIMIT}
    wanted = chosen in limits and bool(most > limits[chosen])
    if train.start is None:
        return wanted
    is_encoded = train.old_encoder is not None
    if chosen != AUTO and wanted != is_encoded:
        raise ParameterError(
            f"{type(tree).__name__}: categorical_encoding={chosen!r}: the trees to continue from "
            "use categories in another way; give the encoding that they were fitted with"
        )
    return is_encoded


def _make_values(target: Target, n_columns: int) -> np.ndarray:
    """Return what statistics summarize, (n_columns, n_rows): numbers, or indicators of classes."""
    if isinstance(target, Labels | MultiLabels):
        of_row = target.label[:, np.newaxis] if isinstance(target, Labels) else target.column
        values = np.zeros((n_columns, of_row.shape[0]))
        for column in of_row.T:
            values[column, np.arange(column.size)] = 1.0
        return values
    columns = target.value if isinstance(target, Vectors) else target.value[:, np.newaxis]
    return np.array(columns.T, dtype=np.float64, order="C")


def spread_directions(directions: np.ndarray, encoder: CategoryEncoder | None) -> np.ndarray:
    """Return monotone directions of features as those of the columns that trees split on."""
    if encoder is None:
        return directions
    own = [directions[c.features[0]] if c.kind == ORIGINAL else 0 for c in encoder.columns]
    return np.array(own, dtype=directions.dtype)


def spread_features(features: np.ndarray, encoder: CategoryEncoder | None) -> np.ndarray:
    """Return the columns of some features."""
    if encoder is None:
        return features
    is_chosen = np.zeros(encoder.n_features, dtype=np.bool_)
    is_chosen[features] = True
    chosen = [k for k, c in enumerate(encoder.columns) if is_chosen[list(c.features)].all()]
    return np.array(chosen, dtype=features.dtype)
