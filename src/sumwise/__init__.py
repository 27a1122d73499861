"""sumwise: ensemble learning on one engine, with the scikit-learn API."""

from typing import TYPE_CHECKING

from sumwise.data.bundling import Bundling
from sumwise.data.categories.set_splits import Native
from sumwise.data.categories.target_statistics import TargetStatistics
from sumwise.estimators.boosting.classifier import GradientBoostingClassifier
from sumwise.estimators.boosting.regressor import GradientBoostingRegressor
from sumwise.estimators.persistence import load
from sumwise.lazy import import_on_use
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
    from sumwise.estimators.auto.classifier import AutoEnsembleClassifier
    from sumwise.estimators.auto.regressor import AutoEnsembleRegressor
    from sumwise.estimators.boosting.cross_validation import CVResult, cv
    from sumwise.estimators.combined.averaging import AveragingRegressor
    from sumwise.estimators.combined.bayesian import (
        BayesianAveragingClassifier,
        BayesianAveragingRegressor,
    )
    from sumwise.estimators.combined.multi_response import MultiResponseLinear
    from sumwise.estimators.combined.selection import (
        EnsembleSelectionClassifier,
        EnsembleSelectionRegressor,
    )
    from sumwise.estimators.combined.stacking import StackingClassifier, StackingRegressor
    from sumwise.estimators.combined.voting import VotingClassifier
    from sumwise.estimators.forests.decision_tree import (
        DecisionTreeClassifier,
        DecisionTreeRegressor,
    )
    from sumwise.estimators.forests.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
    from sumwise.estimators.forests.random_forest import (
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from sumwise.estimators.imported.catboost_model import from_catboost
    from sumwise.estimators.imported.estimators import ImportedClassifier, ImportedRegressor
    from sumwise.estimators.imported.lightgbm_model import from_lightgbm
    from sumwise.estimators.imported.sklearn_model import from_sklearn
    from sumwise.estimators.imported.xgboost_model import from_xgboost
    from sumwise.estimators.members import MemberPredictions, diversity_matrix, member_predictions
    from sumwise.estimators.resampled.adaboost_classifier import AdaBoostClassifier
    from sumwise.estimators.resampled.adaboost_regressor import AdaBoostRegressor
    from sumwise.estimators.resampled.bagging import BaggingClassifier, BaggingRegressor
    from sumwise.estimators.resampled.out_of_bag import oob_permutation_importance
    from sumwise.estimators.resampled.output_codes import OutputCodeClassifier
    from sumwise.estimators.resampled.output_noise import (
        OutputFlippingClassifier,
        OutputSmearingRegressor,
    )
    from sumwise.estimators.resampled.stopping import OobStopping
    from sumwise.estimators.resampling import resample_predictions
    from sumwise.estimators.serving.row_predictor import RowPredictor
    from sumwise.estimators.versions import show_versions

__version__ = "0.1.0"

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "AutoEnsembleClassifier",
    "AutoEnsembleRegressor",
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
    "ImportedClassifier",
    "ImportedRegressor",
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
    "RowPredictor",
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
    "from_catboost",
    "from_lightgbm",
    "from_sklearn",
    "from_xgboost",
    "load",
    "member_predictions",
    "oob_permutation_importance",
    "resample_predictions",
    "show_versions",
]

# Imported when first asked for: who boosts trees need not wait for them.
_LATER = {
    "AdaBoostClassifier": "resampled.adaboost_classifier",
    "AdaBoostRegressor": "resampled.adaboost_regressor",
    "AutoEnsembleClassifier": "auto.classifier",
    "AutoEnsembleRegressor": "auto.regressor",
    "AveragingRegressor": "combined.averaging",
    "BaggingClassifier": "resampled.bagging",
    "BaggingRegressor": "resampled.bagging",
    "BayesianAveragingClassifier": "combined.bayesian",
    "BayesianAveragingRegressor": "combined.bayesian",
    "CVResult": "boosting.cross_validation",
    "DecisionTreeClassifier": "forests.decision_tree",
    "DecisionTreeRegressor": "forests.decision_tree",
    "EnsembleSelectionClassifier": "combined.selection",
    "EnsembleSelectionRegressor": "combined.selection",
    "ExtraTreesClassifier": "forests.extra_trees",
    "ExtraTreesRegressor": "forests.extra_trees",
    "ImportedClassifier": "imported.estimators",
    "ImportedRegressor": "imported.estimators",
    "MemberPredictions": "members",
    "MultiResponseLinear": "combined.multi_response",
    "OobStopping": "resampled.stopping",
    "OutputCodeClassifier": "resampled.output_codes",
    "OutputFlippingClassifier": "resampled.output_noise",
    "OutputSmearingRegressor": "resampled.output_noise",
    "RandomForestClassifier": "forests.random_forest",
    "RandomForestRegressor": "forests.random_forest",
    "RowPredictor": "serving.row_predictor",
    "StackingClassifier": "combined.stacking",
    "StackingRegressor": "combined.stacking",
    "VotingClassifier": "combined.voting",
    "cv": "boosting.cross_validation",
    "diversity_matrix": "members",
    "from_xgboost": "imported.xgboost_model",
    "from_lightgbm": "imported.lightgbm_model",
    "from_catboost": "imported.catboost_model",
    "from_sklearn": "imported.sklearn_model",
    "member_predictions": "members",
    "oob_permutation_importance": "resampled.out_of_bag",
    "resample_predictions": "resampling",
    "show_versions": "versions",
}


__getattr__ = import_on_use(
    __name__, {name: f"sumwise.estimators.{place}" for name, place in _LATER.items()}
)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
