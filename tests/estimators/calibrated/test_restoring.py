"""What model files hold of calibration and of conformal scores."""

import io
import pickle

import numpy as np
import pytest

import sumwise
from sumwise.errors import ModelFileError
from sumwise.export.native import dump_model, parse_model

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3)).round(1)
Y = X[:, 0] + RNG.normal(size=120)
TWO, THREE = (Y > 0).astype(int), np.digitize(Y, [-0.6, 0.6])
WEIGHT = RNG.integers(1, 4, 120).astype(float)
SMALL = {"n_estimators": 4, "max_leaves": 4, "random_state": 0, "calibration_rows": 2}
FOREST = {"n_estimators": 8, "max_depth": 3, "random_state": 0}
COLORS = np.array(["red", "green", "blue"])[RNG.integers(0, 3, 120)]


def know_params(model):
    """Return the parameters; those that were left to ``fit`` as it has chosen them."""
    return model.get_params() | getattr(model, "resolved_params_", {})


def make_models():
    classifier, regressor = sumwise.GradientBoostingClassifier, sumwise.GradientBoostingRegressor
    for method in ("isotonic", "logistic", "temperature"):
        for y in (TWO, THREE):
            model = classifier(**SMALL, calibrate=method, conformal=True)
            yield f"{method} {y.max() + 1}", model.fit(X, y)
    for method in ("isotonic", "logistic"):
        for y in (TWO, THREE):
            model = sumwise.RandomForestClassifier(**FOREST, calibrate=method, conformal=True)
            yield f"forest {method} {y.max() + 1}", model.fit(X, y, WEIGHT)
    yield "linear", classifier(**SMALL, booster="linear", calibrate="logistic").fit(X, TWO)
    yield "intervals", regressor(**SMALL, conformal=True).fit(X, Y, WEIGHT)
    yield "poisson", regressor(**SMALL, conformal=True, loss="poisson").fit(X, np.abs(Y))
    levels = sumwise.Quantile([0.1, 0.9])
    yield "quantiles", regressor(**SMALL, conformal=True, loss=levels).fit(X, Y)
    both = np.column_stack([Y, -Y])
    yield "targets", regressor(**SMALL, conformal=True).fit(X, both)
    yield "forest", sumwise.RandomForestRegressor(**FOREST, conformal=True).fit(X, Y)
    yield "extra trees", sumwise.ExtraTreesRegressor(**FOREST, conformal=True).fit(X, both)


@pytest.fixture(scope="module")
def models():
    return dict(make_models())


