"""Models of CatBoost: the same leaves for every row, and the same predictions."""

import io
import json
from functools import cache

import numpy as np
import pandas as pd
import pytest

import sumwise
from sumwise.errors import ModelFileError
from sumwise.export.portable import describe
from tests.estimators.imported.hard_rows import draw_rows
from tests.estimators.imported.mutations import (
    check_refused_or_sound,
    mutate_bytes,
    mutate_json,
)
from tests.naive.portable import predict_row

catboost = pytest.importorskip("catboost")
N_FEATURES = 4
SMALL = {
    "iterations": 4,
    "depth": 3,
    "verbose": 0,
    "thread_count": 1,
    "allow_writing_files": False,
    "learning_rate": 0.3,
}


@cache
def make_data():
    """Rows with missing values in one feature, and targets of all kinds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, N_FEATURES))
    X[rng.random(200) < 0.1, 0] = np.nan
    score = np.nan_to_num(X[:, 0]) + X[:, 1] * X[:, 2]
    return X, {
        "number": score,
        "positive": np.exp(score / 3),
        "share": 1 / (1 + np.exp(-score)),
        "two": np.where(score > 0, "yes", "no"),
        "three": np.digitize(score, [-0.5, 0.5]),
        "targets": np.column_stack([score, -score]),
        "labels": np.column_stack([score > 0, X[:, 1] > 0]).astype(int),
    }


def train(target, **params):
    X, targets = make_data()
    loss = params.get("loss_function", "RMSE")
    is_class = loss.startswith(("Log", "Cross", "Multi")) and target in (
        "two",
        "three",
        "share",
        "labels",
    )
    kind = catboost.CatBoostClassifier if is_class else catboost.CatBoostRegressor
    return kind(**SMALL | params).fit(X, targets[target])


def to_json(model, pool=None, folder=None):
    path = str(folder / "model.json")
    model.save_model(path, format="json", pool=pool)
    with open(path) as file:
        return json.load(file)


def list_borders(model):
    return np.concatenate([np.array(own) for own in model.get_borders().values()])


def predict(model, X):
    has_classes = len(getattr(model, "classes_", ())) > 0
    return model.predict_proba(X) if has_classes else model.predict(X)


CASES = [
    ("number", {"loss_function": "RMSE"}, "squared_error"),
    ("number", {"loss_function": "MAE"}, "absolute_error"),
    ("number", {"loss_function": "Quantile:alpha=0.3"}, sumwise.Quantile(0.3)),
    ("number", {"loss_function": "Huber:delta=0.5"}, sumwise.Huber(delta=0.5)),
    ("number", {"loss_function": "Expectile:alpha=0.3"}, None),
    ("number", {"loss_function": "LogCosh"}, "log_cosh"),
    ("positive", {"loss_function": "MAPE"}, "mape"),
    ("positive", {"loss_function": "Poisson"}, "poisson"),
    ("positive", {"loss_function": "Tweedie:variance_power=1.4"}, sumwise.Tweedie(1.4)),
    ("targets", {"loss_function": "MultiRMSE"}, "squared_error"),
    ("number", {"loss_function": "MultiQuantile:alpha=0.2,0.8"}, None),
    ("number", {"nan_mode": "Max"}, "squared_error"),
    ("number", {"grow_policy": "Depthwise"}, "squared_error"),
    ("number", {"grow_policy": "Lossguide", "max_leaves": 6}, "squared_error"),
    ("two", {"loss_function": "Logloss"}, "log_loss"),
    ("share", {"loss_function": "CrossEntropy"}, "log_loss"),
    ("three", {"loss_function": "MultiClass"}, "log_loss"),
    ("three", {"loss_function": "MultiClass", "grow_policy": "Lossguide"}, "log_loss"),
    ("two", {"loss_function": "MultiClass"}, "log_loss"),
    ("three", {"loss_function": "MultiClassOneVsAll"}, None),
]


@pytest.mark.parametrize(("target", "params", "loss"), CASES)
def test_predictions_and_leaves_are_those_of_the_origin(target, params, loss):
    theirs = train(target, **params)
    ours = sumwise.from_catboost(theirs)
    if loss is None:
        assert type(ours).__name__.startswith("Imported")
    else:
        assert repr(ours.loss) == repr(loss)
    rows = draw_rows(list_borders(theirs), N_FEATURES)
    expected = predict(theirs, rows)
    np.testing.assert_allclose(predict(ours, rows), expected, rtol=1e-12, atol=1e-14)
    if hasattr(ours, "classes_"):
        np.testing.assert_array_equal(ours.predict(rows), np.ravel(theirs.predict(rows)))
    leaves = theirs.calc_leaf_indexes(rows)
    n_copies = ours.ensemble_.n_trees // leaves.shape[1]
    for a, b in zip(ours.apply(rows).T[::n_copies], leaves.T, strict=True):
        assert len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))
    file = io.BytesIO()
    ours.save(file)
    again = sumwise.load(file.getvalue())
    np.testing.assert_array_equal(predict(again, rows), predict(ours, rows))
    found = np.array([predict_row(describe(ours), row) for row in rows[:10].tolist()])
    np.testing.assert_allclose(np.squeeze(found), predict(ours, rows[:10]), rtol=1e-12)
    assert ours.feature_importances_.sum() == pytest.approx(1.0)


def test_several_labels():
    theirs = train("labels", loss_function="MultiLogloss")
    X, _ = make_data()
    found = sumwise.from_catboost(theirs).predict(X)
    np.testing.assert_allclose(found, theirs.predict_proba(X), rtol=1e-12)


def test_every_source(tmp_path):
    X, _ = make_data()
    theirs = train("two", loss_function="Logloss")
    path = tmp_path / "model.json"
    theirs.save_model(str(path), format="json")
    content = path.read_bytes()
    expected = theirs.predict_proba(X)
    for source in (
        theirs,
        path,
        str(path),
        content,
        content.decode(),
        io.BytesIO(content),
        json.loads(content),
    ):
        ours = sumwise.from_catboost(source)
        np.testing.assert_allclose(ours.predict_proba(X), expected, rtol=1e-12)
    assert ours.classes_.tolist() == ["no", "yes"]
    assert (ours.learning_rate, ours.max_depth, ours.growth) == (0.3, 3, "symmetric")


def make_table():
    rng = np.random.default_rng(0)
    color = np.array(["red", "green", "blue", "black"])[rng.integers(0, 4, 300)]
    shop = rng.integers(-2, 5, 300)
    table = pd.DataFrame({"a": rng.normal(size=300), "color": color, "shop": shop})
    return table, table["a"] + 2 * (color == "red") + (color == "black") + table["shop"] % 3


@pytest.mark.parametrize("policy", ["SymmetricTree", "Lossguide"])
def test_one_hot_categories(policy):
    table, y = make_table()
    pool = catboost.Pool(table, y, cat_features=["color", "shop"])
    theirs = catboost.CatBoostRegressor(**SMALL, one_hot_max_size=10, grow_policy=policy)
    theirs.fit(pool)
    ours = sumwise.from_catboost(theirs, pool)
    rows = table.copy()
    rows.loc[::5, "color"] = "purple"
    rows.loc[::7, "shop"] = 77
    np.testing.assert_allclose(ours.predict(rows), theirs.predict(rows), rtol=1e-12)
    assert ours.ensemble_.set_node.size > 2
    assert ours.feature_names_in_.tolist() == ["a", "color", "shop"]
    with pytest.raises(ModelFileError, match="only hashes are known: pass pool"):
        sumwise.from_catboost(theirs)


def test_boosting_can_be_continued():
    X, targets = make_data()
    ours = sumwise.from_catboost(train("number"))
    longer = sumwise.GradientBoostingRegressor(n_estimators=6, early_stopping=False)
    longer.fit(X, targets["number"], init_model=ours)
    stages = list(longer.staged_predict(X))
    np.testing.assert_array_equal(stages[3], ours.predict(X))
    assert len(stages) == 6


def test_what_cannot_be_imported():
    table, y = make_table()
    pool = catboost.Pool(table, y, cat_features=["color", "shop"])
    theirs = catboost.CatBoostRegressor(**SMALL, one_hot_max_size=0).fit(pool)
    with pytest.raises(ModelFileError, match="CTR"):
        sumwise.from_catboost(theirs, pool)
    with pytest.raises(ModelFileError, match="RMSEWithUncertainty"):
        sumwise.from_catboost(train("number", loss_function="RMSEWithUncertainty"))
    with pytest.raises(ModelFileError, match="not JSON"):
        sumwise.from_catboost(b"CBM1")
    with pytest.raises(ModelFileError, match="not fitted"):
        sumwise.from_catboost(catboost.CatBoostRegressor())
    with pytest.raises(FileNotFoundError):
        sumwise.from_catboost("nowhere.json")


def test_broken_files(tmp_path):
    table, y = make_table()
    pool = catboost.Pool(table, y, cat_features=["color", "shop"])
    convert = sumwise.from_catboost
    for policy in ("SymmetricTree", "Lossguide"):
        theirs = catboost.CatBoostRegressor(**SMALL, one_hot_max_size=10, grow_policy=policy)
        data = to_json(theirs.fit(pool), pool, tmp_path)
        loss = data["model_info"]["params"]["loss_function"]
        data["model_info"] = {"params": {"loss_function": loss}}
        outcomes = [check_refused_or_sound(convert, mutate_json(data, k)) for k in range(200)]
        assert 20 < sum(outcomes) < 190
    content = json.dumps(data).encode()
    outcomes = [check_refused_or_sound(convert, mutate_bytes(content, k)) for k in range(100)]
    assert sum(outcomes) < 95
    deep = b'{"left":' * 100_000
    with pytest.raises(ModelFileError, match="not a model of CatBoost"):
        sumwise.from_catboost(deep)
