"""Output codes: classification into many classes by two-class learners.

A code book has one row per class and one column per learner. A learner separates the classes with 1
from those with -1; classes with 0 are left out. The margins of a row, one per learner and positive
for the side of 1, are decoded into the class whose code fits best (Allwein, Schapire and Singer
2000).
"""

import numpy as np

from sumwise.errors import DataError

# 2^(K-1) - 1 columns: 1,023 for 11 classes.
MOST_EXHAUSTIVE_CLASSES = 11
_N_DRAWS = 200

# The probabilities of a row have converged if none changes by more than this.
_TOLERANCE = 1e-7
_MOST_STEPS = 1000

LOSSES = ("logistic", "exponential", "hinge", "squared", "linear")


def count_columns(n_classes: int) -> int:
    """Return the number of ways to split the classes into two sides."""
    return 2 ** (n_classes - 1) - 1


def make_exhaustive_code(n_classes: int) -> np.ndarray:
    """Return all ways to split the classes into two sides (Dietterich and Bakiri 1995).

    Examples
    --------
    >>> from sumwise.combine.output_codes import make_exhaustive_code
    >>> make_exhaustive_code(3)
    array([[ 1,  1,  1],
           [-1,  1, -1],
           [ 1, -1, -1]], dtype=int8)
    """
    if n_classes > MOST_EXHAUSTIVE_CLASSES:
        raise DataError(
            f"an exhaustive code of {n_classes} classes would have {count_columns(n_classes)} "
            f"columns; it is for at most {MOST_EXHAUSTIVE_CLASSES} classes: use a random code"
        )
    return _decode_columns(np.arange(count_columns(n_classes)), n_classes)


def _decode_columns(numbers: np.ndarray, n_classes: int) -> np.ndarray:
    """Turn numbers below 2^(K-1) - 1 into columns that have the first class on the side of 1."""
    others = np.arange(n_classes - 1)[:, np.newaxis]
    bits = (numbers[np.newaxis, :] >> others) & 1
    # All ones would put every class on one side.
    return np.vstack([np.ones(numbers.size, dtype=np.int64), 2 * bits - 1]).astype(np.int8)


def make_random_code(n_classes: int, n_columns: int, draws: np.random.RandomState) -> np.ndarray:
    """Return the best of many random codes: the one whose two closest classes differ most.

    No column is constant, and no two columns split the classes in the same way.
    """
    best, best_distance = None, -1
    n_ways = count_columns(n_classes)
    for _ in range(_N_DRAWS):
        if n_classes <= 20:
            numbers = _choose_without_replacement(n_ways, n_columns, draws)
            code = _decode_columns(numbers, n_classes)
        else:  # so many columns that none is likely to repeat
            code = 2 * draws.randint(2, size=(n_classes, n_columns)).astype(np.int8) - 1
        distance = measure_row_distance(code)
        if distance > best_distance:
            best, best_distance = code, distance
    assert best is not None
    return best


def _choose_without_replacement(n: int, n_chosen: int, draws: np.random.RandomState) -> np.ndarray:
    if n_chosen * 3 > n:
        return draws.permutation(n)[:n_chosen]
    chosen: set[int] = set()
    while len(chosen) < n_chosen:
        chosen.add(int(draws.randint(n)))
    return np.array(sorted(chosen))


def measure_row_distance(code: np.ndarray) -> int:
    """Return the smallest number of columns in which two classes are on different sides."""
    products = code.astype(np.int64) @ code.T.astype(np.int64)
    used = (code != 0).astype(np.int64)
    differ = (used @ used.T - products) // 2
    return int(differ[np.triu_indices(len(code), 1)].min())


def make_tree_code(similarity: np.ndarray) -> np.ndarray:
    """Return a code that splits the classes recursively, least similar classes first.

    There is one column per inner node of a tree of classes. A node splits its classes where the cut
    through their similarities is cheapest, by the second eigenvector of the normalized Laplacian
    (after Pujol, Radeva and Vitria 2006, who split by mutual information, and Zhang, Liang and Shi
    2009, who use this eigenvector).

    ``similarity``, (n_classes, n_classes), is symmetric and not negative, such as how often two
    classes are confused. The code has n_classes - 1 columns.
    """
    n_classes = len(similarity)
    columns = []
    waiting = [np.arange(n_classes)]
    while waiting:
        classes = waiting.pop(0)
        if classes.size < 2:
            continue
        on_left = _cut(similarity[np.ix_(classes, classes)])
        column = np.zeros(n_classes, dtype=np.int8)
        column[classes] = np.where(on_left, 1, -1)
        columns.append(column)
        waiting += [classes[on_left], classes[~on_left]]
    return np.column_stack(columns)


