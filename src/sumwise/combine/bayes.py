"""Bayesian model averaging: posterior weights of models from their likelihoods."""

import numpy as np

# Smaller probabilities count as this: a single row must not rule a model out.
SMALLEST_PROBABILITY = 1e-15

# Values of the Bayesian bootstrap that are held in memory at once.
_BLOCK = 1 << 22


def score_gaussian(
    errors: np.ndarray,
    variance: float,
    sample_weight: np.ndarray | None = None,
    exponent: int = 0,
) -> np.ndarray:
    """Return the log density of each error under a normal distribution, times its weight.

    Errors are in units of 2**exponent, the variance in units of 4**exponent.
    """
    scores = -0.5 * (np.log(2.0 * np.pi * variance) + errors**2 / variance)
    if exponent:  # the density per unit of the target
        scores = scores - exponent * np.log(2.0)
    return scores if sample_weight is None else scores * sample_weight


def score_classes(
    probabilities: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None
) -> np.ndarray:
    """Return the log of the probability of each row's class ``y``, times the row's weight.

    ``probabilities`` has shape (n_rows, n_classes).
    """
    of_class = probabilities[np.arange(y.size), y]
    scores = np.log(np.maximum(of_class, SMALLEST_PROBABILITY))
    return scores if sample_weight is None else scores * sample_weight


def estimate_variance(errors: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    """Return the mean squared error, the maximum likelihood estimate of the variance, never 0."""
    return max(float(np.average(errors**2, weights=sample_weight)), np.finfo(np.float64).tiny)


def compute_bic(log_likelihoods: np.ndarray, n_parameters: np.ndarray, n_rows: float) -> np.ndarray:
    """Return the Bayesian information criterion of each model, k ln n - 2 ln L."""
    return n_parameters * np.log(n_rows) - 2.0 * log_likelihoods


def weigh_by_evidence(log_evidence: np.ndarray, prior: np.ndarray | None = None) -> np.ndarray:
    """Return weights proportional to prior times exp(log evidence), over the last axis.

    If the log evidence is -BIC / 2, these are the posterior probabilities of the models (Schwarz's
    approximation). If it is the sum of out-of-fold log scores, they are the pseudo-BMA weights.
    """
    logs = log_evidence
    if prior is not None:
        with np.errstate(divide="ignore"):
            logs = log_evidence + np.log(prior)
    powers = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def weigh_by_bootstrap(
    log_scores: np.ndarray, n_draws: int, seed: int, prior: np.ndarray | None = None
) -> np.ndarray:
    """Return pseudo-BMA+ weights: pseudo-BMA weights, averaged over the Bayesian bootstrap.

    Each draw gives the rows Dirichlet weights (Yao, Vehtari, Simpson and Gelman, 2018), so that a
    model that is ahead by chance on a few rows does not get all the weight.

    ``log_scores`` are the out-of-fold log scores of each row, (n_members, n_rows).
    """
    n_members, n_rows = log_scores.shape
    rng = np.random.default_rng(seed)
    total = np.zeros(n_members)
    n_left = n_draws
    while n_left > 0:
        n_block = min(n_left, max(1, _BLOCK // n_rows))
        shares = rng.standard_exponential((n_block, n_rows))
        shares *= n_rows / shares.sum(axis=1, keepdims=True)
        total += weigh_by_evidence(shares @ log_scores.T, prior).sum(axis=0)
        n_left -= n_block
    return total / n_draws
