import pytest

from benchmarks.rivals import (
    CATBOOST,
    LIBRARIES,
    LIGHTGBM,
    LIGHTGBM_QUANTIZED,
    SCIKIT_LEARN,
    SUMWISE,
    XGBOOST,
    Model,
    Settings,
    build,
    map_settings,
    with_one_thread,
)

SETTINGS = Settings(
    n_trees=7, learning_rate=0.3, max_bins=63, l2=2.5, min_rows=9, min_hessian=0.5, n_jobs=4
)

# The names of trees, bins, l2, minimum rows, minimum hessian and threads in each library.
NAMES = {
    SUMWISE.library: "n_estimators max_bins l2 min_samples_leaf min_child_weight n_jobs",
    LIGHTGBM.library: "n_estimators max_bin reg_lambda min_child_samples min_child_weight n_jobs",
    XGBOOST.library: "n_estimators max_bin reg_lambda - min_child_weight n_jobs",
    CATBOOST.library: "n_estimators - l2_leaf_reg min_data_in_leaf - thread_count",
    SCIKIT_LEARN.library: "max_iter max_bins l2_regularization min_samples_leaf - -",
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_gets_the_same_settings(library: str) -> None:
    parameters = map_settings(Model("any", library), SETTINGS)
    assert parameters["learning_rate"] == 0.3
    for name, value in zip(NAMES[library].split(), (7, 63, 2.5, 9, 0.5, 4), strict=True):
        if name != "-":
            assert parameters[name] == value


def test_catboost_counts_borders() -> None:
    assert map_settings(CATBOOST, SETTINGS)["border_count"] == 62


def test_catboost_starts_from_the_average_where_it_can() -> None:
    assert map_settings(CATBOOST, Settings(task="binary"))["boost_from_average"]
    assert "boost_from_average" not in map_settings(CATBOOST, Settings(task="multiclass"))


def test_leaves_limit_leaf_wise_trees_only() -> None:
    assert map_settings(SUMWISE, Settings(growth="leaf", max_leaves=15))["max_leaves"] == 15
    assert "max_leaves" not in map_settings(SUMWISE, Settings(growth="depth"))
    assert map_settings(XGBOOST, Settings(growth="leaf"))["max_depth"] == 0
    assert map_settings(LIGHTGBM, Settings(growth="leaf"))["max_depth"] == -1


def test_depth_leaves_room_for_full_trees() -> None:
    parameters = map_settings(LIGHTGBM, Settings(growth="depth", max_depth=5))
    assert (parameters["num_leaves"], parameters["max_depth"]) == (32, 5)
    assert map_settings(SCIKIT_LEARN, Settings(growth="depth"))["max_leaf_nodes"] is None


@pytest.mark.parametrize("model", [LIGHTGBM, XGBOOST, SCIKIT_LEARN])
def test_a_growth_the_library_lacks_is_refused(model: Model) -> None:
    with pytest.raises(KeyError, match="symmetric"):
        map_settings(model, Settings(growth="symmetric"))


def test_options_override() -> None:
    assert map_settings(LIGHTGBM_QUANTIZED, SETTINGS)["use_quantized_grad"]
    assert map_settings(Model("", "lightgbm", {"max_bin": 15}), SETTINGS)["max_bin"] == 15


@pytest.mark.parametrize(("model", "name"), [(LIGHTGBM, "n_jobs"), (CATBOOST, "thread_count")])
def test_one_thread(model: Model, name: str) -> None:
    single = with_one_thread(model)
    assert single.name == f"{model.name}, 1 thread"
    assert map_settings(single, SETTINGS)[name] == 1


def test_the_task_chooses_the_estimator() -> None:
    classifier = build(SCIKIT_LEARN, SETTINGS)
    regressor = build(SCIKIT_LEARN, Settings(task="regression"))
    assert type(classifier).__name__ == "HistGradientBoostingClassifier"
    assert type(regressor).__name__ == "HistGradientBoostingRegressor"
    assert classifier.get_params()["max_iter"] == 7


def test_ordered_statistics_and_ordered_boosting() -> None:
    plain = Settings(growth="symmetric", categories=("a", "b"))
    assert map_settings(SUMWISE, plain)["categorical_encoding"] == "ordered"
    assert map_settings(SUMWISE, plain)["booster"] == "plain"
    assert map_settings(CATBOOST, plain)["cat_features"] == ["a", "b"]
    assert map_settings(CATBOOST, plain)["boosting_type"] == "Plain"
    ordered = Settings(growth="symmetric", boosting="ordered")
    assert map_settings(SUMWISE, ordered)["booster"] == "ordered"
    assert map_settings(CATBOOST, ordered)["boosting_type"] == "Ordered"
    assert "cat_features" not in map_settings(CATBOOST, ordered)
