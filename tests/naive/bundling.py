"""Exclusive feature bundling as in the LightGBM paper, with its slips corrected.

Algorithm 3 of the paper compares with ``bundlesConflict[i]`` where it means ``[j]``, and never adds
to it. Algorithm 4 adds bin ranges; here every bin except the default bin has a code, because any
bin of a feature may be the default.
"""

import numpy as np


def count_conflicts(has_entry: np.ndarray, f: int, members: list[int]) -> int:
    """Count the rows in which a feature and a member of the bundle both have entries.

    ``has_entry``, bool of shape (n_rows, n_features), marks values outside the default bin.
    """
    return int(np.sum(has_entry[:, f] & has_entry[:, members].any(axis=1)))


def order_features(has_entry: np.ndarray, features: list[int]) -> list[int]:
    """Descending degree in the graph whose edges weigh the conflicts of two features."""
    degree = {
        f: sum(
            int(np.sum(has_entry[:, f] & has_entry[:, other])) for other in features if other != f
        )
        for f in features
    }
    return sorted(features, key=lambda f: (-degree[f], f))


def greedy_bundling(
    has_entry: np.ndarray, features: list[int], n_codes: dict[int, int], limit: int, most: int
) -> list[list[int]]:
    """Algorithm 3; a bundle has at most 256 codes, and there are at most ``most`` bundles."""
    bundles: list[list[int]] = []
    bundles_conflict: list[int] = []
    for f in order_features(has_entry, features):
        need_new = True
        for j, members in enumerate(bundles):
            n = count_conflicts(has_entry, f, members)
            room = 1 + sum(n_codes[m] for m in members) + n_codes[f] <= 256
            if room and n + bundles_conflict[j] <= limit:
                members.append(f)
                bundles_conflict[j] += n
                need_new = False
                break
        if need_new and len(bundles) < most:
            bundles.append([f])
            bundles_conflict.append(0)
    return bundles


def merge_features(
    bins: np.ndarray, default_bin: list[int], n_value_bins: list[int], members: list[int]
) -> tuple[np.ndarray, dict[int, tuple[int, int]]]:
    """Algorithm 4: the codes of a bundle, and the (feature, bin) that each code means.

    ``bins`` is (n_rows, n_features). A later member wins.
    """
    code_of: dict[tuple[int, int], int] = {}
    for f in members:
        after = range(default_bin[f] + 1, n_value_bins[f] + 1)
        missing = [0] if default_bin[f] > 0 and (bins[:, f] == 0).any() else []
        for b in [*after, *missing, *range(1, default_bin[f])]:
            code_of[f, b] = 1 + len(code_of)
    codes = np.zeros(bins.shape[0], dtype=np.int64)
    for row in range(bins.shape[0]):
        for f in members:
            if bins[row, f] != default_bin[f]:
                codes[row] = code_of[f, int(bins[row, f])]
    return codes, {code: meaning for meaning, code in code_of.items()}
