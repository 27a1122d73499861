"""From the trees of another library to a fitted estimator."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sumwise.data.categories.dictionary import Dictionary
from sumwise.errors import ModelFileError
from sumwise.estimators.boosting.classifier import GradientBoostingClassifier
from sumwise.estimators.boosting.regressor import GradientBoostingRegressor
from sumwise.estimators.imported.estimators import ImportedClassifier, ImportedRegressor
from sumwise.estimators.input.features import FeatureSchema
from sumwise.export.container import check_n_features
from sumwise.export.trees import check_trees
from sumwise.tree import Ensemble, LinearEnsemble, Model

Classes = np.ndarray | Sequence[np.ndarray] | None


class Features(NamedTuple):
    """The features of a model: their number, names (None without) and category dictionaries."""

    n_features: int
    names: Sequence[str] | None = None
    dictionaries: Mapping[int, Dictionary] = {}

    def check(self, size: int) -> None:
        """Refuse more features than a file of so many bytes may have."""
        if self.n_features < 1:
            raise ModelFileError("the model has no features")
        check_n_features(self.n_features, size)

    def make_schema(self) -> FeatureSchema:
        special = dict.fromkeys(self.dictionaries, "category")
        return FeatureSchema(self.n_features, special, dict(self.dictionaries))


class Objective(NamedTuple):
    """What the scores of a model mean.

    Attributes
    ----------
    link : str
        A name of ``sumwise.losses.links``.
    loss : str, part or None
        The loss of our gradient boosting that is the same; None if there is none.
    is_class : bool
        Whether the model predicts classes.
    """

    link: str
    loss: Any = None
    is_class: bool = False


def make_boosting(
    model: Ensemble,
    features: Features,
    objective: Objective,
    classes: np.ndarray | None = None,
    **params: Any,
) -> Any:
    """Return a model of boosting: gradient boosting if its loss is known, else an imported model.

    ``params`` are those of gradient boosting, as far as they are known.
    """
    if objective.loss is None:
        kept = {k: v for k, v in params.items() if k in ("unknown_category", "sparse_zeros")}
        return make_imported(model, features, classes, **kept)
    kind = GradientBoostingRegressor if classes is None else GradientBoostingClassifier
    if isinstance(model, LinearEnsemble):
        params["booster"] = "linear"
    estimator = kind(loss=objective.loss, n_estimators=model.n_rounds, **params)
    return _finish(estimator, model, features, classes)


def make_imported(model: Model, features: Features, classes: Classes = None, **params: Any) -> Any:
    """Return an imported model, which predicts only."""
    kind = ImportedRegressor if classes is None else ImportedClassifier
    return _finish(kind(**params), model, features, classes)


def _finish(estimator: Any, model: Model, features: Features, classes: Classes) -> Any:
    """Set the fitted attributes; raise ModelFileError if the trees are not sound."""
    schema = features.make_schema()
    if isinstance(model, LinearEnsemble):
        if not (np.isfinite(model.coefficient).all() and np.isfinite(model.base_score).all()):
            raise ModelFileError("a coefficient is not a number")
    else:
        check_trees(model)
        if not model.fits_categories({f: len(d) for f, d in schema.dictionaries.items()}):
            raise ModelFileError("the trees have other categories than the features")
    estimator.n_features_in_ = features.n_features
    if features.names is not None:
        if len(features.names) != features.n_features:
            raise ModelFileError(
                f"there are {len(features.names)} names of {features.n_features} features"
            )
        estimator.feature_names_in_ = np.array(list(features.names), dtype=object)
    if classes is not None:
        estimator.classes_ = classes
    estimator.schema_ = schema
    estimator.history_ = {}
    estimator.ensemble_ = model
    return estimator


def drop_default_names(names: Sequence[str], pattern: str) -> Sequence[str] | None:
    """Return the names of features, or None if they only count them, as "f0", "f1" do."""
    is_default = all(name == pattern.format(k) for k, name in enumerate(names))
    return None if is_default else names


def check_labels(classes: Iterable[Any], n_classes: int) -> np.ndarray:
    """Return the labels of classes as an array."""
    labels = np.asarray(classes)
    if labels.ndim != 1 or labels.size != n_classes:
        raise ModelFileError(f"the model has {n_classes} classes, and {labels.size} labels")
    return labels
