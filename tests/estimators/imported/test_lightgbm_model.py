"""Models of LightGBM: raw scores with the same bits, the same leaves for every row."""

import io
import re
from functools import cache

import numpy as np
import pandas as pd
import pytest

import sumwise
from sumwise.errors import ModelFileError
from sumwise.export.portable import describe
from tests.estimators.imported.hard_rows import draw_rows
from tests.estimators.imported.mutations import JUNK, check_refused_or_sound, mutate_bytes
from tests.naive.portable import predict_row

lightgbm = pytest.importorskip("lightgbm")
N_FEATURES = 4
SMALL = {"verbose": -1, "num_leaves": 6, "min_data_in_leaf": 5, "num_threads": 1}


@cache
def make_data():
    """Rows with missing values and many zeros, and targets of all kinds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, N_FEATURES))
    X[rng.random(X.shape) < 0.05] = np.nan
    X[rng.random(X.shape) < 0.2] = 0.0
    score = np.nan_to_num(X[:, 0] + X[:, 1] * X[:, 2])
    return X, {
        "number": score,
        "positive": np.exp(score / 3),
        "share": 1 / (1 + np.exp(-score)),
        "two": (score > 0).astype(int),
        "three": np.digitize(score, [-0.5, 0.5]),
    }


def train(target, n_rounds=4, **params):
    X, targets = make_data()
    group = [50] * 4 if params.get("objective") in ("lambdarank", "rank_xendcg") else None
    table = lightgbm.Dataset(X, targets[target], group=group)
    return lightgbm.train(SMALL | params, table, n_rounds)


def list_thresholds(booster):
    lines = re.findall(r"^threshold=(.*)$", booster.model_to_string(), flags=re.MULTILINE)
    return np.concatenate([np.array(line.split(), dtype=np.float64) for line in lines])


def predict(model, X):
    if not hasattr(model, "predict_proba"):
        return model.predict(X)
    shares = model.predict_proba(X)
    return shares[:, 1] if shares.shape[1] == 2 else shares


def score(model, X):
    return model.decision_function(X) if hasattr(model, "classes_") else model.predict(X, raw=True)


CASES = [
    ("number", {"objective": "regression"}, "squared_error"),
    ("number", {"objective": "regression_l1"}, "absolute_error"),
    ("number", {"objective": "huber", "alpha": 0.7}, sumwise.Huber(delta=0.7)),
    ("number", {"objective": "fair", "fair_c": 2.0}, sumwise.Fair(2.0)),
    ("number", {"objective": "quantile", "alpha": 0.3}, sumwise.Quantile(0.3)),
    ("positive", {"objective": "mape"}, "mape"),
    ("positive", {"objective": "poisson"}, "poisson"),
    ("positive", {"objective": "gamma"}, "gamma"),
    ("positive", {"objective": "tweedie", "tweedie_variance_power": 1.3}, sumwise.Tweedie(1.3)),
    ("share", {"objective": "cross_entropy"}, "cross_entropy"),
    ("two", {"objective": "binary"}, "log_loss"),
    ("three", {"objective": "multiclass", "num_class": 3}, "log_loss"),
    ("three", {"objective": "multiclassova", "num_class": 3}, None),
    ("two", {"objective": "lambdarank"}, None),
    ("number", {"use_missing": False}, "squared_error"),
    ("number", {"zero_as_missing": True}, "squared_error"),
    ("three", {"objective": "multiclass", "num_class": 3, "zero_as_missing": True}, "log_loss"),
    ("number", {"boosting": "dart"}, "squared_error"),
    ("number", {"num_leaves": 40, "min_data_in_leaf": 1}, "squared_error"),
    ("number", {"min_data_in_leaf": 1000}, "squared_error"),
]


@pytest.mark.parametrize(("target", "params", "loss"), CASES)
def test_predictions_and_leaves_are_those_of_the_origin(target, params, loss):
    theirs = train(target, **params)
    ours = sumwise.from_lightgbm(theirs)
    if loss is None:
        assert type(ours).__name__.startswith("Imported")
    else:
        assert repr(ours.loss) == repr(loss)
    rows = draw_rows([*list_thresholds(theirs), 1.0], N_FEATURES)
    np.testing.assert_array_equal(score(ours, rows), theirs.predict(rows, raw_score=True))
    np.testing.assert_allclose(predict(ours, rows), theirs.predict(rows), rtol=1e-14)
    leaves = theirs.predict(rows, pred_leaf=True).reshape(len(rows), -1)
    for a, b in zip(ours.apply(rows).T, leaves.T, strict=True):
        # zero_as_missing copies leaves.
        assert len(set(zip(a, b, strict=True))) == len(set(a)) >= len(set(b))
    file = io.BytesIO()
    ours.save(file)
    again = sumwise.load(file.getvalue())
    np.testing.assert_array_equal(predict(again, rows), predict(ours, rows))
    found = np.array([predict_row(describe(ours), row) for row in rows[:10].tolist()])
    known = getattr(ours, "predict_proba", ours.predict)(rows[:10])
    np.testing.assert_allclose(np.squeeze(found), known, rtol=1e-12)


def test_a_sigmoid_of_another_slope_and_two_classes_of_softmax():
    theirs = train("two", objective="binary", sigmoid=1.7)
    ours = sumwise.from_lightgbm(theirs)
    rows = draw_rows(list_thresholds(theirs), N_FEATURES)
    np.testing.assert_allclose(predict(ours, rows), theirs.predict(rows), rtol=1e-14)
    raw = theirs.predict(rows, raw_score=True)
    np.testing.assert_allclose(ours.decision_function(rows), 1.7 * raw, rtol=1e-12)
    theirs = train("two", objective="multiclass", num_class=2)
    ours = sumwise.from_lightgbm(theirs)
    np.testing.assert_allclose(ours.predict_proba(rows), theirs.predict(rows), rtol=1e-13)


def test_random_forests_of_lightgbm():
    theirs = train("number", boosting="rf", bagging_freq=1, bagging_fraction=0.5)
    ours = sumwise.from_lightgbm(theirs)
    rows = draw_rows(list_thresholds(theirs), N_FEATURES)
    np.testing.assert_allclose(ours.predict(rows), theirs.predict(rows), rtol=1e-13)
    first = theirs.predict(rows, num_iteration=2)
    np.testing.assert_allclose(ours.predict(rows, rounds=2), first, rtol=1e-13)


def test_linear_models_in_leaves():
    theirs = train("number", linear_tree=True, n_rounds=6)
    ours = sumwise.from_lightgbm(theirs)
    assert ours.ensemble_.models is not None
    rows = draw_rows(list_thresholds(theirs), N_FEATURES, infinite=False)
    np.testing.assert_allclose(ours.predict(rows), theirs.predict(rows), rtol=1e-13)
    file = io.BytesIO()
    ours.save(file)
    np.testing.assert_array_equal(sumwise.load(file.getvalue()).predict(rows), ours.predict(rows))


@pytest.mark.filterwarnings("ignore:The argument 'eval_set'")
def test_every_source(tmp_path):
    X, targets = make_data()
    names = np.array(["a", "b", "c"])
    theirs = lightgbm.LGBMClassifier(n_estimators=40, num_leaves=4, verbose=-1, n_jobs=1)
    theirs.fit(
        X,
        names[targets["three"]],
        eval_set=[(X[:40], names[targets["three"][:40][::-1]])],
        callbacks=[lightgbm.early_stopping(2, verbose=False)],
    )
    assert 0 < theirs.best_iteration_ < 40
    expected = theirs.predict_proba(X)
    ours = sumwise.from_lightgbm(theirs)
    assert ours.best_iteration_ == theirs.best_iteration_
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    path = tmp_path / "model.txt"
    theirs.booster_.save_model(path)
    content = path.read_bytes()
    sources = [path, str(path), content, content.decode(), io.BytesIO(content), theirs.booster_]
    for source in [theirs, *sources]:
        ours = sumwise.from_lightgbm(source)
        np.testing.assert_allclose(ours.predict_proba(X), expected, rtol=1e-14)
    assert ours.classes_.tolist() == [0, 1, 2]
    assert (ours.learning_rate, ours.max_leaves, ours.l2) == (0.1, 4, 0.0)


def make_table():
    rng = np.random.default_rng(0)
    color = np.array(["red", "green", "blue", "black"])[rng.integers(0, 4, 300)]
    shop = rng.integers(3, 40, 300)
    table = pd.DataFrame({"a": rng.normal(size=300), "color": color, "shop": shop})
    y = table["a"] + 2 * (color == "red") + (color == "black") + table["shop"] % 7
    kind = pd.CategoricalDtype(["red", "blue", "green", "black"])
    table = table.astype({"color": kind, "shop": "category"})
    table.loc[::9, "color"] = np.nan
    return table, y


BY_CATEGORY = {"min_data_per_group": 3, "cat_smooth": 1.0, "min_child_samples": 3, "verbose": -1}


def test_categories_of_frames():
    table, y = make_table()
    theirs = lightgbm.LGBMRegressor(n_estimators=6, n_jobs=1, **BY_CATEGORY).fit(table, y)
    text = table.astype({"color": object, "shop": int})
    text.loc[::7, "color"] = "purple"
    rows = text.astype({"color": "category", "shop": "category"})
    expected = theirs.predict(rows)
    for source in (theirs, theirs.booster_.model_to_string()):
        ours = sumwise.from_lightgbm(source)
        np.testing.assert_array_equal(ours.predict(rows), expected)
        np.testing.assert_array_equal(ours.predict(text), expected)
    assert ours.ensemble_.set_node.size > 2
    assert ours.feature_names_in_.tolist() == ["a", "color", "shop"]
    file = io.BytesIO()
    ours.save(file)
    np.testing.assert_array_equal(sumwise.load(file.getvalue()).predict(text), expected)


def test_codes_of_categories():
    table, y = make_table()
    codes = np.column_stack([table["a"], table["shop"].astype(float)])
    codes[::7, 1] = np.nan
    theirs = lightgbm.LGBMRegressor(n_estimators=6, n_jobs=1, **BY_CATEGORY)
    theirs.fit(codes, y, categorical_feature=[1])
    ours = sumwise.from_lightgbm(theirs)
    codes[::5, 1] = 200
    codes[1::5, 1] = -3
    np.testing.assert_array_equal(ours.predict(codes), theirs.predict(codes))


def test_boosting_can_be_continued():
    X, targets = make_data()
    ours = sumwise.from_lightgbm(train("number"))
    longer = sumwise.GradientBoostingRegressor(n_estimators=7, early_stopping=False)
    longer.fit(X, targets["number"], init_model=ours)
    stages = list(longer.staged_predict(X))
    np.testing.assert_array_equal(stages[3], ours.predict(X))
    assert len(stages) == 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("objective=regression sqrt", "'regression sqrt' cannot be imported"),
        ("objective=cross_entropy_lambda", "cross_entropy_lambda"),
        ("num_tree_per_iteration=0", "not the same number"),
        ("max_feature_idx=1000000000", "too many"),
    ],
)
def test_what_cannot_be_imported(text, message):
    name = text.split("=")[0]
    model = re.sub(rf"^{name}=.*$", text, train("number").model_to_string(), flags=re.MULTILINE)
    with pytest.raises(ModelFileError, match=message):
        sumwise.from_lightgbm(model)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "model.txt"
    path.write_text(train("number").model_to_string()[:600])
    with pytest.raises(ModelFileError, match=r"model\.txt: the file is truncated"):
        sumwise.from_lightgbm(path)
    with pytest.raises(ModelFileError, match="does not begin with 'tree'"):
        sumwise.from_lightgbm(b"PK\3\4")
    with pytest.raises(FileNotFoundError):
        sumwise.from_lightgbm("nowhere.txt")


def mutate_line(text, seed):
    """Return a model file with another value, or one number more or less, in one line."""
    rng = np.random.default_rng(seed)
    lines = text.splitlines()
    places = [k for k, line in enumerate(lines) if "=" in line or line.startswith("pandas")]
    place = rng.choice(places)
    name, _, value = lines[place].partition("=")
    items = value.split()
    action = rng.random()
    if action < 0.5 and items:
        items[rng.integers(len(items))] = str(JUNK[rng.integers(len(JUNK))])
    elif action < 0.7:
        items = items[:-1]
    else:
        items = [str(JUNK[rng.integers(len(JUNK))])]
    lines[place] = f"{name}={' '.join(items)}"
    return "\n".join(lines)


def test_broken_files():
    table, y = make_table()
    theirs = lightgbm.LGBMRegressor(n_estimators=2, num_leaves=5, n_jobs=1, **BY_CATEGORY)
    text = theirs.fit(table, y).booster_.model_to_string()
    convert = sumwise.from_lightgbm
    outcomes = [check_refused_or_sound(convert, mutate_line(text, k)) for k in range(250)]
    assert 20 < sum(outcomes) < 230
    content = text[: text.index("parameters:")].encode()
    outcomes = [check_refused_or_sound(convert, mutate_bytes(content, k)) for k in range(200)]
    assert sum(outcomes) < 190
