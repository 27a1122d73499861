"""How different the members of an ensemble are, and what that gains: functions of arrays."""

from sumwise.diversity.decomposition import (
    Ambiguity,
    BiasVarianceCovariance,
    VoteDiversity,
    ambiguity_decomposition,
    bias_variance_covariance,
    log_loss_decomposition,
    vote_decomposition,
)
from sumwise.diversity.group import (
    difficulty,
    entropy,
    interrater_kappa,
    kohavi_wolpert_variance,
)
from sumwise.diversity.pairwise import (
    KappaErrorPoints,
    PairwiseMatrix,
    contingency_table,
    correlation,
    disagreement,
    double_fault,
    kappa,
    kappa_error_points,
    pairwise_matrix,
    q_statistic,
)

__all__ = [
    "Ambiguity",
    "BiasVarianceCovariance",
    "KappaErrorPoints",
    "PairwiseMatrix",
    "VoteDiversity",
    "ambiguity_decomposition",
    "bias_variance_covariance",
    "contingency_table",
    "correlation",
    "difficulty",
    "disagreement",
    "double_fault",
    "entropy",
    "interrater_kappa",
    "kappa",
    "kappa_error_points",
    "kohavi_wolpert_variance",
    "log_loss_decomposition",
    "pairwise_matrix",
    "q_statistic",
    "vote_decomposition",
]
