import json
from dataclasses import replace

import pytest

from benchmarks.compare import (
    CASES,
    QUICK,
    Comparison,
    Plan,
    Target,
    encode,
    main,
    parse_arguments,
    plan_run,
    select_cases,
    tabulate_details,
    tabulate_summary,
)
from benchmarks.measure import Measurement, measure_memory
from benchmarks.report import format_aligned
from benchmarks.rivals import SUMWISE, map_settings

OURS = Measurement("sumwise", [1.0, 3.0, 2.0], {"AUC": 0.78, "log loss": 0.5}, warm_up_s=7.0)
FAST = Measurement("fast", [4.0, 5.0, 99.0], {"AUC": 0.77, "log loss": 0.6})
SLOW = Measurement("slow", [8.0, 8.0, 8.0], {"AUC": 0.79, "log loss": 0.4})
COMPARISON = Comparison(CASES[0], CASES[0].settings, "10 x 2", [SLOW, OURS, FAST])


def test_ratio_is_of_medians_to_the_best_rival() -> None:
    assert COMPARISON.best_rival is FAST
    assert COMPARISON.ratio == pytest.approx(2.0 / 5.0)


@pytest.mark.parametrize(
    ("value", "verdict"), [(0.3, "goal"), (0.31, "reached"), (0.45, "reached"), (0.46, "not yet")]
)
def test_target(value: float, verdict: str) -> None:
    assert Target(0.45, 0.3).judge(value) == verdict


def test_a_target_in_seconds_judges_ours_alone() -> None:
    case = replace(CASES[0], target=Target(1.5, 0.8, in_seconds=True))
    assert replace(COMPARISON, case=case).verdict == "not yet"
    assert COMPARISON.verdict == "reached"


def test_summary() -> None:
    table = tabulate_summary([COMPARISON])
    assert table.rows == [
        (
            "train dense, 31 leaves",
            "2.00 s",
            "5.00 s",
            "fast",
            "0.400",
            "<= 0.45",
            "<= 0.3",
            "reached",
            "AUC 0.7800",
            "AUC 0.7700",
        )
    ]
    assert "0.400" in format_aligned(table)


def test_details_rank_the_models() -> None:
    table = tabulate_details(COMPARISON)
    assert [row[0] for row in table.rows] == ["sumwise", "fast", "slow"]
    assert table.rows[0][-1] == "7.00 s"
    assert table.rows[1][1:] == (
        "5.00 s",
        "4.00 s",
        "99.0 s",
        "0.400",
        "AUC 0.7700, log loss 0.6000",
        "",
    )


def test_memory_is_told_in_megabytes() -> None:
    case = replace(CASES[0], measure=measure_memory)
    table = tabulate_details(replace(COMPARISON, case=case))
    assert table.rows[0][1].endswith("MB")
    assert encode(replace(COMPARISON, case=case))["unit"] == "bytes"


def test_encoded_comparison_is_json() -> None:
    encoded = json.loads(json.dumps(encode(COMPARISON)))
    assert encoded["best_rival"] == "fast"
    assert encoded["ratio"] == pytest.approx(0.4)
    assert encoded["settings"]["max_bins"] == 255
    assert encoded["measurements"][1]["median"] == 2.0


def test_cases_are_well_formed() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    for case in CASES:
        models = (SUMWISE, *case.rivals)
        assert len({model.name for model in models}) == len(models) > 1
        assert case.target.goal < case.target.reach_first
        for model in models:
            assert map_settings(model, case.settings)


def test_selection_by_parts_of_names() -> None:
    assert [case.name for case in select_cases(["1k", "cold"])] == ["train-1k", "first-fit-cold"]
    assert select_cases([""]) == list(CASES)


def test_sizes() -> None:
    assert plan_run(parse_arguments([])) == Plan()
    assert plan_run(parse_arguments(["--quick"])) == QUICK
    assert plan_run(parse_arguments(["--rows", "50", "--repeat", "9"])) == Plan(50, 100, 9)


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--list", "--only", "predict-one"])
    assert capsys.readouterr().out.split() == ["predict-one-leaf", "predict-one-symmetric"]
