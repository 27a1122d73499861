"""Broken model files: valid ones with something changed, removed or cut off."""

import copy
import random

import numpy as np

from sumwise.errors import ModelFileError
from sumwise.kernels.runtime.threads import Team

NUMBERS = [-1, 0, 2**31, 2**40, 10**30, 1e308, float("nan"), float("-inf")]
JUNK = [*NUMBERS, None, "x", "-1", "1e9", [], {}, [[1]], [0.5], True]


def _list_places(value, place=()):
    """Yield the paths of all entries."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield (*place, key)
            yield from _list_places(item, (*place, key))
    elif isinstance(value, list):
        for key in list(range(len(value)))[:12]:
            yield (*place, key)
            yield from _list_places(value[key], (*place, key))


def mutate_json(data, seed):
    """Return a copy of parsed JSON in which one entry is different, missing or twice there."""
    rng = random.Random(seed)
    data = copy.deepcopy(data)
    *path, key = rng.choice(list(_list_places(data)))
    owner = data
    for step in path:
        owner = owner[step]
    action = rng.random()
    if action < 0.15:
        del owner[key]
    elif action < 0.25 and isinstance(owner[key], list):
        owner[key] = owner[key] * 2
    elif action < 0.5 and isinstance(owner[key], (int, float)):
        owner[key] = owner[key] + rng.choice([-1, 1, 2, 1000, -(10**6)])
    else:
        owner[key] = rng.choice(JUNK)
    return data


def mutate_bytes(content, seed):
    """Return bytes with some flipped, cut out or cut off."""
    rng = random.Random(seed)
    changed = bytearray(content)
    action = rng.random()
    if action < 0.25:
        return bytes(changed[: rng.randrange(len(changed))])
    if action < 0.4:
        first = rng.randrange(len(changed))
        del changed[first : first + rng.randrange(1, 20)]
        return bytes(changed)
    for _ in range(rng.choice([1, 1, 3, 20])):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def check_refused_or_sound(convert, broken):
    """Import something broken; return False after a clear error, True if the model predicts."""
    try:
        model = convert(broken)
    except ModelFileError:
        return False
    rows = np.array([np.nan, -1.0, 0.5, 3.0])
    rows = np.broadcast_to(rows[:, None], (rows.size, min(model.n_features_in_, 1 << 16)))
    if rows.shape[1] == model.n_features_in_:
        with Team(1) as team:
            model.ensemble_.predict_raw(rows, team)
            if model.ensemble_.n_trees:
                model.ensemble_.apply(rows, team)
    return True
