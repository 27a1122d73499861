"""Saving estimators to native model files, and loading them."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar, NoReturn

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sumwise.data.bundling import Bundling
from sumwise.data.categories.encoder import CategoryEncoder
from sumwise.data.categories.set_splits import Native
from sumwise.data.categories.target_statistics import TargetStatistics
from sumwise.errors import ModelFileError
from sumwise.estimators.boosting.losses import LOSS_PARTS
from sumwise.estimators.input.features import FeatureSchema
from sumwise.estimators.input.parameters import NamedParametersMixin
from sumwise.estimators.reporting import ReportMixin
from sumwise.export.files import Source, Target, name_source, read_bytes
from sumwise.losses import is_custom_loss
from sumwise.parts import Part
from sumwise.sampling import ROW_SAMPLERS, Bootstrap, Columns, Pasting, PoissonBootstrap
from sumwise.training.boosters import BOOSTERS
from sumwise.tree import Ensemble, LinearLeaves, Model, Trees

_KINDS = ("Classifier", "Regressor")
_PARTS: dict[str, type[Part]] = {
    "Bootstrap": Bootstrap,
    "Columns": Columns,
    "LinearLeaves": LinearLeaves,
    "Native": Native,
    "Bundling": Bundling,
    "Pasting": Pasting,
    "PoissonBootstrap": PoissonBootstrap,
    "TargetStatistics": TargetStatistics,
    **{kind.__name__: kind for kind in (*BOOSTERS, *ROW_SAMPLERS)},
    **LOSS_PARTS,
}
# These parameters say how to run, not what the model is: never in the file.
_NOT_SAVED = {"callbacks", "device", "n_jobs", "track_training_loss", "verbose", "warm_start"}
# Parameters of later versions. They are left out at their defaults, so that older versions can read
# the file.
_ADDED = {
    "base_score": None,
    "calibrate": None,
    "calibration_rows": "auto",
    "conformal": False,
    "extra_trees": False,
    "leaves": "constant",
    "multi_strategy": "one_output_per_tree",
    "path_smooth": 0.0,
    "weights": None,  # of Columns
}
# Functions of the user are not saved.
_MAY_BE_FUNCTIONS = {"learning_rate", "oob_score", "scoring"}
# Modules of classes that are imported on first use.
_MODULES = {
    **{f"DecisionTree{kind}": "sumwise.estimators.forests.decision_tree" for kind in _KINDS},
    **{f"RandomForest{kind}": "sumwise.estimators.forests.random_forest" for kind in _KINDS},
    **{f"ExtraTrees{kind}": "sumwise.estimators.forests.extra_trees" for kind in _KINDS},
    **{f"Imported{kind}": "sumwise.estimators.imported.estimators" for kind in _KINDS},
}
# Attributes that are learned from rows unseen by the trees, without the underscore.
_LEARNED_FROM_UNSEEN = ("calibration", "conformal")
# Measured only on request, which the file does not record.
_NOT_IN_HISTORY = "training_loss"
# Not every model has names or an out-of-bag score, and files of version 0.1 have no schema.
_OPTIONAL = {
    "_seed",
    "_watched",
    "feature_names_in_",
    "oob_score_",
    "oob_score_is_optimistic_",
    "schema_",
}
# Labels that take more bytes than this, and many more than their texts, would only fill the memory.
_MOST_LABEL_BYTES = 1 << 24
# Most columns of an encoder; each is an object in memory.
_MOST_COLUMNS = 1 << 20


class SavedModelMixin(ReportMixin, NamedParametersMixin):
    """Adds ``save``. Public estimators that have it are loaded by the names of their classes."""

    _by_name: ClassVar[dict[str, type["SavedModelMixin"]]] = {}
    _saved_attributes: ClassVar[tuple[str, ...]] = ()
    _links: ClassVar[tuple[str, ...]] = ("identity",)
    _model_attribute: ClassVar[str] = "ensemble_"
    _model_type: ClassVar[Any] = Ensemble

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__module__.startswith("sumwise.") and not cls.__name__.startswith("Base"):
            SavedModelMixin._by_name[cls.__name__] = cls

    def save(self, path: Target) -> None:
        """Write the fitted model to one file that :func:`sumwise.load` reads.

        The format is documented in ``sumwise.export.native``; the file holds no code. An existing
        file is replaced when the new one is complete, and keeps its permissions. A custom loss
        cannot be saved: pickle the model, or save the trees without the loss by
        ``model.set_params(loss="auto").save(path)`` if its link is a named one.

        Parameters
        ----------
        path : str, path-like or binary file object
            File to write. A file object, such as ``io.BytesIO()`` or ``open(..., "wb")``, is
            written to from its current position and stays open.
        """
        check_is_fitted(self)
        if SavedModelMixin._by_name.get(type(self).__name__) is not type(self):
            raise TypeError(f"{type(self).__name__} is not a class of sumwise; use pickle")
        params = self.get_params(deep=False)  # type: ignore[attr-defined]
        params |= getattr(self, "_chosen", {})  # what fit has chosen, in place of "auto"
        if is_custom_loss(params.get("loss")) or getattr(self, "_custom_link", None) is not None:
            raise TypeError(
                "a model file holds no code, so a loss or link of your own cannot be saved; use "
                "pickle. If its link has a name, model.set_params(loss='auto').save(path) saves "
                "the trees alone"
            )
        about = {
            "estimator": type(self).__name__,
            "params": {k: _encode_param(k, v) for k, v in params.items() if _is_saved(k, v)},
            "fitted": {
                name: _encode_fitted(name, getattr(self, name))
                for name in self._saved_attributes
                if hasattr(self, name)
            },
        }
        encoder = getattr(self, "_encoder", None)
        if encoder is not None:
            about |= {"encoder": encoder.to_json(), "arrays": encoder.to_arrays()}
        for name in _LEARNED_FROM_UNSEEN:
            learned = getattr(self, f"{name}_", None)
            if learned is not None:
                arrays = about.get("arrays", {}) | learned.to_arrays()
                about |= {name: learned.to_json()} | ({"arrays": arrays} if arrays else {})
        from sumwise.export.native import write_model  # fits need not wait for it

        write_model(path, getattr(self, self._model_attribute), about)


class NotSavedMixin(ReportMixin, NamedParametersMixin):
    """For ensembles of members of any kind: explains why they have no ``save``."""

    def save(self, path: Target) -> NoReturn:
        """Refuse: a model file holds the trees of one model, and members may be of any kind.

        Use pickle, or skops.io for files that load without running code.

        Parameters
        ----------
        path : str, path-like or binary file object
            Not used.
        """
        raise TypeError(
            f"{type(self).__name__} has members of any kind, and a model file of sumwise holds the "
            "trees of one model and no code: use pickle, or skops.io.dump for a file that can be "
            "loaded without running code. Members of sumwise have a save of their own"
        )


def load(path: Source) -> Any:
    """Load a model that ``save`` has written.

    Parameters
    ----------
    path : str, path-like, binary file object or bytes
        File to read, or its content. A file object is read from its current position to its end.
        Content that is damaged, not a model or too new raises
        :class:`sumwise.errors.ModelFileError`. Loading never runs code from the file.

    Returns
    -------
    estimator
        The fitted estimator. ``callbacks``, ``device``, ``n_jobs``, ``track_training_loss``,
        ``verbose``, ``warm_start``, and functions as ``scoring`` or ``learning_rate`` are not
        stored; these parameters have their defaults.

    Examples
    --------
    >>> import os, tempfile
    >>> import sumwise
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = sumwise.GradientBoostingRegressor(n_estimators=10).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.sumwise")
    ...     model.save(path)
    ...     again = sumwise.load(path)
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    from sumwise.export.native import parse_model  # fits need not wait for it

    with name_source(path):
        return _restore(*parse_model(read_bytes(path)))


