import numpy as np
import pytest

from sumwise.cli.comparing import rows
from sumwise.cli.comparing.contenders import Contender
from sumwise.cli.comparing.scores import METRICS
from sumwise.cli.comparing.validation import Decomposition, Result

ACCURACY, RMSE = METRICS["classification"]["accuracy"], METRICS["regression"]["rmse"]


def make(name, *scores, parts=()):
    filled = ([1.0, 2.0], [0.001, 0.003], [99, 101], list(parts))
    return Result(Contender(name, "x", None), 10, list(scores), *filled)


def test_cells_of_a_contender():
    result = make("some", 0.5, 0.7, parts=[Decomposition(1, 4, 3), Decomposition(2, 4, 2)])
    cells = rows.format_result(result, 2)
    # t(1) = 12.706; sd = 0.1414; sqrt(1/2 + 1/1) = 1.2247
    assert cells == ("some", "0.6000 ± 2.2008", "1.500", "2.0", "100", "62 %")
    assert rows.format_result(result, 5)[1] == "0.6000 (2/5)"
    assert rows.format_decompositions([result]) == [("some", "1.5", "4", "2.5", "0")]


def test_contenders_that_wait_or_failed():
    assert rows.format_result(Result(Contender("a", "x", None), 10), 5) == ("a", *[""] * 5)
    failed = make("a", 0.5)
    failed.failure = "ValueError: x"
    assert rows.format_result(failed, 5)[1] == "failed"
    assert rows.format_interval([np.nan, np.nan]) == "no probabilities"


def test_the_best_come_first_and_failures_last():
    failed = make("failed", 0.99)
    failed.failure = "x"
    results = [failed, make("low", 0.1), make("none", np.nan), make("high", 0.9)]
    assert [each.name for each in rows.sort_results(results, ACCURACY)][:2] == ["high", "low"]
    assert [each.name for each in rows.sort_results(results, RMSE)][:2] == ["low", "high"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.12345, "0.1235"), (-0.5, "-0.5000"), (54.321, "54.32"), (12345.6, "12,346")],
)
def test_scores_have_four_digits(value, text):
    assert rows.format_score(value) == text
