"""Models by name and parameters, and model files on tables."""

import argparse
import ast
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import sumwise
from sumwise import presets
from sumwise.cli.reading.files import ReadOptions, read_table
from sumwise.cli.reading.roles import CLASSIFICATION
from sumwise.cli.reading.table import Table
from sumwise.cli.usage import UsageError, list_names

AUTO = "auto"
BOOSTING = "GradientBoosting"


class ModelChoice(NamedTuple):
    """A family of estimators, such as GradientBoosting, and parameters that are set first."""

    family: str
    parameters: Mapping[str, Any] = {}
    summary: str = ""


# Only models that can be saved.
MODELS = {
    "boosting": ModelChoice(BOOSTING, {}, "gradient boosting, defaults"),
    "lightgbm": ModelChoice(BOOSTING, presets.LIGHTGBM, "boosting in the style of LightGBM"),
    "xgboost": ModelChoice(BOOSTING, presets.XGBOOST, "boosting in the style of XGBoost"),
    "catboost": ModelChoice(BOOSTING, presets.CATBOOST, "boosting in the style of CatBoost"),
    "forest": ModelChoice("RandomForest", {}, "random forest"),
    "extra-trees": ModelChoice("ExtraTrees", {}, "extremely randomized trees"),
    "tree": ModelChoice("DecisionTree", {}, "a single decision tree"),
    AUTO: ModelChoice("AutoEnsemble", {}, "chooses and combines models within --time-limit"),
}


def build_model(choice: ModelChoice, task: str, parameters: Mapping[str, Any]) -> Any:
    """Return an unfitted estimator; an unknown parameter raises an error that names it."""
    kind = "Classifier" if task == CLASSIFICATION else "Regressor"
    return getattr(sumwise, choice.family + kind)(**{**choice.parameters, **parameters})


def read_setting(text: str) -> tuple[str, Any]:
    """Return name and value of "name=value"; values are JSON or Python, else strings."""
    name, sign, value = text.partition("=")
    if not sign or not name.strip().isidentifier():
        raise argparse.ArgumentTypeError(f"expected name=value, got {text!r}")
    for read in (json.loads, ast.literal_eval):
        try:
            return name.strip(), read(value)
        except (ValueError, SyntaxError):
            pass
    return name.strip(), value


class ModelFile:
    """A model that was loaded from a file.

    Attributes
    ----------
    path : str
    model : estimator
    """

    def __init__(self, path: str) -> None:
        self.path = path
        if Path(path).is_dir():
            raise UsageError(f"{path} is a folder; name a model file")
        try:
            self.model = sumwise.load(path)
        except FileNotFoundError:
            raise UsageError(f"{path}: there is no such file") from None

    @property
    def is_classifier(self) -> bool:
        """Whether the model predicts classes."""
        return hasattr(self.model, "classes_")

    @property
    def classes(self) -> np.ndarray:
        """The labels of a classifier."""
        classes = self.model.classes_
        if isinstance(classes, list):
            raise UsageError(f"{self.path} predicts several targets; use it from Python")
        return classes

    @property
    def names(self) -> list[str] | None:
        """The names of the features; None if the model was fitted on an array."""
        names = getattr(self.model, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def read(self, source: str, options: ReadOptions, target: str | None = None) -> Table:
        """Read a table; categories and labels that were text in training stay text."""
        return read_table(source, options, self.find_texts(target))

    @property
    def has_text_labels(self) -> bool:
        """Whether the classes are strings."""
        return self.is_classifier and self.classes.dtype.kind in "OU"

    def find_texts(self, target: str | None = None) -> Collection[str]:
        """Return the columns that hold text."""
        names = self.names
        if names is None:
            return ()
        dictionaries = self.model.schema_.dictionaries
        texts = {names[f] for f, known in dictionaries.items() if known.values.dtype.kind in "OU"}
        if target is not None and self.has_text_labels:
            texts.add(target)
        return texts

    def list_features(self, table: Table, others: Collection[str] = ()) -> list[str]:
        """Return the columns that the model reads, in its order; raise UsageError if some lack.

        ``others`` are columns with another role, for models without names.
        """
        names = self.names
        if names is None:
            found = [name for name in table.names if name not in others]
            if len(found) != self.model.n_features_in_:
                raise UsageError(
                    f"{self.path} was fitted on an array of {self.model.n_features_in_} columns "
                    f"without names, and {table.name} has {len(found)} columns: "
                    f"{list_names(map(repr, found))}"
                )
            return found
        absent = [name for name in names if name not in table.names]
        if absent:
            raise UsageError(
                f"{table.name} lacks {'columns' if len(absent) > 1 else 'column'} "
                f"{list_names(map(repr, absent))}, which the model {self.path} needs; it has "
                f"{list_names(map(repr, table.names), 12)}"
            )
        return names

    def select(self, table: Table, others: Collection[str] = ()) -> Any:
        """Return the features of a table as X."""
        return table.select(self.list_features(table, others))

    def list_extra(self, table: Table) -> list[str]:
        """Return the columns that are no features of the model."""
        names = self.names or ()
        return [name for name in table.names if name not in names]


def predict_columns(file: ModelFile, X: Any) -> dict[str, np.ndarray]:
    """Return the prediction of each row, and the probability of each class of a classifier."""
    if not file.is_classifier:
        values = np.asarray(file.model.predict(X))
        if values.ndim == 1:
            return {"prediction": values}
        return {f"prediction_{k}": values[:, k] for k in range(values.shape[1])}
    classes = file.classes
    probabilities = file.model.predict_proba(X)
    columns = {"prediction": np.asarray(file.model.predict(X))}
    for k, label in enumerate(classes.tolist()):
        columns[f"probability_{label}"] = probabilities[:, k]
    return columns