def _restore(model: Model, about: dict[str, Any]) -> Any:
    """Make an estimator from the contents of a file; raise ModelFileError if they do not fit."""
    try:
        kind = _find_class(about["estimator"])
        if not isinstance(model, kind._model_type):
            raise TypeError(f"{type(model).__name__} in a {kind.__name__}")
        estimator: Any = kind(**{k: _decode_param(v) for k, v in about["params"].items()})
        n_features = _find_n_features(model, about)
        for name, value in about["fitted"].items():
            if name not in kind._saved_attributes:
                raise KeyError(name)
            setattr(estimator, name, _decode_fitted(name, value, model, n_features))
        if not hasattr(estimator, "schema_"):
            estimator.schema_ = FeatureSchema.of_numbers(n_features)
        if "encoder" in about:
            _restore_encoder(estimator, about, model)
        if any(name in about for name in _LEARNED_FROM_UNSEEN):
            _restore_calibration(estimator, about, model)
        if model.link not in kind._links:
            raise ValueError(f"link {model.link!r} in a {kind.__name__}")
        _check_categories(estimator, model)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, MemoryError) as error:
        raise ModelFileError(f"unknown content ({error!r})") from None
    missing = set(kind._saved_attributes) - set(about["fitted"]) - _OPTIONAL
    if missing:
        raise ModelFileError(f"lacks {', '.join(sorted(missing))}")
    setattr(estimator, kind._model_attribute, model)
    return estimator


