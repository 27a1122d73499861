"""SharedTable: X read and binned once, for all members and folds of an ensemble."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeGuard

import numpy as np
from sklearn.base import clone, is_classifier

from sumwise.data.binned import BinnedData
from sumwise.data.binning import BinMapper
from sumwise.data.matrix import ColumnMatrix
from sumwise.data.sizes import count_bytes
from sumwise.estimators.boosting.automatic import encodes_all, is_auto, leaves_all
from sumwise.estimators.boosting.base import BaseGradientBoosting
from sumwise.estimators.boosting.categories import find_native, find_statistics, resolve_encoding
from sumwise.estimators.boosting.devices import is_on_device
from sumwise.estimators.boosting.fitted import know_scores
from sumwise.estimators.boosting.multi_target import MULTI_OUTPUT_TREE
from sumwise.estimators.boosting.pipeline import check_parameters
from sumwise.estimators.boosting.splits import HISTOGRAM, has_few_bins, resolve_bundling
from sumwise.estimators.calibrated.unseen import needs_unseen
from sumwise.estimators.input.features import read_training_data
from sumwise.estimators.input.jobs import start_team
from sumwise.estimators.input.targets import check_sample_weight
from sumwise.lazy import lazy
from sumwise.losses import is_custom_loss

# Quantiles of many rows come from a sample, which must not depend on any member's seed.
_SEED = 0
# Cost of binning one value: the passes over it, and sorting.
_STEPS_PER_VALUE = 8
_TREES_PER_STEP = 4


@dataclass(frozen=True, eq=False)
class SharedTable:
    """X and y as tree estimators read them, and the bins of X.

    Thresholds come from all rows of X and the sample weights, and from nothing else.
    """

    given: Any  # X as the user passed it
    matrix: Any  # X as kernels read it: ndarray or ColumnMatrix
    y: np.ndarray
    weight: np.ndarray | None
    features: dict[str, Any]  # fitted attributes that describe features, by name
    mapper: BinMapper
    data: BinnedData

    @classmethod
    def read(cls, member: BaseGradientBoosting, X: Any, y: Any, sample_weight: Any) -> Self | None:
        """Read and bin X as ``member``, an unfitted estimator, would.

        None if it would encode categories by the target, which differs from fold to fold.
        """
        check_parameters(member)
        reader = clone(member)
        many_targets = not is_classifier(member)
        matrix, y, schema = read_training_data(reader, X, y, many_targets=many_targets)
        weight = check_sample_weight(sample_weight, matrix.shape[0])
        names = ("n_features_in_", "feature_names_in_")
        features = {name: getattr(reader, name) for name in names if hasattr(reader, name)}
        n_categories, native = schema.n_categories, find_native(reader)
        if n_categories.any():
            by_rule = encodes_all(member, reader._learn_task(y, None)[0].loss)
            if find_statistics(reader, n_categories, by_rule) is not None:
                return None
        with start_team(reader.n_jobs, _STEPS_PER_VALUE * matrix.size) as team:
            mapper = BinMapper.fit(
                matrix, reader.max_bins, weight, None, _SEED, team, n_categories, native
            )
            data = mapper.transform(matrix, team, bundling=resolve_bundling(reader))
        return cls(X, matrix, y, weight, {**features, "schema_": schema}, mapper, data)

    @property
    def n_rows(self) -> int:
        return len(self.y)

    def __sizeof__(self) -> int:
        return count_bytes([self.matrix, self.y, self.weight, self.data])

    @lazy
    def numbers(self) -> Any:
        """X as one matrix, whose rows can be taken."""
        if isinstance(self.matrix, ColumnMatrix):
            return self.matrix.convert(0, self.matrix.n_rows)
        return self.matrix

    def describe_features(self, estimator: Any) -> None:
        """Set the attributes that an estimator would have learned from X itself."""
        for name, value in self.features.items():
            setattr(estimator, name, value)

    def predict(
        self,
        model: BaseGradientBoosting,
        method: str,
        rows: np.ndarray,
        n_jobs: int | None,
        is_last: bool,
    ) -> np.ndarray:
        """Return the outputs of a fitted member's method for some rows, without reading X again.

        ``is_last`` says that the member will not be used any more.
        """
        X = self.numbers[rows]
        n_steps = X.shape[0] * model.ensemble_.n_trees // _TREES_PER_STEP
        with start_team(n_jobs, n_steps) as team:
            raw = model.ensemble_.predict_raw(X, team, is_last)
        return getattr(know_scores(model, X, raw), method)(X)


def can_share(estimator: Any, params: Mapping[str, Any]) -> TypeGuard[BaseGradientBoosting]:
    """Whether an estimator can be fitted on a shared table, with these parameters of ``fit``.

    A custom loss may depend on all rows together, so it must see its own rows alone. Each fit makes
    its own table if bins are not fixed, if features have many bins or different numbers of bins, or
    for trees with several targets, which need columns. Calibration needs fits of its own.
    """
    return (
        isinstance(estimator, BaseGradientBoosting)
        and estimator.splits == HISTOGRAM
        and has_few_bins(estimator)
        and set(params) <= {"sample_weight", "groups"}
        and not is_custom_loss(estimator.loss)
        and not needs_unseen(estimator)
        and getattr(estimator, "multi_strategy", None) != MULTI_OUTPUT_TREE
    )


def describe_reading(estimator: BaseGradientBoosting) -> tuple[Any, ...]:
    """Return everything that decides how an estimator bins X: equal for those that may share."""
    encoding = resolve_encoding(estimator)
    return (
        is_classifier(estimator),
        estimator.max_bins,
        estimator.splits,
        repr(estimator.categorical_features),
        repr(encoding),
        # These decide how many categories a feature must have to be encoded.
        is_auto(estimator.categorical_encoding) and not leaves_all(estimator),
        estimator.sparse_zeros,
        repr(resolve_bundling(estimator)),
    )


def fits_alone(estimator: BaseGradientBoosting) -> bool:
    """Whether no other fit should run beside it: it reports its rounds, or needs a GPU's memory."""
    return bool(estimator.verbose or estimator.callbacks or is_on_device(estimator))
