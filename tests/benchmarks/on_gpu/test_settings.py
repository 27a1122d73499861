import numpy as np
import pytest

from benchmarks.on_gpu.settings import (
    CONSTRAINTS,
    GROWTHS,
    LIMITS,
    LOSSES,
    N_FEATURES,
    SAMPLERS,
    SETTINGS,
    dump,
    fit,
    regress,
)
from benchmarks.on_gpu.tables import make_table
from sumwise import load


def test_there_are_many_settings() -> None:
    assert len(SETTINGS) >= 100
    assert not set(SETTINGS) & set(LIMITS)
    assert {setting.table for setting in SETTINGS.values()} == set(N_FEATURES)


@pytest.mark.parametrize("table", N_FEATURES)
def test_tables_have_the_features_that_constraints_count(table: str) -> None:
    assert make_table(table, 10)[0].shape[1] == N_FEATURES[table]


def test_growths_meet_losses_samplers_and_constraints() -> None:
    names = [name.split("-") for name in SETTINGS if name.count("-") == 4]
    for growth in GROWTHS:
        own = [name for name in names if name[0] == growth]
        assert {name[1] for name in own} == set(LOSSES)
        assert {name[3] for name in own} == set(SAMPLERS)
        assert {name[4] for name in own} == set(CONSTRAINTS)


def test_a_continued_model_is_that_of_one_fit() -> None:
    model = fit(SETTINGS["continued"], 300, 4, "cpu")
    assert dump(model) == dump(fit(regress(), 300, 4, "cpu"))


def test_validation_rows_are_other_rows() -> None:
    model = fit(SETTINGS["stop-validation"], 300, 2, "cpu")
    assert "validation_loss" in model.history_
    assert model.n_estimators == 12


def test_models_with_a_custom_loss_are_dumped_without_it() -> None:
    model = fit(SETTINGS["custom"], 300, 2, "cpu")
    X, _ = make_table("numbers", 300)
    assert np.array_equal(load(dump(model)).predict(X), model.predict(X))
    assert model.loss != "auto"


def test_further_parameters_are_passed_on() -> None:
    assert fit(regress(), 300, 1, "cpu", max_leaves=3).get_params()["max_leaves"] == 3
