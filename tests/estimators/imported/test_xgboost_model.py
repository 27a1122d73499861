"""Models of XGBoost: the same leaves for every row, and predictions up to single precision."""

import io
import json
from functools import cache

import numpy as np
import pandas as pd
import pytest

import sumwise
from sumwise.errors import DataWarning, ModelFileError
from sumwise.export.portable import describe
from tests.estimators.imported.hard_rows import draw_rows
from tests.estimators.imported.mutations import (
    check_refused_or_sound,
    mutate_bytes,
    mutate_json,
)
from tests.naive.portable import predict_row

xgboost = pytest.importorskip("xgboost")
N_FEATURES = 4


@cache
def make_data():
    """Rows with missing values, and targets of all kinds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, N_FEATURES))
    X[rng.random(X.shape) < 0.05] = np.nan
    score = np.nan_to_num(X[:, 0] + X[:, 1] * X[:, 2])
    return X, {
        "number": score,
        "positive": np.exp(score / 3),
        "share": 1 / (1 + np.exp(-score)),
        "two": (score > 0).astype(int),
        "three": np.digitize(score, [-0.5, 0.5]),
        "targets": np.column_stack([score, -score, score**2]),
        "labels": np.column_stack([score > 0, X[:, 0] > 0]).astype(int),
    }


def train(target, n_rounds=4, **params):
    X, targets = make_data()
    table = xgboost.DMatrix(X, targets[target])
    if params.get("objective", "").startswith("rank"):
        table.set_group([50] * 4)
    depth = {} if params.get("booster") == "gblinear" else {"max_depth": 3}
    return xgboost.train({"nthread": 1, **depth, **params}, table, n_rounds)


def list_thresholds(booster):
    model = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]
    trees = model.get("gbtree", model)["model"]["trees"]
    by_tree = [(np.array(t["split_conditions"]), np.array(t["left_children"])) for t in trees]
    return np.concatenate([condition[left >= 0] for condition, left in by_tree])


def predict(model, X):
    """Return what ``Booster.predict`` returns."""
    if not hasattr(model, "predict_proba"):
        return model.predict(X)
    shares = model.predict_proba(X)
    return shares[:, 1] if shares.shape[1] == 2 else shares


def draw(booster):
    rows = draw_rows(list_thresholds(booster), N_FEATURES, infinite=False)
    return np.where(np.abs(rows) > 3e38, 0.0, rows)


CASES = [
    ("number", {"objective": "reg:squarederror"}, "squared_error"),
    ("number", {"objective": "reg:absoluteerror"}, "absolute_error"),
    ("number", {"objective": "reg:pseudohubererror"}, None),
    ("positive", {"objective": "reg:squaredlogerror"}, None),
    ("number", {"objective": "reg:quantileerror", "quantile_alpha": 0.3}, sumwise.Quantile(0.3)),
    ("number", {"objective": "reg:quantileerror", "quantile_alpha": [0.2, 0.8]}, None),
    ("positive", {"objective": "count:poisson"}, "poisson"),
    ("positive", {"objective": "reg:gamma"}, "gamma"),
    ("positive", {"objective": "reg:tweedie", "tweedie_variance_power": 1.3}, sumwise.Tweedie(1.3)),
    ("share", {"objective": "reg:logistic"}, "cross_entropy"),
    ("two", {"objective": "binary:logistic"}, "log_loss"),
    ("two", {"objective": "binary:logistic", "base_score": 0.2}, "log_loss"),
    ("three", {"objective": "multi:softprob", "num_class": 3}, "log_loss"),
    ("three", {"objective": "multi:softprob", "num_class": 3, "num_parallel_tree": 2}, "log_loss"),
    ("two", {"objective": "multi:softprob", "num_class": 2}, "log_loss"),
    ("labels", {"objective": "binary:logistic"}, "cross_entropy"),
    ("targets", {"objective": "reg:squarederror"}, "squared_error"),
    ("two", {"objective": "rank:pairwise"}, None),
    ("positive", {"objective": "survival:cox"}, None),
    ("number", {"booster": "dart", "rate_drop": 0.5}, "squared_error"),
    ("number", {"tree_method": "exact"}, "squared_error"),
    ("number", {"grow_policy": "lossguide", "max_leaves": 6, "max_depth": 0}, "squared_error"),
]


@pytest.mark.parametrize(("target", "params", "loss"), CASES)
def test_predictions_and_leaves_are_those_of_the_origin(target, params, loss):
    theirs = train(target, **params)
    ours = sumwise.from_xgboost(theirs)
    if loss is None:
        assert isinstance(ours, sumwise.ImportedRegressor)
    else:
        assert repr(ours.loss) == repr(loss)
    rows = draw(theirs)
    table = xgboost.DMatrix(rows)
    expected = theirs.predict(table)
    if params.get("num_class") == 2:
        expected = expected[:, 1]
    np.testing.assert_allclose(predict(ours, rows), expected, rtol=3e-6, atol=1e-6)
    leaves = theirs.predict(table, pred_leaf=True).reshape(len(rows), -1)
    check_leaves(ours.apply(rows), leaves, params.get("num_parallel_tree", 1))
    np.testing.assert_array_equal(ours.apply(rows.astype(np.float32)), ours.apply(rows))
    file = io.BytesIO()
    ours.save(file)
    again = sumwise.load(file.getvalue())
    np.testing.assert_array_equal(predict(again, rows), predict(ours, rows))
    found = np.array([predict_row(describe(ours), row) for row in rows[:10].tolist()])
    known = getattr(ours, "predict_proba", ours.predict)(rows[:10])
    np.testing.assert_allclose(np.squeeze(found), known, rtol=1e-12)


def check_leaves(ours, theirs, n_parallel=1):
    """Compare leaves, which have different numbers: each has one partner."""
    if n_parallel > 1:  # XGBoost has the trees of one output together
        theirs = theirs.reshape(len(theirs), -1, 3, n_parallel).transpose(0, 1, 3, 2)
        theirs = theirs.reshape(len(theirs), -1)
    assert ours.shape == theirs.shape
    for a, b in zip(ours.T, theirs.T, strict=True):
        assert len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


def test_classes_of_softmax_and_raw_scores():
    theirs = train("three", objective="multi:softmax", num_class=3)
    X, _ = make_data()
    table = xgboost.DMatrix(X)
    np.testing.assert_array_equal(sumwise.from_xgboost(theirs).predict(X), theirs.predict(table))
    theirs = train("two", objective="binary:logitraw")
    ours = sumwise.from_xgboost(theirs)
    np.testing.assert_allclose(ours.decision_function(X), theirs.predict(table), rtol=1e-5)


def test_vectors_in_leaves():
    theirs = train("targets", multi_strategy="multi_output_tree")
    ours = sumwise.from_xgboost(theirs)
    rows = draw(theirs)
    expected = theirs.predict(xgboost.DMatrix(rows))
    np.testing.assert_allclose(ours.predict(rows), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("target", "params"),
    [
        ("two", {"objective": "binary:logistic"}),
        ("two", {"objective": "multi:softprob", "num_class": 2}),
        ("targets", {"objective": "reg:squarederror"}),
    ],
)
def test_linear_models(target, params):
    theirs = train(target, booster="gblinear", **params)
    ours = sumwise.from_xgboost(theirs)
    X, _ = make_data()
    expected = theirs.predict(xgboost.DMatrix(X))
    expected = expected[:, 1] if params.get("num_class") else expected
    np.testing.assert_allclose(predict(ours, X), expected, rtol=1e-5, atol=1e-5)


def test_every_source(tmp_path):
    X, targets = make_data()
    theirs = xgboost.XGBClassifier(n_jobs=1, n_estimators=30, early_stopping_rounds=2, max_depth=2)
    theirs.fit(X, targets["three"], eval_set=[(X[:40], targets["three"][:40][::-1])], verbose=False)
    assert theirs.best_iteration + 1 < theirs.get_booster().num_boosted_rounds()
    expected = theirs.predict_proba(X)
    for name in ("model.json", "model.ubj"):
        path = tmp_path / name
        theirs.save_model(path)
        content = path.read_bytes()
        sources = [path, str(path), content, io.BytesIO(content)]
        if name.endswith("json"):
            sources += [content.decode(), json.loads(content)]
        for source in [theirs, *sources]:
            ours = sumwise.from_xgboost(source)
            np.testing.assert_allclose(ours.predict_proba(X), expected, rtol=1e-5)
    ours = sumwise.from_xgboost(theirs.get_booster())
    assert ours.best_iteration_ == theirs.get_booster().num_boosted_rounds()


def test_random_forests_of_xgboost():
    X, targets = make_data()
    theirs = xgboost.XGBRFRegressor(n_jobs=1, n_estimators=5, max_depth=3).fit(X, targets["number"])
    ours = sumwise.from_xgboost(theirs)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5, atol=1e-6)
    assert (ours.ensemble_.n_rounds, ours.ensemble_.n_trees) == (1, 5)


def make_table():
    rng = np.random.default_rng(0)
    color = np.array(["red", "green", "blue", "black"])[rng.integers(0, 4, 300)]
    table = pd.DataFrame(
        {"a": rng.normal(size=300), "color": color, "shop": rng.integers(3, 40, 300)}
    )
    y = table["a"] + 2 * (color == "red") + (color == "black") + table["shop"] % 7
    kind = pd.CategoricalDtype(["red", "blue", "green", "black"])
    table = table.astype({"color": kind, "shop": "category"})
    table.loc[::9, "color"] = np.nan
    return table, y


@pytest.mark.parametrize("max_cat_to_onehot", [1, 100])
def test_categories_of_frames(max_cat_to_onehot):
    table, y = make_table()
    theirs = xgboost.XGBRegressor(
        n_jobs=1, n_estimators=5, max_cat_to_onehot=max_cat_to_onehot, enable_categorical=True
    ).fit(table, y)
    ours = sumwise.from_xgboost(theirs)
    np.testing.assert_allclose(ours.predict(table), theirs.predict(table), rtol=1e-5, atol=1e-5)
    text = table.astype({"color": object, "shop": int})
    np.testing.assert_array_equal(ours.predict(text), ours.predict(table))
    text["color"] = "purple"
    with pytest.raises(ValueError, match="not in the training data"):
        ours.predict(text)


def test_codes_of_categories():
    table, y = make_table()
    codes = np.column_stack([table["a"], table["shop"].cat.codes.astype(float)])
    codes[::7, 1] = np.nan
    theirs = xgboost.XGBRegressor(
        n_jobs=1,
        n_estimators=5,
        max_cat_to_onehot=1,
        enable_categorical=True,
        feature_types=["q", "c"],
    ).fit(codes, y)
    ours = sumwise.from_xgboost(theirs)
    codes[::5, 1] = 200  # unknown
    np.testing.assert_allclose(ours.predict(codes), theirs.predict(codes), rtol=1e-5, atol=1e-5)


def test_a_mark_of_missing_values_is_warned_of():
    X, targets = make_data()
    theirs = xgboost.XGBRegressor(n_jobs=1, n_estimators=2, missing=-999.0).fit(
        np.nan_to_num(X), targets["number"]
    )
    with pytest.warns(DataWarning, match=r"-999\.0 as missing"):
        sumwise.from_xgboost(theirs)


def test_boosting_can_be_continued():
    X, targets = make_data()
    ours = sumwise.from_xgboost(train("two", objective="binary:logistic"))
    assert ours.learning_rate == 0.3
    longer = sumwise.GradientBoostingClassifier(n_estimators=7, early_stopping=False)
    longer.fit(X, targets["two"], init_model=ours)
    stages = list(longer.staged_decision_function(X))
    np.testing.assert_array_equal(stages[3], ours.decision_function(X))
    assert len(stages) == 7


def test_what_cannot_be_imported():
    theirs = train("two", objective="binary:hinge")
    with pytest.raises(ModelFileError, match="binary:hinge"):
        sumwise.from_xgboost(theirs)
    data = json.loads(train("three", objective="multi:softprob", num_class=3).save_raw("json"))
    for n_classes in ("1000000000", "1000"):
        data["learner"]["learner_model_param"]["num_class"] = n_classes
        with pytest.raises(ModelFileError, match="outputs"):
            sumwise.from_xgboost(data)
    with pytest.raises(ModelFileError, match="neither JSON nor UBJSON"):
        sumwise.from_xgboost(b"binf\0\0\0")
    with pytest.raises(ModelFileError, match="not a model of XGBoost"):
        sumwise.from_xgboost("{}")
    with pytest.raises(FileNotFoundError):
        sumwise.from_xgboost("nowhere.json")


@pytest.fixture(scope="module")
def small():
    table, y = make_table()
    return xgboost.XGBRegressor(
        n_jobs=1, n_estimators=2, max_depth=2, max_cat_to_onehot=1, enable_categorical=True
    ).fit(table, y)


def test_categories_beyond_all_bounds_are_refused(small):
    data = json.loads(small.get_booster().save_raw("json"))
    model = data["learner"]["gradient_booster"]["model"]
    model["cats"] = {}
    by_set = [tree for tree in model["trees"] if tree["categories"]]
    by_set[0]["categories"][0] = 1 << 30
    with pytest.raises(ModelFileError, match="more categories"):
        sumwise.from_xgboost(data)


def test_broken_files(small, tmp_path):
    data = json.loads(small.get_booster().save_raw("json"))
    content = bytes(small.get_booster().save_raw("ubj"))
    convert = sumwise.from_xgboost
    outcomes = [check_refused_or_sound(convert, mutate_json(data, k)) for k in range(250)]
    assert 20 < sum(outcomes) < 230
    outcomes = [check_refused_or_sound(convert, mutate_bytes(content, k)) for k in range(250)]
    assert sum(outcomes) < 230
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(data)[:-100])
    with pytest.raises(ModelFileError, match=r"broken\.json: not a model of XGBoost"):
        sumwise.from_xgboost(path)
