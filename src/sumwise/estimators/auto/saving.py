"""Model files of automatic ensembles: members of any kind as arrays and JSON, no code.

``sumwise.export.members`` documents the format. Nothing of the training rows is in the file, except
what nearest neighbors learn; and no times, so that it does not depend on the machine.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.diversity import Ambiguity, PairwiseMatrix
from sumwise.errors import ModelFileError
from sumwise.estimators.auto.combination import Average, Combined
from sumwise.estimators.auto.data import make_reader
from sumwise.estimators.auto.leaderboard import Leaderboard, LeaderboardEntry
from sumwise.estimators.auto.members import is_shared
from sumwise.estimators.auto.numeric_models import NumericClassifier, NumericRegressor
from sumwise.estimators.auto.plain_models import (
    LinearFunctions,
    Neighbors,
    Network,
    PlainModel,
)
from sumwise.estimators.auto.pooling import LinearPool, LogPool
from sumwise.estimators.auto.portfolio import Recipe
from sumwise.estimators.auto.preparing import NumericInputs
from sumwise.estimators.input.features import FeatureSchema
from sumwise.estimators.persistence import (
    decode_labels,
    decode_params,
    describe_saved,
    encode_fitted,
    encode_params,
    restore_estimator,
)
from sumwise.export.members import (
    MemberFiles,
    NumericModel,
    is_numeric,
    open_part,
    pack_members,
    pack_numeric,
    read_numeric,
)
from sumwise.export.native import dump_model, parse_model

# Attributes of models on the shared table that are those of the ensemble.
_SHARED = ("n_features_in_", "feature_names_in_", "schema_")
_COMBINED = {kind.__name__: kind for kind in (Average, LinearPool, LogPool)}
_NUMERIC = {kind.__name__: kind for kind in (NumericClassifier, NumericRegressor)}
_OPTIONS = ("is_squashed", "most_levels", "may_be_sparse")
_DIVERSITY = ("labels", "values", "measure")


# --- writing ---


def dump_ensemble(ensemble: Any) -> bytes:
    """Return the bytes of the file of a fitted ensemble."""
    parts, members = [], []
    for bag in ensemble.estimators_:
        own = [_dump_model(model, bag.is_shared) for model in bag.models]
        recipe = {"name": bag.recipe.name, "family": bag.recipe.family}
        recipe["params"] = encode_params(bag.recipe.params)
        members.append({"recipe": recipe, "n_models": len(own)})
        parts.extend(own)
    names = ("n_features_in_", "feature_names_in_", "schema_", "classes_")
    combined = ensemble._combined
    about = {
        "estimator": type(ensemble).__name__,
        "params": encode_params(ensemble.get_params(deep=False)),
        "fitted": {
            name: encode_fitted(name, getattr(ensemble, name))
            for name in names
            if hasattr(ensemble, name)
        },
        "members": members,
        "combination": ensemble.combination_,
        "combined": {
            "kind": type(combined).__name__,
            **{name: np.asarray(value).tolist() for name, value in vars(combined).items()},
        },
        "weights": ensemble.weights_.tolist(),
        "leaderboard": _describe_leaderboard(ensemble.leaderboard_),
        "diversity": {
            name: _to_json(value)
            for name, value in zip(_DIVERSITY, ensemble.diversity_, strict=True)
        },
        "decomposition": _to_json(np.array(ensemble.decomposition_)),
        "loss": ensemble._loss,
        "seed": ensemble._seed,
    }
    return pack_members(MemberFiles(ensemble.n_features_in_, parts), about)


def _dump_model(model: Any, shares_table: bool) -> bytes:
    if isinstance(model, (NumericClassifier, NumericRegressor)):
        return pack_numeric(_describe_numeric(model))
    return dump_model(*describe_saved(model, _SHARED if shares_table else ()))


def _describe_numeric(model: Any) -> NumericModel:
    inputs, learned = model.inputs, model.learned_
    about: dict[str, Any] = {
        "estimator": type(model).__name__,
        "inputs": {name: getattr(inputs, name) for name in _OPTIONS},
        "kind": None if learned is None else learned.kind,
    }
    if isinstance(model, NumericClassifier):
        about["classes"] = model.classes_.tolist()
    else:
        about |= {"center": model.center_, "scale": model.scale_}
    matrices: list[np.ndarray] = []
    if isinstance(learned, LinearFunctions):
        matrices = [learned.coefficient, learned.intercept[np.newaxis]]
    elif isinstance(learned, Network):
        pairs = zip(learned.weights, learned.biases, strict=True)
        matrices = [each for weights, bias in pairs for each in (weights, bias[np.newaxis])]
    elif learned is not None:
        matrices = [learned.points, learned.targets]
        about |= {"n_neighbors": learned.n_neighbors, "by_distance": learned.by_distance}
    arrays = {name: np.empty(0) for name in ("low", "high", "median", "center", "is_marked")}
    arrays |= {"n_categories": inputs.n_categories, "scale": np.empty(0)}
    levels: list[np.ndarray] = []
    if learned is not None:
        about["inputs"]["is_sparse"] = inputs.is_sparse_
        arrays["scale"] = inputs.scale_
        if not inputs.is_sparse_:
            known = ("low", "high", "median", "center", "is_marked")
            arrays |= {name: getattr(inputs, f"{name}_") for name in known}
            levels = inputs.levels_
    arrays["n_levels"] = np.array([own.size for own in levels], dtype=np.int64)
    arrays["levels"] = np.concatenate([*levels, np.empty(0)])
    return NumericModel(about, arrays, matrices)


def _describe_leaderboard(leaderboard: Leaderboard) -> dict[str, Any]:
    columns = leaderboard.to_dict()
    del columns["seconds"]
    return {
        "metric": leaderboard.metric,
        "greater_is_better": leaderboard.greater_is_better,
        "columns": {name: _to_json(np.array(own)) for name, own in columns.items()},
    }


def _to_json(value: Any) -> Any:
    """Return numbers for JSON, which has no NaN: None in its place."""
    if isinstance(value, (list, tuple)):
        return [_to_json(each) for each in value]
    if isinstance(value, np.ndarray):
        return _to_json(value.tolist())
    return None if isinstance(value, float) and not np.isfinite(value) else value


# --- reading ---


def restore_ensemble(members: MemberFiles, about: Mapping[str, Any]) -> Any:
    """Make an ensemble from the contents of a file; raise ModelFileError if they do not fit."""
    try:
        return _restore(members, about)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"unknown content ({error!r})") from None


def _restore(members: MemberFiles, about: Mapping[str, Any]) -> Any:
    from sumwise.estimators.auto import classifier, regressor

    kinds: dict[str, Any] = {
        "AutoEnsembleClassifier": classifier.AutoEnsembleClassifier,
        "AutoEnsembleRegressor": regressor.AutoEnsembleRegressor,
    }
    ensemble = kinds[about["estimator"]](**decode_params(about["params"]))
    features = _restore_features(about["fitted"], members.n_features)
    for name, value in features.items():
        setattr(ensemble, name, value)
    classes = None
    if about["estimator"] == "AutoEnsembleClassifier":
        own = about["fitted"]["classes_"]
        classes = decode_labels("classes_", own["dtype"], own["items"], len(own["items"]))
        if classes.size < 1:
            raise ValueError("no classes")
        ensemble.classes_ = classes
    reader = make_reader(classes is not None)
    for name, value in features.items():
        setattr(reader, name, value)
    bags, place = [], 0
    for entry in about["members"]:
        known = entry["recipe"]
        recipe = Recipe(str(known["name"]), str(known["family"]), decode_params(known["params"]))
        own_parts = members.parts[place : place + entry["n_models"]]
        place += len(own_parts)
        own_features = features if is_shared(recipe) else {}
        models = [_restore_model(part, own_features) for part in own_parts]
        for model in models:
            _check_member(model, members.n_features, classes)
        bags.append(ensemble._bag_class(recipe, models, reader, classes))
    if place != len(members.parts) or not bags or not all(bag.models for bag in bags):
        raise ValueError("the members are not those of the description")
    ensemble.estimators_ = bags
    ensemble._combined = _restore_combined(about["combined"], len(bags), classes)
    ensemble.combination_ = str(about["combination"])
    ensemble.weights_ = _to_numbers(about["weights"], len(bags))
    ensemble.leaderboard_ = _restore_leaderboard(about["leaderboard"])
    labels, values, measure = (about["diversity"][name] for name in _DIVERSITY)
    numbers = np.array(values, dtype=np.float64)
    ensemble.diversity_ = PairwiseMatrix(tuple(map(str, labels)), numbers, str(measure))
    ensemble.decomposition_ = Ambiguity(*_to_numbers(about["decomposition"], 3).tolist())
    ensemble._loss, ensemble._seed, ensemble._data = str(about["loss"]), int(about["seed"]), None
    return ensemble


def _restore_features(fitted: Mapping[str, Any], n_features: int) -> dict[str, Any]:
    if fitted["n_features_in_"] != n_features:
        raise ValueError(f"{fitted['n_features_in_']!r} features instead of {n_features}")
    features: dict[str, Any] = {"n_features_in_": n_features}
    if "feature_names_in_" in fitted:
        own = fitted["feature_names_in_"]
        names = decode_labels("feature_names_in_", own["dtype"], own["items"], n_features)
        features["feature_names_in_"] = names
    features["schema_"] = FeatureSchema.from_json(fitted["schema_"], n_features)
    return features


def _restore_model(part: bytes | memoryview, features: Mapping[str, Any]) -> Any:
    """Return a member's model; ``features`` are those that its file leaves out."""
    file = open_part(part)
    if is_numeric(file):
        return _restore_numeric(read_numeric(file))
    return restore_estimator(*parse_model(part), features)


