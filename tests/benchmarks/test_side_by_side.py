import pytest

from benchmarks.side_by_side import Fits, compare_fits, make_tree_parser


class Recorder:
    """A model that records its fits."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name, self.log, self.n_estimators = name, log, 100

    def set_params(self, n_estimators: int) -> "Recorder":
        self.n_estimators = n_estimators
        return self

    def fit(self, X, y) -> "Recorder":
        self.log.append(f"{self.name}{self.n_estimators}")
        return self


def test_models_take_turns_after_a_warm_up() -> None:
    log: list[str] = []
    makers = {name: lambda name=name: Recorder(name, log) for name in "ab"}
    fits = compare_fits(makers, None, None, lambda model: ord(model.name), 2)
    assert log == ["a2", "b2", "a100", "b100", "b100", "a100"]
    assert fits.scores == {"a": 97, "b": 98}
    assert set(fits.seconds) == {"a", "b"}


def test_a_pair_in_one_line() -> None:
    fits = Fits({"sumwise": 0.5, "scikit-learn": 2.0}, {"sumwise": 0.9, "scikit-learn": 0.8})
    line = fits.describe("AUC")
    assert line == "ours 500 ms, scikit-learn 2.00 s, ratio 0.250, AUC 0.9000, 0.8000"


@pytest.mark.parametrize(("arguments", "n_trees"), [([], 50), (["--trees", "7"], 7)])
def test_the_number_of_trees(arguments: list[str], n_trees: int) -> None:
    assert make_tree_parser("wide", None, 50).parse_args(arguments).trees == n_trees
