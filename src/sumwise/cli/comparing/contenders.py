"""What `sumwise compare` compares: learners of sumwise, and one of scikit-learn as a reference.

To add a contender, add a line to :func:`list_contenders`.
"""

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from sklearn import ensemble
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import sumwise
from sumwise import presets
from sumwise.cli.comparing.combinations import COMBINATIONS, make_members
from sumwise.cli.comparing.datasets import Dataset
from sumwise.cli.comparing.sharing import Memory, SharedMember

# HistGradientBoosting* refuse a feature with more categories.
MOST_CATEGORIES = 255

TREES, COMBINED, REFERENCE, AUTOMATIC = "trees", "combinations", "reference", "automatic"
_WARM_UP_ROUNDS = 2
# So many rows compile the same kernels as all rows do.
_WARM_UP_ROWS = 300


class Terms(NamedTuple):
    """Under which terms contenders are trained; ``n_jobs=None`` is all CPUs.

    Combinations share the fits of their members through a ``memory``.
    """

    n_rounds: int = 100
    n_jobs: int | None = None
    auto_seconds: float = 3.0
    memory: Memory | None = None


class Contender(NamedTuple):
    """One line of the comparison.

    Attributes
    ----------
    name, group : str
    build : callable
        Makes an unfitted estimator for a data set.
    cost : float
        Time of a fit in relation to other contenders, for estimates of the time left.
    averages : bool
        Whether it predicts the mean, or the vote, of its members.
    """

    name: str
    group: str
    build: Callable[[Dataset, Terms], Any]
    cost: float = 1.0
    averages: bool = False


def encode_categories(model: Any, data: Dataset) -> Any:
    """Encode strings as ordinal codes, which HistGradientBoosting* needs.

    None has its own code; categories that are not in a training fold become NaN. If there are more
    categories than it accepts, the rarest share a code.
    """
    features = data.find_categories()
    if not features:
        return model
    encoder = OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        max_categories=MOST_CATEGORIES,
    )
    # The encoded columns come first, then the others.
    columns = ColumnTransformer([("codes", encoder, features)], remainder="passthrough")
    model.set_params(categorical_features=list(range(len(features))))
    return make_pipeline(columns, model)


def _find_class(family: str, data: Dataset, module: ModuleType = sumwise) -> Any:
    kind = "Classifier" if data.task == "classification" else "Regressor"
    return getattr(module, family + kind)


def _learner(family: str, **parameters: Any) -> Callable[[Dataset, Terms], Any]:
    """Return what makes an estimator; if n_estimators is None, it is that of the terms."""

    def build(data: Dataset, terms: Terms) -> Any:
        own = {**parameters, "random_state": 0}
        if parameters.get("n_estimators", 0) is None:
            own["n_estimators"] = terms.n_rounds
        model = _find_class(family, data)(**own)
        return model.set_params(n_jobs=terms.n_jobs) if "n_jobs" in model.get_params() else model

    return build


def _boosting(style: Mapping[str, Any]) -> Callable[[Dataset, Terms], Any]:
    """Return what makes boosting in a style, at the learning rate that all styles share."""
    return _learner("GradientBoosting", **{**style, "learning_rate": 0.1, "n_estimators": None})


def _build_reference(data: Dataset, terms: Terms) -> Any:
    model = _find_class("HistGradientBoosting", data, ensemble)(
        early_stopping=False, max_iter=terms.n_rounds, random_state=0
    )
    return encode_categories(model, data)


def _build_automatic(data: Dataset, terms: Terms) -> Any:
    return _find_class("AutoEnsemble", data)(
        preset="fast", time_limit=terms.auto_seconds, n_jobs=terms.n_jobs, random_state=0
    )


def _combine(make: Callable[[list[tuple[str, Any]]], Any]) -> Callable[[Dataset, Terms], Any]:
    def build(data: Dataset, terms: Terms) -> Any:
        members = make_members(data, terms.n_rounds, terms.n_jobs)
        if terms.memory is not None:
            members = {k: SharedMember(v, k, terms.memory) for k, v in members.items()}
        model = make(list(members.items()))
        has_seed = "random_state" in model.get_params(deep=False)
        return model.set_params(random_state=0) if has_seed else model

    return build


def list_contenders(data: Dataset, terms: Terms) -> list[Contender]:
    """Return the contenders for a data set."""
    many: dict[str, Any] = {"n_estimators": None}
    features: Any = 1 / 3 if data.task == "regression" else "sqrt"
    found = [
        Contender("decision tree", TREES, _learner("DecisionTree"), 0.1),
        Contender("bagging", TREES, _learner("Bagging", **many), 4.0, True),
        Contender(
            "random forest",
            TREES,
            _learner("RandomForest", max_features=features, **many),
            3.0,
            True,
        ),
        Contender("extra trees", TREES, _learner("ExtraTrees", **many), 5.0, True),
        Contender("AdaBoost", "boosting", _learner("AdaBoost", **many), 1.0),
        Contender("boosting, LightGBM style", "boosting", _boosting(presets.LIGHTGBM)),
        Contender("boosting, XGBoost style", "boosting", _boosting(presets.XGBOOST)),
        Contender("boosting, CatBoost style", "boosting", _boosting(presets.CATBOOST)),
        Contender("boosting, defaults", "boosting", _learner("GradientBoosting"), 5.0),
        *(
            Contender(each.name, COMBINED, _combine(each.make), each.cost, each.averages)
            for each in COMBINATIONS[data.task]
        ),
    ]
    if terms.auto_seconds > 0:
        found.append(Contender("automatic ensemble", AUTOMATIC, _build_automatic, 0.0))
    found.append(Contender("HistGradientBoosting", REFERENCE, _build_reference, 2.0))
    return found


def count_members(model: Any) -> int:
    """Return the number of members of a fitted model, or of rounds; 1 for a single learner."""
    last = model[-1] if isinstance(model, Pipeline) else model
    for attribute in ("best_iteration_", "n_iter_", "estimators_"):
        found = getattr(last, attribute, None)
        if found is not None:
            return int(found) if isinstance(found, (int, np.integer)) else len(found)
    return 1


def warm_up(contender: Contender, data: Dataset, terms: Terms) -> None:
    """Train a contender briefly, so that its kernels are compiled before times are measured.

    `sumwise warmup` compiles more kernels than a comparison needs; this compiles exactly those.
    """
    order = np.random.default_rng(0).permutation(len(data.y))
    few = data.take(np.sort(_keep_classes(data, order)))
    model = contender.build(few, terms._replace(n_rounds=_WARM_UP_ROUNDS, memory=None))
    if contender.group == AUTOMATIC:
        model.set_params(time_limit=None)
    elif contender.name == "boosting, defaults":
        model.set_params(n_estimators=_WARM_UP_ROUNDS)
    model.fit(few.X, few.y).predict(few.X)


def _keep_classes(data: Dataset, order: np.ndarray) -> np.ndarray:
    """Return the first rows of an order, and some of every class."""
    if data.task == "regression":
        return order[:_WARM_UP_ROWS]
    _, codes = np.unique(data.y[order], return_inverse=True)
    rank = np.empty(order.size, dtype=np.int64)
    for code in range(int(codes.max()) + 1):
        own = np.flatnonzero(codes == code)
        rank[own] = np.arange(own.size)
    return order[(np.arange(order.size) < _WARM_UP_ROWS) | (rank < 10)]