def _check_member(model: Any, n_features: int, classes: np.ndarray | None) -> None:
    """Raise ValueError for a model of other features or classes than those of its ensemble."""
    is_class = hasattr(model, "classes_")
    if is_class is not (classes is not None):
        raise ValueError(f"{type(model).__name__} in an ensemble of another kind")
    own = model.inputs.n_categories.size if hasattr(model, "inputs") else model.n_features_in_
    if own != n_features:
        raise ValueError(f"a member has {own} features instead of {n_features}")
    if classes is not None:
        places = np.asarray(model.classes_)
        if places.dtype.kind not in "iuf" or not np.isin(places, np.arange(classes.size)).all():
            raise ValueError("a member has other classes")


def _restore_numeric(model: NumericModel) -> Any:
    about, arrays = model.about, dict(model.inputs)
    options = dict(about["inputs"])
    is_sparse = options.pop("is_sparse", None)
    n_categories = arrays["n_categories"]
    inputs = NumericInputs(n_categories, **{name: options[name] for name in _OPTIONS})
    if is_sparse is not None:
        inputs.is_sparse_ = bool(is_sparse)
        inputs.scale_ = arrays["scale"]
        if not is_sparse:
            _restore_dense(inputs, arrays)
        elif inputs.scale_.size != n_categories.size:
            raise ValueError("a member has other features than its ensemble")
    estimator: Any = _NUMERIC[about["estimator"]](inputs)
    estimator.learned_ = _restore_learned(about, model.matrices)
    if isinstance(estimator, NumericClassifier):
        estimator.classes_ = np.array(about["classes"], dtype=np.int64)
        n_outputs = estimator.classes_.size
        if (estimator.learned_ is None) is not (n_outputs == 1):
            raise ValueError("a member has other classes")
        sizes = {n_outputs, 1} if n_outputs == 2 else {n_outputs}
    else:
        estimator.center_, estimator.scale_ = float(about["center"]), float(about["scale"])
        sizes = {1}
    if estimator.learned_ is not None and _count_outputs(estimator.learned_) not in sizes:
        raise ValueError("a member has another number of outputs")
    return estimator