def _find_n_features(model: Model, about: dict[str, Any]) -> int:
    """Return the number of features of X. The columns of an encoder may be more."""
    if "encoder" not in about:
        return model.n_features
    n_features = about["fitted"]["n_features_in_"]
    if type(n_features) is not int or not 0 < n_features <= model.n_features <= _MOST_COLUMNS:
        raise ValueError(f"{n_features!r} features encoded as {model.n_features} columns")
    return n_features


def _find_class(name: str) -> type[SavedModelMixin]:
    """Return the class of a saved estimator, imported if need be."""
    if name not in SavedModelMixin._by_name and name in _MODULES:
        import_module(_MODULES[name])
    return SavedModelMixin._by_name[name]


def _check_categories(estimator: Any, model: Model) -> None:
    """Raise ValueError if the trees have other categories than the features."""
    counts: Mapping[int, int] = {f: len(d) for f, d in estimator.schema_.dictionaries.items()}
    encoder = getattr(estimator, "_encoder", None)
    if encoder is not None:
        counts = encoder.take_originals(counts)
    if isinstance(model, Trees) and not model.fits_categories(counts):
        raise ValueError("the trees have other categories than the features")


def _restore_encoder(estimator: Any, about: dict[str, Any], model: Model) -> None:
    """Give an estimator the encoder of its categories; raise ValueError if it is unsound."""
    n_categories = estimator.schema_.n_categories
    encoder = CategoryEncoder.restore(about["encoder"], about["arrays"], n_categories)
    n_values = encoder.sums.prior.size
    if len(encoder.columns) != model.n_features or n_values not in (1, model.n_outputs):
        raise ValueError("the trees have other columns than the encoder of categories")
    estimator._encoder = encoder


def _restore_calibration(estimator: Any, about: dict[str, Any], model: Model) -> None:
    """Give an estimator what it learned from unseen rows; raise ValueError if it is unsound."""
    from sumwise.estimators.calibrated.restoring import restore_learned  # only needed here

    arrays = about.get("arrays", {})
    learned = {name: about[name] for name in _LEARNED_FROM_UNSEEN if name in about}
    restored = restore_learned(estimator, learned, arrays, model.n_outputs)
    for name, value in restored.items():
        setattr(estimator, f"{name}_", value)


def _is_saved(name: str, value: Any) -> bool:
    if _is_added_default(name, value):
        return False
    return name not in _NOT_SAVED and not (name in _MAY_BE_FUNCTIONS and _has_functions(value))


def _is_added_default(name: str, value: Any) -> bool:
    # Comparing arrays would give arrays.
    is_plain = value is None or isinstance(value, (str, bool, int, float))
    return name in _ADDED and is_plain and value == _ADDED[name]


def _has_functions(value: Any) -> bool:
    """Whether a parameter is a function, or a list or dict with functions."""
    if isinstance(value, Mapping):
        return any(map(callable, value.values()))
    return any(map(callable, value)) if isinstance(value, (list, tuple)) else callable(value)


def _encode_param(name: str, value: Any) -> Any:
    if isinstance(value, Part):
        params = value.get_params().items()
        own = {k: _encode_param(k, v) for k, v in params if not _is_added_default(k, v)}
        return {"part": type(value).__name__, "params": own}
    if isinstance(value, Mapping):  # JSON would turn the keys into strings
        pairs = [[_plain(key), _plain(item)] for key, item in value.items()]
        return {"pairs": sorted(pairs, key=repr)}
    if name == "random_state" and not isinstance(value, (int, np.integer)):
        return None  # the state of a generator cannot be saved
    return _plain(value)