def save(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def predict_all(model):
    names = ("predict", "predict_proba", "predict_interval", "predict_set")
    names = [n for n in names if hasattr(model, n) and (model.conformal or "_proba" in n)]
    return [getattr(model, name)(X) for name in names]


def test_loaded_and_pickled_models_predict_the_same(models):
    for name, model in models.items():
        data = save(model)
        assert int.from_bytes(data[8:12], "little") == 5, name
        for again in (sumwise.load(data), pickle.loads(pickle.dumps(model))):
            for found, expected in zip(predict_all(again), predict_all(model), strict=True):
                np.testing.assert_array_equal(found, expected, err_msg=name)
            assert know_params(again) == know_params(model)
            assert save(again) == data, name


def test_categories_encoded_by_the_target_are_in_the_file_too():
    table = np.column_stack([X.astype(object), COLORS])
    model = sumwise.GradientBoostingClassifier(
        **SMALL, categorical_encoding="ordered", calibrate="isotonic", conformal=True
    ).fit(table, TWO)
    again = sumwise.load(save(model))
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    np.testing.assert_array_equal(again.predict_set(table), model.predict_set(table))


def test_models_without_calibration_have_the_old_format():
    model = sumwise.RandomForestClassifier(**FOREST).fit(X, TWO)
    data = save(model)
    assert int.from_bytes(data[8:12], "little") == 3
    _, about = parse_model(data)
    assert not {"calibrate", "conformal", "calibration_rows"} & set(about["params"])


# --- hostile files ---


def set_entry(name, **values):
    def change(about):
        about[name] = {**about[name], **values}

    return change


def set_array(name, function):
    def change(about):
        about["arrays"][name] = function(about["arrays"][name])

    return change


def drop(*names):
    def change(about):
        for name in names:
            about["arrays"].pop(name) if name in about["arrays"] else about.pop(name)

    return change


def spoil(array):
    array = array.copy()
    array[-1] = np.nan
    return array


def move_to(estimator):
    def change(about):
        about["estimator"] = estimator

    return change


CURVE = ("curve_size", "curve_x", "curve_y")
SCORES = ("conformal_score", "conformal_weight", "conformal_class")
HOSTILE = [
    ("isotonic 2", set_entry("calibration", method="magic")),
    ("isotonic 2", set_entry("calibration", method=["isotonic"])),
    ("isotonic 2", lambda about: about.update(calibration=[])),
    ("isotonic 2", lambda about: about.update(conformal=None) or about["arrays"].clear()),
    ("isotonic 2", drop(*CURVE)),
    ("isotonic 2", drop(*SCORES)),
    ("isotonic 2", set_array("curve_size", lambda a: np.append(a, 0))),
    ("isotonic 3", set_array("curve_size", lambda a: a[:2])),
    ("isotonic 2", set_array("curve_x", lambda a: a[::-1])),
    ("isotonic 2", set_array("curve_x", spoil)),
    ("isotonic 2", set_array("curve_y", lambda a: a + 1)),
    ("isotonic 2", set_array("conformal_score", lambda a: a[::-1])),
    ("isotonic 2", set_array("conformal_score", spoil)),
    ("isotonic 2", set_array("conformal_score", lambda a: a + 1)),
    ("isotonic 2", set_array("conformal_score", lambda a: a[:0])),
    ("isotonic 2", set_array("conformal_score", lambda a: a[1:])),
    ("isotonic 2", set_array("conformal_class", lambda a: a + 5)),
    ("isotonic 2", set_array("conformal_class", lambda a: a - 5)),
    ("isotonic 2", set_array("conformal_weight", lambda a: np.ones(3))),
    ("forest isotonic 2", set_array("conformal_weight", lambda a: -a)),
    ("forest isotonic 2", set_array("conformal_weight", spoil)),
    ("forest isotonic 2", set_entry("calibration", method="temperature", temperature=1.0)),
    ("forest isotonic 2", move_to("DecisionTreeClassifier")),
    ("logistic 3", set_entry("calibration", slope=[1.0])),
    ("logistic 2", set_entry("calibration", slope=[None])),
    ("logistic 2", set_entry("calibration", intercept="0")),
    ("temperature 2", set_entry("calibration", temperature=-1.0)),
    ("intervals", set_entry("conformal", floor=[0.0])),
    ("intervals", set_entry("conformal", floor=[])),
    ("intervals", set_entry("conformal", floor=None)),
    ("intervals", set_entry("conformal", power=None)),  # boosting has no spread of trees
    ("intervals", set_entry("conformal", power=-1.0)),
    ("intervals", set_entry("conformal", shift=-1.0)),
    ("intervals", set_entry("conformal", support=[1.0, 0.0])),
    ("intervals", set_entry("conformal", support=[])),
    ("intervals", set_entry("conformal", levels=[0.5, 0.6])),
    ("intervals", set_array("conformal_class", lambda a: np.zeros(2))),
    ("intervals", lambda about: about.update(calibration={"method": "temperature"})),
    ("quantiles", set_entry("conformal", levels=[0.9, 0.1])),
    ("quantiles", set_entry("conformal", levels=[0.1, 1.1])),
    ("targets", set_array("conformal_score", lambda a: a[:-1])),
]


@pytest.mark.parametrize(("name", "change"), HOSTILE)
def test_hostile_content_is_refused(name, change, models):
    model, about = parse_model(save(models[name]))
    change(about)
    data = dump_model(model, about)
    with pytest.raises(ModelFileError):
        sumwise.load(data)


def test_curves_belong_to_format_5(models):
    data = bytearray(save(models["isotonic 2"]))
    data[8] = 4
    with pytest.raises(ModelFileError):
        sumwise.load(bytes(data))