def _restore_dense(inputs: NumericInputs, arrays: Mapping[str, np.ndarray]) -> None:
    n_numbers = np.count_nonzero(inputs.n_categories == 0)
    names = ("low", "high", "median", "center", "scale", "is_marked")
    n_levels = arrays["n_levels"]
    sound = all(arrays[name].size == n_numbers for name in names)
    sound = sound and n_levels.size == inputs.n_categories.size - n_numbers
    if not sound or (n_levels < 0).any() or n_levels.sum() != arrays["levels"].size:
        raise ValueError("the arrays of a member do not fit together")
    for name in names:
        setattr(inputs, f"{name}_", arrays[name])
    inputs.is_marked_ = arrays["is_marked"] != 0
    inputs.levels_ = np.split(arrays["levels"], np.cumsum(n_levels)[:-1]) if n_levels.size else []


def _restore_learned(about: Mapping[str, Any], matrices: Any) -> PlainModel | None:
    kind = about["kind"]
    if kind is None:
        return None
    if kind == Neighbors.kind:
        points, targets = matrices
        n_neighbors, by_distance = int(about["n_neighbors"]), bool(about["by_distance"])
        if len(points) != len(targets) or not 0 < n_neighbors <= len(points):
            raise ValueError("the neighbors do not fit together")
        return Neighbors(points, targets, n_neighbors, by_distance)
    weights, biases = tuple(matrices[::2]), tuple(own[0] for own in matrices[1::2])
    if kind == LinearFunctions.kind:
        if len(matrices) != 2 or len(weights[0]) != biases[0].size:
            raise ValueError("the coefficients do not fit together")
        return LinearFunctions(weights[0], biases[0])
    if kind != Network.kind or not weights or len(weights) != len(biases):
        raise ValueError(f"a model of kind {kind!r}")
    n_units = [own.shape[1] for own in weights]
    if n_units != [own.size for own in biases] or n_units[:-1] != [len(w) for w in weights[1:]]:
        raise ValueError("the layers do not fit together")
    return Network(weights, biases)


