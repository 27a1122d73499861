import argparse

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor

from sumwise import GradientBoostingRegressor
from sumwise.cli.models import MODELS, ModelFile, build_model, predict_columns, read_setting
from sumwise.cli.reading.table import Table
from sumwise.cli.usage import UsageError
from sumwise.errors import UnknownParameterError


@pytest.mark.parametrize("name", list(MODELS))
def test_every_model_can_be_built_for_both_tasks(name):
    assert is_classifier(build_model(MODELS[name], "classification", {}))
    model = build_model(MODELS[name], "regression", {"random_state": 3})
    assert is_regressor(model)
    assert model.random_state == 3


def test_parameters_replace_those_of_a_style():
    model = build_model(MODELS["xgboost"], "regression", {"max_depth": 2})
    assert (model.max_depth, model.learning_rate) == (2, 0.3)
    with pytest.raises(UnknownParameterError, match="did you mean"):
        build_model(MODELS["boosting"], "regression", {"learnig_rate": 1})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a=1", 1),
        ("a=0.5", 0.5),
        ("a=null", None),
        ("a=None", None),
        ("a=True", True),
        ("a=leaf", "leaf"),
        ('a=["x"]', ["x"]),
        ("a=b=c", "b=c"),
        ("a=", ""),
    ],
)
def test_settings_are_json_or_python_or_text(text, value):
    assert read_setting(text) == ("a", value)


@pytest.mark.parametrize("text", ["a", "=1", "1x=2"])
def test_bad_settings(text):
    with pytest.raises(argparse.ArgumentTypeError, match="expected name=value"):
        read_setting(text)


def test_columns_of_a_model(pets_model):
    file = ModelFile(pets_model)
    assert file.names == ["weight", "home"]
    assert file.find_texts("label") == {"home", "label"}
    columns = {
        "home": np.array(["flat"], object),
        "label": np.array([1]),
        "weight": np.array([3.0]),
    }
    table = Table(columns, "t.csv")
    assert file.list_features(table) == ["weight", "home"]
    assert file.list_extra(table) == ["label"]
    found = predict_columns(file, file.select(table))
    assert list(found) == ["prediction", "probability_cat", "probability_dog"]
    assert found["prediction"].tolist() == ["cat"]
    with pytest.raises(UsageError, match=r"t.csv lacks column 'weight', which the model .* needs"):
        file.list_features(Table({"home": columns["home"]}, "t.csv"))


def test_models_without_names_take_the_columns_in_order(tmp_path):
    path = tmp_path / "m.sumwise"
    X = np.arange(40.0).reshape(-1, 2)
    GradientBoostingRegressor(n_estimators=2, n_jobs=1).fit(X, X[:, 0]).save(path)
    file = ModelFile(str(path))
    table = Table({"a": X[:, 0], "y": X[:, 0], "b": X[:, 1]}, "t.csv")
    assert file.list_features(table, ["y"]) == ["a", "b"]
    with pytest.raises(UsageError, match=r"an array of 2 columns without names, and t.csv has 3"):
        file.list_features(table)


def test_absent_model_files(tmp_path):
    with pytest.raises(UsageError, match="there is no such file"):
        ModelFile(str(tmp_path / "m.sumwise"))
    with pytest.raises(UsageError, match="is a folder"):
        ModelFile(str(tmp_path))
