"""CatBoost's learning rate for a number of rows and rounds, if none is given.

Its logarithm is linear in the logarithms of both, up to 0.5. The coefficients were found by fitting
CatBoost to tables of 200 to 100,000 rows in 60 to 1,000 rounds, and reading its ``learning_rate_``.
"""

import math

DEFAULT = 0.03
_MOST = 0.5
# By loss, whether the best round is kept, and whether the model starts from the average: the
# constant, and the factors of the logarithms of rows and rounds.
_COEFFICIENTS = {
    ("Logloss", False, False): (-1.19059, 0.427, -0.917),
    ("Logloss", True, False): (-2.15313, 0.247, -0.435),
    ("Logloss", False, True): (-0.88861, 0.408, -0.928),
    ("Logloss", True, True): (-2.01162, 0.246, -0.451),
    ("MultiClass", False, False): (2.94806, 0.051, -0.845),
    ("MultiClass", True, False): (0.27477, 0.02, -0.382),
    ("RMSE", False, True): (1.32900, 0.158, -0.813),
    ("RMSE", True, True): (0.15173, 0.157, -0.61),
    ("RMSE", False, False): (0.7769, 0.178, -0.76),
    ("RMSE", True, False): (-0.07947, 0.189, -0.623),
}


def find_rate(loss: str, n_rows: int, n_rounds: int, keeps_best: bool, from_average: bool) -> float:
    """Return CatBoost's learning rate; 0.03 for other losses.

    Parameters
    ----------
    loss : str
        CatBoost's name of the loss.
    n_rows, n_rounds : int
    keeps_best : bool
        Whether the model ends with its best round on validation rows.
    from_average : bool
        Whether the model starts from the average.
    """
    known = _COEFFICIENTS.get((loss, keeps_best, from_average))
    if known is None or n_rows == 0:
        return DEFAULT
    constant, by_rows, by_rounds = known
    rate = math.exp(constant + by_rows * math.log(n_rows) + by_rounds * math.log(n_rounds))
    return round(min(rate, _MOST), 6)