def _count_outputs(learned: PlainModel) -> int:
    if isinstance(learned, Neighbors):
        return learned.targets.shape[1]
    return (
        learned.intercept.size if isinstance(learned, LinearFunctions) else learned.biases[-1].size
    )


def _restore_combined(
    known: Mapping[str, Any], n_members: int, classes: np.ndarray | None
) -> Combined:
    values = dict(known)
    kind = _COMBINED[values.pop("kind")]
    values["coef"] = _to_numbers(values["coef"], n_members)
    if kind is LogPool:
        assert_classes = 0 if classes is None else classes.size
        values["intercept"] = _to_numbers(values["intercept"], assert_classes)
    elif kind is LinearPool:
        values["intercept"] = float(values["intercept"])
    return kind(**values)


def _restore_leaderboard(known: Mapping[str, Any]) -> Leaderboard:
    columns = dict(known["columns"])
    n_entries = len(columns["name"])
    columns["seconds"] = [None] * n_entries
    for name in ("score", "std_error", "seconds"):
        columns[name] = [np.nan if value is None else float(value) for value in columns[name]]
    entries = [
        LeaderboardEntry(*row)
        for row in zip(*(columns[name] for name in LeaderboardEntry._fields), strict=True)
    ]
    return Leaderboard(entries, str(known["metric"]), bool(known["greater_is_better"]))


def _to_numbers(values: Any, length: int) -> np.ndarray:
    numbers = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    if numbers.shape != (length,):
        raise ValueError(f"{numbers.size} numbers instead of {length}")
    return numbers