def _cut(similarity: np.ndarray) -> np.ndarray:
    """Split classes into two dissimilar sides; neither is empty."""
    n = len(similarity)
    # A small similarity of all pairs keeps the graph connected and avoids 0 / 0.
    alike = similarity + max(1e-6, 1e-3 * float(similarity.max()))
    np.fill_diagonal(alike, 0.0)
    root = np.sqrt(alike.sum(axis=1))
    laplacian = np.eye(n) - alike / np.outer(root, root)
    vector = np.linalg.eigh(laplacian)[1][:, 1] / root
    order = np.argsort(vector, kind="stable")
    # The cheapest of all cuts along the eigenvector, relative to the total of each side.
    costs = []
    for size in range(1, n):
        left, right = order[:size], order[size:]
        cost = alike[np.ix_(left, right)].sum()
        costs.append(cost / (root[left] ** 2).sum() + cost / (root[right] ** 2).sum())
    on_left = np.zeros(n, dtype=bool)
    on_left[order[: int(np.argmin(costs)) + 1]] = True
    return on_left if on_left[0] else ~on_left


def measure_hamming(code: np.ndarray, margins: np.ndarray) -> np.ndarray:
    """Return the number of learners that contradict each class; learners without it count 1/2.

    ``margins`` has the shape (n_rows, n_columns), the result (n_rows, n_classes).
    """
    signs = np.where(margins > 0.0, 1.0, -1.0)
    return 0.5 * (code.shape[1] - signs @ code.T.astype(np.float64))


def measure_loss(code: np.ndarray, margins: np.ndarray, loss: str) -> np.ndarray:
    """Return the loss of the margins, one of ``LOSSES``, for each class, summed over the learners.

    ``margins`` has the shape (n_rows, n_columns), the result (n_rows, n_classes).
    """
    result = np.zeros((margins.shape[0], code.shape[0]))
    for column, margin in zip(code.T, margins.T, strict=True):
        result += _find_loss(margin[:, np.newaxis] * column, loss)
    return result


def _find_loss(z: np.ndarray, loss: str) -> np.ndarray:
    if loss == "logistic":
        return np.logaddexp(0.0, -z)
    if loss == "exponential":
        return np.exp(np.minimum(-z, 700.0))
    if loss == "hinge":
        return np.maximum(0.0, 1.0 - z)
    return (1.0 - z) ** 2 if loss == "squared" else -z


def couple_probabilities(code: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """Return the class probabilities that fit the learners' probabilities of sides best.

    If q are the class probabilities, a learner's side of 1 has probability r: the sum of q over the
    classes with 1, divided by the sum over the classes of both sides. The result maximizes the
    likelihood of the learners' probabilities: it minimizes the sum over learners of the
    Kullback-Leibler divergence of r from ``sides``. If some q explain all learners exactly, these
    are the result. This is the generalized Bradley-Terry model of Huang, Weng and Lin (2006),
    solved by their Algorithm 2.

    ``sides`` holds the probabilities of the side of 1, (n_rows, n_columns); the result has the
    shape (n_rows, n_classes).

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.combine.output_codes import couple_probabilities, make_exhaustive_code
    >>> code, q = make_exhaustive_code(3), np.array([[0.5, 0.2, 0.3]])
    >>> couple_probabilities(code, q @ (code == 1)).round(3)
    array([[0.5, 0.2, 0.3]])
    """
    n_rows, n_classes = sides.shape[0], code.shape[0]
    of_one, of_other = (code == 1).astype(np.float64), (code == -1).astype(np.float64)
    result = np.full((n_rows, n_classes), 1.0 / n_classes)
    active = np.arange(n_rows)  # each row stops on its own, so results do not depend on other rows
    for _ in range(_MOST_STEPS if code.shape[1] else 0):
        before, said = result[active], sides[active]
        after = _couple_once(before, said, of_one, of_other)
        result[active] = after
        active = active[np.abs(after - before).max(axis=1) > _TOLERANCE]
        if active.size == 0:
            break
    return result


def _couple_once(
    q: np.ndarray, sides: np.ndarray, of_one: np.ndarray, of_other: np.ndarray
) -> np.ndarray:
    """Multiply each probability by the ratio of the learners' probabilities to those of q."""
    tiny = np.finfo(np.float64).tiny
    one, other = np.maximum(q @ of_one, tiny), np.maximum(q @ of_other, tiny)
    # The ratio of a side without probability must not overflow.
    said = np.minimum(sides / one, 1e100) @ of_one.T
    said += np.minimum((1.0 - sides) / other, 1e100) @ of_other.T
    q = q * said / ((1.0 / (one + other)) @ (of_one + of_other).T)
    return q / q.sum(axis=1, keepdims=True)
