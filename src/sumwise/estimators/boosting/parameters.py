"""The parameters that the classifier and the regressor share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sumwise.data.bundling import Bundling
from sumwise.data.categories.set_splits import Native
from sumwise.data.categories.target_statistics import TargetStatistics
from sumwise.sampling import Columns, RowSampler
from sumwise.training.boosters import Booster
from sumwise.training.callbacks import Callback
from sumwise.tree import LinearLeaves


@dataclass(kw_only=True, eq=False, repr=False)
class BoostingParameters:
    """The constructor of gradient boosting; functions that resolve parameters take this type."""

    loss: Any = "auto"
    n_estimators: Any = "auto"
    learning_rate: Any = "auto"
    base_score: Any = None
    # trees
    growth: str = "auto"
    max_leaves: int | None = None
    max_depth: int | None = None
    min_samples_leaf: Any = "auto"
    min_child_weight: float = 1e-3
    min_gain: float = 0.0
    max_bins: Any = 255
    splits: str = "histogram"
    extra_trees: bool = False
    # regularization
    l1: float = 0.0
    l2: float = 1.0
    max_delta_step: float = 0.0
    path_smooth: float = 0.0
    leaves: LinearLeaves | str = "constant"
    # rounds
    booster: Booster | str = "plain"
    sampler: RowSampler | str | None = None
    columns: Columns | None = None
    # features
    categorical_features: Any = "auto"
    categorical_encoding: Native | TargetStatistics | str = "auto"
    unknown_category: str = "missing"
    extra_columns: str = "error"
    sparse_zeros: str = "value"
    bundling: Bundling | str | None = "auto"
    # constraints
    monotonic_cst: Any = None
    interaction_cst: Any = None
    # validation
    early_stopping: str | bool = "auto"
    validation_fraction: float = 0.1
    validation_rows: str = "random"
    scoring: Any = "loss"
    n_iter_no_change: int = 10
    tol: float = 0.0
    track_training_loss: bool = False
    # rows unseen by the trees
    conformal: bool = False
    calibration_rows: Any = "auto"
    # running
    callbacks: Sequence[Callback] | None = None
    warm_start: bool = False
    device: str = "cpu"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: bool = False
