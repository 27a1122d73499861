from benchmarks.measure import Measurement, alternate, collect, time_call
from benchmarks.rivals import LIGHTGBM, SUMWISE


def test_median_ignores_an_outlier() -> None:
    assert Measurement("any", [1.0, 9.0, 2.0]).median == 2.0
    assert Measurement("any", [1.0, 2.0]).median == 1.5


def test_models_alternate_forwards_and_backwards() -> None:
    order: list[str] = []

    def run(name: str) -> float:
        order.append(name)
        return float(len(order))

    values = alternate(run, ["a", "b", "c"], 3)
    assert "".join(order) == "abccbaabc"
    assert values == {"a": [1.0, 6.0, 7.0], "b": [2.0, 5.0, 8.0], "c": [3.0, 4.0, 9.0]}


def test_time_call_passes_arguments() -> None:
    calls: list[tuple[int, int]] = []
    seconds = time_call(lambda a, b: calls.append((a, b)), 1, 2)
    assert calls == [(1, 2)]
    assert 0.0 <= seconds < 1.0


def test_only_our_warm_up_is_kept() -> None:
    values = {SUMWISE.name: [1.0], LIGHTGBM.name: [2.0]}
    metrics = {SUMWISE.name: {"AUC": 0.8}, LIGHTGBM.name: {"AUC": 0.7}}
    warm_ups = {SUMWISE.name: [6.0], LIGHTGBM.name: [0.1]}
    assert collect(values, metrics, warm_ups) == [
        Measurement(SUMWISE.name, [1.0], {"AUC": 0.8}, 6.0),
        Measurement(LIGHTGBM.name, [2.0], {"AUC": 0.7}, None),
    ]
    assert collect(values)[0] == Measurement(SUMWISE.name, [1.0])
