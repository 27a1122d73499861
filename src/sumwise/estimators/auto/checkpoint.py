"""Finished fits on disk, so that a fit that was killed continues where it was."""

import hashlib
import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse  # type: ignore[import-untyped]

from sumwise.errors import DataError
from sumwise.estimators.auto.data import TrainingData
from sumwise.estimators.auto.fold_fits import FoldFit
from sumwise.estimators.auto.portfolio import Recipe
from sumwise.estimators.combined.out_of_fold import Folds
from sumwise.estimators.warn import warn_user

# Files of another version are not read.
_VERSION = 2
_DESCRIPTION = "fit.json"
# Rows of an array that are hashed at a time.
_BLOCK = 1 << 16


class Checkpoint:
    """A folder with a file for each member and fold, and a description of the data.

    Every file is written under another name and renamed when it is complete. Files are pickles:
    use only folders that you have written.

    Parameters
    ----------
    folder : path or None
        Made if it does not exist; None keeps nothing.
    """

    def __init__(self, folder: Any) -> None:
        self._folder = None if folder is None else Path(folder)

    def find_seed(self, seed: int) -> int:
        """Return the seed of the fit to continue, or the given one if there is none."""
        known = self._read_description()
        return seed if known is None else int(known["seed"])

    def open(self, fingerprint: str, seed: int) -> None:
        """Begin, or continue a fit of the same data; refuse other data."""
        if self._folder is None:
            return
        known = self._read_description()
        if known is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            text = json.dumps({"version": _VERSION, "fingerprint": fingerprint, "seed": seed})
            self._write(_DESCRIPTION, text.encode())
        elif known["fingerprint"] != fingerprint or known["seed"] != seed:
            raise DataError(
                f"checkpoint={str(self._folder)!r} belongs to a fit of other data, or with another "
                "metric, random_state, n_folds, n_repeats, groups or cv; delete the folder, or "
                "choose another one"
            )

    def load(self, recipe: Recipe, fold_idx: int) -> FoldFit | None:
        """Return a finished fit; None if there is none, or if its file cannot be read."""
        if self._folder is None:
            return None
        path = self._folder / _name_file(recipe, fold_idx)
        if not path.exists():
            return None
        try:
            found = pickle.loads(path.read_bytes())
            return found if isinstance(found, FoldFit) else None
        except Exception as error:  # whatever is wrong with it, it can be fitted again
            warn_user(f"{path} cannot be read ({error}); the member is fitted again")
            return None

    def store(self, recipe: Recipe, fold_idx: int, fit: FoldFit) -> None:
        """Keep a finished fit; one that was cut short is left to the next fit."""
        if self._folder is not None and not fit.was_cut:
            self._write(_name_file(recipe, fold_idx), pickle.dumps(fit, protocol=5))

    def _write(self, name: str, content: bytes) -> None:
        assert self._folder is not None
        part = self._folder / f"{name}.{os.getpid()}.part"
        try:
            with part.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, self._folder / name)
        finally:
            part.unlink(missing_ok=True)

    def _read_description(self) -> dict[str, Any] | None:
        if self._folder is None:
            return None
        path = self._folder / _DESCRIPTION
        if not path.exists():
            if self._folder.is_dir() and any(self._folder.iterdir()):
                raise DataError(
                    f"checkpoint={str(self._folder)!r} has files and no {_DESCRIPTION}; choose a "
                    "new or an empty folder"
                )
            return None
        try:
            known = json.loads(path.read_text())
            if known["version"] == _VERSION and isinstance(known["seed"], int):
                return {"fingerprint": str(known["fingerprint"]), "seed": known["seed"]}
        except (ValueError, KeyError, TypeError):
            pass
        raise DataError(f"{path} is not a description of a fit that this version can continue")


def _name_file(recipe: Recipe, fold_idx: int) -> str:
    params = repr(sorted(recipe.params.items(), key=lambda item: item[0]))
    digest = hashlib.sha256(params.encode()).hexdigest()[:8]
    return f"{recipe.name}-{digest}-{fold_idx}.pickle"


def take_fingerprint(data: TrainingData, folds: Folds, loss: str) -> str:
    """Return a hash of everything that the fits of a recipe depend on, except for the seed."""
    found = hashlib.sha256(f"{loss} {data.n_rows} {data.n_features}".encode())
    numbers = data.rows.numbers
    parts = [numbers]
    if sparse.issparse(numbers):
        parts = [numbers.data, numbers.indices, numbers.indptr]
    arrays = [*parts, data.y, data.n_categories, data.weight, data.groups, data.classes]
    for array in [*arrays, *folds.train, *folds.test]:
        _add(found, array)
    return found.hexdigest()


def _add(found: Any, array: np.ndarray | None) -> None:
    if array is None:
        found.update(b"none")
        return
    found.update(f"{array.dtype.kind} {array.shape}".encode())
    if array.dtype.kind in "OU":
        found.update(repr(array.tolist()).encode())
        return
    for first in range(0, len(array), _BLOCK):
        found.update(np.ascontiguousarray(array[first : first + _BLOCK]).tobytes())