def _decode_param(value: Any) -> Any:
    if isinstance(value, dict) and "pairs" in value:
        return dict(value["pairs"])
    if isinstance(value, dict):
        own = {k: _decode_param(v) for k, v in value["params"].items()}
        return _PARTS[value["part"]](**own)
    return value


def _plain(value: Any) -> Any:
    """Return a value for JSON: NumPy scalars as Python scalars, arrays as lists."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (set, frozenset)):  # in the same order in every run
        return sorted(map(_plain, value), key=lambda item: (isinstance(item, str), item))
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _encode_fitted(name: str, value: Any) -> Any:
    if name == "history_":
        return {k: _encode_scores(v) for k, v in value.items() if k != _NOT_IN_HISTORY}
    if name == "oob_score_":
        return value if np.isfinite(value) else None
    if isinstance(value, FeatureSchema):
        return value.to_json()
    if name == "classes_" and isinstance(value, list):
        return {"outputs": [_encode_fitted(name, own) for own in value]}
    if isinstance(value, np.ndarray):
        items = value.tolist()
        if not all(isinstance(item, (str, int, float, bool)) for item in items):
            kinds = sorted({type(item).__name__ for item in items})
            raise TypeError(
                f"{name} holds {', '.join(kinds)}; a model file takes strings, numbers and "
                "booleans. Use pickle, or encode the labels"
            )
        return {"dtype": value.dtype.str, "items": items}
    return _plain(value)


def _encode_scores(scores: np.ndarray) -> list[float | None]:
    """Return a list for JSON: None in place of NaN, which JSON does not have."""
    return [score if np.isfinite(score) else None for score in scores.tolist()]


def _decode_fitted(name: str, value: Any, model: Model, n_features: Any) -> Any:
    if name == "oob_score_":
        return np.nan if value is None else float(value)
    if name == "oob_score_is_optimistic_":
        return bool(value)
    if name == "_seed":
        if type(value) is not int or not 0 <= value < 1 << 31:
            raise ValueError(f"the seed is {value!r}")
        return value
    if name == "_watched":
        return str(value)
    if name == "history_":
        return {str(key): np.array(items, dtype=np.float64) for key, items in value.items()}
    if name == "n_features_in_":
        if type(value) is not int or value != n_features:
            raise ValueError(f"{name} is {value!r}, and the trees have {n_features}")
        return value
    if name == "schema_":
        return FeatureSchema.from_json(value, n_features)
    if name == "classes_" and "outputs" in value:
        return _decode_outputs(name, value["outputs"], model)
    lengths = {
        "classes_": _find_n_classes(model, value["items"]),
        "feature_names_in_": n_features,
    }
    return _decode_labels(name, value["dtype"], value["items"], lengths[name])


def _find_n_classes(model: Model, items: list[Any]) -> int:
    """Return the number of classes of a model; a single output may be one class or two."""
    return model.n_outputs if model.n_outputs > 1 else min(max(len(items), 1), 2)


def _decode_outputs(name: str, outputs: list[Any], model: Model) -> list[np.ndarray]:
    """Return the classes of several outputs; only forests have them, with one value per class."""
    counts = [len(own["items"]) for own in outputs]
    if isinstance(model, Ensemble) or len(counts) < 2 or min(counts) < 1:
        raise ValueError(f"{name} has {len(counts)} outputs")
    if sum(counts) != model.n_outputs:
        raise ValueError(f"{name} has {sum(counts)} classes, and the trees {model.n_outputs}")
    return [_decode_labels(name, own["dtype"], own["items"], len(own["items"])) for own in outputs]


def _decode_labels(name: str, dtype_name: str, items: list[Any], length: int) -> np.ndarray:
    dtype = np.dtype(dtype_name)
    if dtype.kind not in "biufUO" or not isinstance(items, list) or len(items) != length:
        raise ValueError(f"{name} has dtype {dtype} or is not of length {length}")
    if not all(isinstance(item, (str, int, float, bool)) for item in items):
        raise ValueError(f"{name} holds something that is not a label")
    text = sum(len(item) for item in items if isinstance(item, str))
    if length * dtype.itemsize > max(_MOST_LABEL_BYTES, 8 * length * max(text, 1)):
        raise ValueError(f"{name} has dtype {dtype}")
    return np.array(items, dtype=dtype)
