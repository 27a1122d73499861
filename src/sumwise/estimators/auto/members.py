"""From a recipe to an unfitted estimator for the data at hand."""

import zlib
from typing import Any

import numpy as np

from sumwise.estimators.auto import portfolio
from sumwise.estimators.auto.data import TrainingData
from sumwise.estimators.auto.numeric_models import NumericClassifier, NumericRegressor
from sumwise.estimators.auto.plain_models import NeighborsRecipe
from sumwise.estimators.auto.portfolio import Recipe
from sumwise.estimators.auto.preparing import NumericInputs
from sumwise.estimators.boosting.classifier import GradientBoostingClassifier
from sumwise.estimators.boosting.regressor import GradientBoostingRegressor

# At most so many rounds of boosting, times the learning rate: enough for early stopping to decide.
_MOST_STEPS = 100.0
# Without rows to stop by, so many.
_USUAL_STEPS = 6.0
_FEWEST_ROUNDS, _MOST_UNWATCHED = 20, 300
# A leaf has at most this share of the training rows as its minimum, so that few rows can be split.
_LEAF_SHARE = 20
# Leaves of forests are smaller by this factor in regression.
_REGRESSION_LEAF = 2
# Distances in more features say little, and networks get slow.
_MOST_LEVELS = 30
# Epochs of networks: fewer for more rows. Their layers.
_EPOCH_ROWS, _MOST_EPOCHS, _FEWEST_EPOCHS = 500_000, 60, 10
_LAYERS = (128, 64)


def make_seed(seed: int, name: str, fold_idx: int = 0) -> int:
    """Return the seed of a fit, whatever has been fitted before."""
    words = np.random.SeedSequence([seed, zlib.crc32(name.encode()), fold_idx])
    return int(words.generate_state(1)[0] >> 1)


def is_shared(recipe: Recipe) -> bool:
    """Whether a recipe is trained on the shared table."""
    return recipe.family == portfolio.BOOSTING and "categorical_encoding" not in recipe.params


def make_member(
    recipe: Recipe, data: TrainingData, n_train: int, loss: str, n_jobs: int | None, seed: int
) -> Any:
    """Return an unfitted estimator that learns from ``n_train`` rows.

    Parameters
    ----------
    recipe : Recipe
    data : TrainingData
        Its numbers are what the estimator is fitted on, unless it is on the shared table.
    n_train : int
    loss : str
        The loss of boosting, if the recipe has none.
    n_jobs : int or None
        Threads of the trees.
    seed : int
    """
    if recipe.family == portfolio.BOOSTING:
        return _make_boosting(recipe, data, n_train, loss, n_jobs, seed)
    if recipe.family in (portfolio.FOREST, portfolio.EXTRA_TREES):
        return _make_forest(recipe, data, n_jobs, seed)
    return _make_numeric(recipe, data, n_train, seed)


def count_rounds(recipe: Recipe, is_watched: bool) -> int:
    """Return the most rounds of boosting; ``is_watched`` if early stopping ends it before."""
    rate = float(recipe.params["learning_rate"])
    if is_watched:
        return round(_MOST_STEPS / rate)
    return int(np.clip(round(_USUAL_STEPS / rate), _FEWEST_ROUNDS, _MOST_UNWATCHED))


def count_patience(recipe: Recipe) -> int:
    """Return after how many rounds without an improvement boosting stops."""
    return int(np.clip(round(1.5 / float(recipe.params["learning_rate"])), 10, 50))


def _make_boosting(
    recipe: Recipe, data: TrainingData, n_train: int, loss: str, n_jobs: int | None, seed: int
) -> Any:
    kind: Any = GradientBoostingRegressor
    if data.classes is not None:
        kind = GradientBoostingClassifier
    params = {"loss": loss, "categorical_encoding": "native", **recipe.params}
    fewest = params.get("min_samples_leaf", 20)
    params["min_samples_leaf"] = max(1, min(fewest, n_train // _LEAF_SHARE))
    return kind(
        categorical_features=data.categorical or None,
        n_estimators=count_rounds(recipe, is_watched=False),
        n_jobs=n_jobs,
        random_state=seed,
        **params,
    )


def _make_forest(recipe: Recipe, data: TrainingData, n_jobs: int | None, seed: int) -> Any:
    from sumwise.estimators.forests import extra_trees, random_forest  # not every fit has them

    is_class = data.classes is not None
    kind: Any
    if recipe.family == portfolio.FOREST:
        kind = random_forest.RandomForestClassifier
        if not is_class:
            kind = random_forest.RandomForestRegressor
    else:
        kind = extra_trees.ExtraTreesClassifier if is_class else extra_trees.ExtraTreesRegressor
    own = {"max_features": "sqrt" if is_class else 0.5, **recipe.params}
    if not is_class:  # means suffer less from small leaves than probabilities do
        own["min_samples_leaf"] //= _REGRESSION_LEAF
    categories = data.categorical or None
    return kind(categorical_features=categories, n_jobs=n_jobs, random_state=seed, **own)


def _make_numeric(recipe: Recipe, data: TrainingData, n_train: int, seed: int) -> Any:
    """Return a linear model, neighbors or a network on numbers and codes of categories."""
    is_class = data.classes is not None
    is_linear = recipe.family == portfolio.LINEAR
    inputs = NumericInputs(
        data.n_categories,
        is_squashed=not is_linear,
        most_levels=1000 if is_linear else _MOST_LEVELS,
        may_be_sparse=is_linear,
    )
    model: Any
    if is_linear:
        model = _make_linear(recipe, is_class)
    elif recipe.family == portfolio.NEIGHBORS:
        model = _make_neighbors(recipe, is_class, n_train)
    else:
        model = _make_network(recipe, is_class, n_train, seed)
    return (NumericClassifier if is_class else NumericRegressor)(inputs, model)


def _make_linear(recipe: Recipe, is_class: bool) -> Any:
    from sklearn.linear_model import LogisticRegression, Ridge

    penalty = float(recipe.params["penalty"])
    if is_class:
        return LogisticRegression(C=1.0 / penalty, max_iter=300)
    return Ridge(alpha=penalty)


def _make_neighbors(recipe: Recipe, is_class: bool, n_train: int) -> NeighborsRecipe:
    n_neighbors = max(1, min(int(recipe.params["n_neighbors"]), n_train // 3))
    # Neighbors of great weight would make probabilities of 0 and 1.
    return NeighborsRecipe(n_neighbors, by_distance=not is_class)


def _make_network(recipe: Recipe, is_class: bool, n_train: int, seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    kind = MLPClassifier if is_class else MLPRegressor
    n_epochs = int(np.clip(_EPOCH_ROWS // n_train, _FEWEST_EPOCHS, _MOST_EPOCHS))
    return kind(
        hidden_layer_sizes=_LAYERS,
        alpha=float(recipe.params["penalty"]),
        learning_rate_init=3e-3,
        max_iter=n_epochs,
        random_state=seed,
    )
