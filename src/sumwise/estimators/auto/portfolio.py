"""The portfolio: members in the order in which they are tried, and what random variants vary.

The order is by what a member is expected to add to those before it, per second. The first one is
quick and works on any data, so that every fit ends with a model.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise.sampling import Columns, Subsample

# Families: what is trained, and how its time and memory grow.
BOOSTING, FOREST, EXTRA_TREES = "boosting", "forest", "extra_trees"
LINEAR, NEIGHBORS, NETWORK = "linear", "neighbors", "network"

# Traits of the data that a recipe may need; see ``TrainingData.find_traits``.
CATEGORIES, DENSE, FEW_ROWS, SOME_ROWS = "categories", "dense", "few rows", "some rows"
REGRESSION, TWO_CLASSES, MANY_CLASSES = "regression", "two classes", "many classes"
NEWTON = "Newton steps"
EQUAL_WEIGHTS, WEIGHABLE_NETWORK = "equal weights", "networks can use the weights"


@dataclass(frozen=True)
class Recipe:
    """What to train: a family and its parameters.

    Attributes
    ----------
    name : str
        Unique; letters, digits and underscores only, because files are named after it.
    family : str
    params : mapping
        Of boosting and forests, parameters of the estimators of sumwise; of the others, those that
        ``members.py`` reads.
    needs : frozenset of str
        Traits of the data without which it is not tried.
    """

    name: str
    family: str
    params: Mapping[str, Any]
    needs: frozenset[str] = frozenset()


def _recipe(name: str, family: str, *needs: str, **params: Any) -> Recipe:
    return Recipe(name, family, params, frozenset(needs))


# What leaf-wise boosting with slow steps samples.
_SAMPLED = {"sampler": Subsample(0.8), "columns": Columns(by_tree=0.7)}

PORTFOLIO: tuple[Recipe, ...] = (
    _recipe("leaf_quick", BOOSTING, learning_rate=0.1, max_leaves=31),
    _recipe("linear", LINEAR, penalty=1.0),
    _recipe(
        "symmetric",
        BOOSTING,
        growth="symmetric",
        learning_rate=0.08,
        max_depth=6,
        min_samples_leaf=1,
        l2=3.0,
        sampler="mvs",
    ),
    # For data with little noise.
    _recipe("network_large", NETWORK, DENSE, SOME_ROWS, WEIGHABLE_NETWORK, penalty=0.05),
    _recipe("extra_trees", EXTRA_TREES, n_estimators=200, min_samples_leaf=2),
    _recipe(
        "symmetric_ordered",
        BOOSTING,
        CATEGORIES,
        growth="symmetric",
        learning_rate=0.06,
        max_depth=6,
        min_samples_leaf=1,
        l2=3.0,
        categorical_encoding="ordered",
    ),
    _recipe(
        "depth",
        BOOSTING,
        growth="depth",
        learning_rate=0.05,
        max_depth=6,
        min_samples_leaf=1,
        min_child_weight=1.0,
        sampler=Subsample(0.8),
        columns=Columns(by_tree=0.7),
    ),
    _recipe(
        "random_ordered",
        BOOSTING,
        CATEGORIES,
        growth="symmetric",
        learning_rate=0.05,
        max_depth=5,
        min_samples_leaf=1,
        l2=0.5,
        extra_trees=True,
        sampler=Subsample(0.9),
        categorical_encoding="ordered",
    ),
    _recipe(
        "depth_ordered",
        BOOSTING,
        CATEGORIES,
        growth="depth",
        learning_rate=0.05,
        max_depth=5,
        min_samples_leaf=5,
        l2=5.0,
        sampler=Subsample(0.5),
        columns=Columns(by_tree=0.7),
        categorical_encoding="ordered",
    ),
    _recipe("forest", FOREST, n_estimators=200, min_samples_leaf=4),
    _recipe("leaf_slow", BOOSTING, learning_rate=0.03, max_leaves=31, **_SAMPLED),
    _recipe("network", NETWORK, DENSE, SOME_ROWS, WEIGHABLE_NETWORK, penalty=1.0),
    _recipe(
        "leaf_large",
        BOOSTING,
        learning_rate=0.03,
        max_leaves=127,
        min_samples_leaf=10,
        l2=5.0,
        sampler=Subsample(0.8),
        columns=Columns(by_node=0.5),
    ),
    _recipe("leaf_random", BOOSTING, learning_rate=0.05, max_leaves=64, extra_trees=True, l2=0.5),
    _recipe("neighbors", NEIGHBORS, DENSE, EQUAL_WEIGHTS, n_neighbors=30),
    _recipe("shallow", BOOSTING, growth="depth", learning_rate=0.1, max_depth=3),
    _recipe("leaf_linear", BOOSTING, DENSE, NEWTON, learning_rate=0.05, leaves="linear"),
    _recipe("huber", BOOSTING, REGRESSION, loss="huber", learning_rate=0.05, **_SAMPLED),
    _recipe("exponential", BOOSTING, TWO_CLASSES, loss="exponential", learning_rate=0.05),
    _recipe(
        "ordered_boosting",
        BOOSTING,
        FEW_ROWS,
        booster="ordered",
        growth="symmetric",
        learning_rate=0.06,
        max_depth=6,
        min_samples_leaf=1,
        l2=3.0,
    ),
    _recipe("linear_strong", LINEAR, penalty=30.0),
)
FAST = ("leaf_quick", "linear", "symmetric", "extra_trees")
BY_NAME = {recipe.name: recipe for recipe in PORTFOLIO}


# Labels of two classes are seldom without noise.
_LATE_WITH_TWO_CLASSES = ("network_large", "leaf_random")
# Statistics of categories are worth more than other kinds of trees.
_FIRST_WITH_CATEGORIES = ("leaf_quick", "symmetric_ordered", "linear", "depth", "random_ordered")
# Boosting has a tree for each class and round; the time of these depends less on the classes.
_FIRST_WITH_MANY_CLASSES = ("leaf_quick", "network_large", "extra_trees", "neighbors", "forest")


def list_names(traits: frozenset[str]) -> list[str]:
    """Return the names of all members, in the order in which they are tried by default."""
    names = list(BY_NAME)
    if CATEGORIES in traits:
        names = list(dict.fromkeys((*_FIRST_WITH_CATEGORIES, *names)))
    if TWO_CLASSES in traits:
        late, before = _LATE_WITH_TWO_CLASSES
        names.remove(late)
        names.insert(names.index(before) + 1, late)
    elif MANY_CLASSES in traits:
        names = list(dict.fromkeys((*_FIRST_WITH_MANY_CLASSES, *names)))
    return names


def choose_recipes(names: Iterable[str], traits: frozenset[str]) -> list[Recipe]:
    """Return the named recipes that suit the data, in the order of their names."""
    return [BY_NAME[name] for name in names if BY_NAME[name].needs <= traits]


# --- random variants of boosting ---

# Values with equal chances, or the ends of a range that is drawn from evenly in logarithms.
_Range = tuple[float, float]
GROWTHS: Mapping[str, Mapping[str, _Range]] = {
    "leaf": {"max_leaves": (8, 160), "min_samples_leaf": (2, 60)},
    "depth": {"max_depth": (3, 10), "min_samples_leaf": (1, 30)},
    "symmetric": {"max_depth": (4, 9)},
}
SHARED: Mapping[str, _Range] = {"learning_rate": (0.02, 0.12), "l2": (0.1, 20.0)}
# Sampling: of rows per tree, and of features per tree or per node.
ROW_RATES: Sequence[float] = (0.5, 0.7, 0.9, 1.0)
FEATURE_SHARES: Sequence[float] = (0.3, 0.5, 0.7, 1.0)
# The share of variants whose splits are random.
RANDOM_SPLITS = 0.15
_WHOLE = frozenset({"max_leaves", "max_depth", "min_samples_leaf"})


def draw_variants(n_variants: int, seed: int, traits: frozenset[str]) -> list[Recipe]:
    """Return random recipes of boosting; the first ones are the same for any number of them."""
    return [_draw_variant(number, seed, traits) for number in range(n_variants)]


def _draw_variant(number: int, seed: int, traits: frozenset[str]) -> Recipe:
    rng = np.random.default_rng([seed, number])
    growth = str(rng.choice(list(GROWTHS)))
    params: dict[str, Any] = {"growth": growth, "min_samples_leaf": 1}
    for name, (low, high) in {**SHARED, **GROWTHS[growth]}.items():
        value = float(np.exp(rng.uniform(np.log(low), np.log(high))))
        params[name] = round(value) if name in _WHOLE else float(f"{value:.3g}")
    row_rate, share = float(rng.choice(ROW_RATES)), float(rng.choice(FEATURE_SHARES))
    if row_rate < 1.0:
        params["sampler"] = Subsample(row_rate)
    if share < 1.0:
        by = "by_node" if rng.random() < 0.5 else "by_tree"
        params["columns"] = Columns(**{by: share})
    params["extra_trees"] = bool(rng.random() < RANDOM_SPLITS)
    if CATEGORIES in traits and rng.random() < 0.5:
        params["categorical_encoding"] = "ordered"
    return Recipe(f"variant_{number + 1}", BOOSTING, params)
