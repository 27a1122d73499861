"""sumwise: ensemble learning on one engine, with the scikit-learn API."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sumwise.data.bundling import Bundling
from sumwise.data.native import Native
from sumwise.data.target_statistics import TargetStatistics
from sumwise.estimators.boosting import GradientBoostingClassifier, GradientBoostingRegressor
from sumwise.estimators.persistence import load
from sumwise.losses import Fair, Huber, Quantile, Tweedie, check_loss
from sumwise.sampling import (
    BayesianBootstrap,
    Bootstrap,
    ClassSubsample,
    Columns,
    Goss,
    GroupSubsample,
    Mvs,
    Pasting,
    PoissonBootstrap,
    Subsample,
)
from sumwise.training.boosters import Dart, Forest, Linear, Ordered, Plain
from sumwise.training.callbacks import Callback, RoundState, Snapshot
from sumwise.tree import LinearLeaves

if TYPE_CHECKING:
    from sumwise.estimators.adaboost import AdaBoostClassifier, AdaBoostRegressor
    from sumwise.estimators.averaging import AveragingRegressor
    from sumwise.estimators.bagging import BaggingClassifier, BaggingRegressor
    from sumwise.estimators.bayesian import BayesianAveragingClassifier, BayesianAveragingRegressor
    from sumwise.estimators.cross_validation import CVResult, cv
    from sumwise.estimators.forests import (
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from sumwise.estimators.members import MemberPredictions, diversity_matrix, member_predictions
    from sumwise.estimators.multi_response import MultiResponseLinear
    from sumwise.estimators.out_of_bag import OobStopping, oob_permutation_importance
    from sumwise.estimators.output_codes import OutputCodeClassifier
    from sumwise.estimators.output_noise import OutputFlippingClassifier, OutputSmearingRegressor
    from sumwise.estimators.resampling import resample_predictions
    from sumwise.estimators.selection import (
        EnsembleSelectionClassifier,
        EnsembleSelectionRegressor,
    )
    from sumwise.estimators.stacking import StackingClassifier, StackingRegressor
    from sumwise.estimators.trees import DecisionTreeClassifier, DecisionTreeRegressor
    from sumwise.estimators.voting import VotingClassifier

__version__ = "0.1.0"

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "AveragingRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "BayesianAveragingClassifier",
    "BayesianAveragingRegressor",
    "BayesianBootstrap",
    "Bootstrap",
    "Bundling",
    "CVResult",
    "Callback",
    "ClassSubsample",
    "Columns",
    "Dart",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "EnsembleSelectionClassifier",
    "EnsembleSelectionRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "Fair",
    "Forest",
    "Goss",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "GroupSubsample",
    "Huber",
    "Linear",
    "LinearLeaves",
    "MemberPredictions",
    "MultiResponseLinear",
    "Mvs",
    "Native",
    "OobStopping",
    "Ordered",
    "OutputCodeClassifier",
    "OutputFlippingClassifier",
    "OutputSmearingRegressor",
    "Pasting",
    "Plain",
    "PoissonBootstrap",
    "Quantile",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RoundState",
    "Snapshot",
    "StackingClassifier",
    "StackingRegressor",
    "Subsample",
    "TargetStatistics",
    "Tweedie",
    "VotingClassifier",
    "__version__",
    "check_loss",
    "cv",
    "diversity_matrix",
    "load",
    "member_predictions",
    "oob_permutation_importance",
    "resample_predictions",
]

# Imported when first asked for: who boosts trees need not wait for them.
_LATER = {
    "AdaBoostClassifier": "adaboost",
    "AdaBoostRegressor": "adaboost",
    "AveragingRegressor": "averaging",
    "BaggingClassifier": "bagging",
    "BaggingRegressor": "bagging",
    "BayesianAveragingClassifier": "bayesian",
    "BayesianAveragingRegressor": "bayesian",
    "CVResult": "cross_validation",
    "DecisionTreeClassifier": "trees",
    "DecisionTreeRegressor": "trees",
    "EnsembleSelectionClassifier": "selection",
    "EnsembleSelectionRegressor": "selection",
    "ExtraTreesClassifier": "forests",
    "ExtraTreesRegressor": "forests",
    "MemberPredictions": "members",
    "MultiResponseLinear": "multi_response",
    "OobStopping": "out_of_bag",
    "OutputCodeClassifier": "output_codes",
    "OutputFlippingClassifier": "output_noise",
    "OutputSmearingRegressor": "output_noise",
    "RandomForestClassifier": "forests",
    "RandomForestRegressor": "forests",
    "StackingClassifier": "stacking",
    "StackingRegressor": "stacking",
    "VotingClassifier": "voting",
    "cv": "cross_validation",
    "diversity_matrix": "members",
    "member_predictions": "members",
    "oob_permutation_importance": "out_of_bag",
    "resample_predictions": "resampling",
}


def __getattr__(name: str) -> Any:
    """Import what combines members, or looks at them."""
    if name not in _LATER:
        raise AttributeError(f"module 'sumwise' has no attribute {name!r}")
    value = getattr(import_module(f"sumwise.estimators.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
