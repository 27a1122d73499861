"""Calibrated models in every format: their probabilities, or an error that names the part."""

import ctypes
import shutil
import sqlite3
import subprocess

import numpy as np
import pytest

import sumwise
from sumwise.errors import ExportError
from sumwise.export import (
    from_json,
    to_c,
    to_json,
    to_lightgbm,
    to_onnx,
    to_python,
    to_sql,
    to_xgboost,
)
from tests.naive.portable import predict_row

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3)).round(1)
X[RNG.random(X.shape) < 0.05] = np.nan
SCORE = np.nan_to_num(X[:, 0]) + RNG.logistic(size=150)
TARGETS = {2: (SCORE > 0).astype(int), 3: np.digitize(SCORE, [-1, 1])}
NEW = np.vstack([X[:40], 100 * X[:5], np.full((1, 3), np.nan)])


def fit_models():
    for n_classes, y in TARGETS.items():
        for method in ("isotonic", "logistic", "temperature"):
            model = sumwise.GradientBoostingClassifier(
                n_estimators=4, calibrate=method, calibration_rows=2, random_state=0
            )
            yield f"boosting_{method}_{n_classes}", model.fit(X, y)
        for method in ("isotonic", "logistic"):
            model = sumwise.RandomForestClassifier(
                5, calibrate=method, max_depth=3, calibration_rows=2, random_state=0
            )
            yield f"forest_{method}_{n_classes}", model.fit(X, y)
    bagging = sumwise.BaggingClassifier(n_estimators=5, calibrate="isotonic", random_state=0)
    yield "bagging", bagging.fit(X, TARGETS[2])


@pytest.fixture(scope="module")
def models():
    return dict(fit_models())


def check(found, model, name, rtol=1e-12, atol=0.0):
    np.testing.assert_allclose(found, model.predict_proba(NEW), rtol=rtol, atol=atol, err_msg=name)


def test_json_and_python_code(models):
    for name, model in models.items():
        described = from_json(to_json(model))
        check([predict_row(described, row) for row in NEW.tolist()], model, name)
        module = {}
        exec(to_python(model), module)
        check([module["predict_proba"](row) for row in NEW.tolist()], model, name)


def test_rows_one_at_a_time(models):
    for name, model in models.items():
        predict, label = model.compile("proba"), model.compile("predict")
        check([predict(row) for row in NEW.tolist()], model, name)
        assert [label(row) for row in NEW.tolist()] == model.predict(NEW).tolist()


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler (cc)")
def test_c_code(models, tmp_path):
    for name, model in models.items():
        to_c(model, name=name, path=tmp_path / f"{name}.c")
    (tmp_path / "all.c").write_text("".join(f'#include "{name}.c"\n' for name in models))
    options = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]
    command = ["cc", *options, "all.c", "-o", "all.so", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "all.so"))
    for name, model in models.items():
        found = np.empty((len(NEW), model.n_classes_))
        for row, out in zip(NEW.copy(), found, strict=True):
            pointers = (ctypes.c_void_p(array.ctypes.data) for array in (row, out))
            getattr(library, f"{name}_predict")(*pointers)
        check(found, model, name)


def test_sql(models):
    database = sqlite3.connect(":memory:")
    try:
        database.execute("SELECT EXP(1)")
    except sqlite3.OperationalError:
        pytest.skip("SQLite has no mathematical functions")
    database.execute("CREATE TABLE t (k INTEGER, x0 REAL, x1 REAL, x2 REAL)")
    database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [[k, *r] for k, r in enumerate(NEW)])
    for name, model in models.items():
        text = to_sql(model, table="t", keep="k", dialect="sqlite")
        rows = sorted(database.execute(text).fetchall())
        check(np.array([row[2:] for row in rows], dtype=np.float64), model, name)


def test_onnx(models):
    runtime = pytest.importorskip("onnxruntime", reason="ONNX models are judged by onnxruntime")
    for name, model in models.items():
        data = to_onnx(model).SerializeToString()
        session = runtime.InferenceSession(data, providers=["CPUExecutionProvider"])
        dtype = np.float32 if session.get_inputs()[0].type == "tensor(float)" else np.float64
        outputs = session.run(None, {session.get_inputs()[0].name: NEW.astype(dtype)})
        check(outputs[-1], model, name, rtol=1e-5, atol=1e-7)


def test_libraries_of_trees_take_functions_of_one_sum(models):
    xgboost = pytest.importorskip("xgboost", reason="XGBoost judges its models")
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM judges its models")
    taken = [name for name in models if "isotonic" not in name and name != "bagging"]
    assert len(taken) == 6
    for name, model in models.items():
        if name not in taken:
            for write in (to_xgboost, to_lightgbm):
                with pytest.raises(ExportError, match=r"calibration|shares of a sum"):
                    write(model)
            continue
        booster = xgboost.Booster()
        booster.load_model(bytearray(to_xgboost(model), "utf-8"))
        matrix = xgboost.DMatrix(NEW, feature_names=booster.feature_names)
        expected = model.predict_proba(NEW)
        expected = expected if model.n_classes_ > 2 else expected[:, 1]
        np.testing.assert_allclose(booster.predict(matrix), expected, rtol=1e-5, err_msg=name)
        found = lightgbm.Booster(model_str=to_lightgbm(model)).predict(NEW)
        np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=name)
