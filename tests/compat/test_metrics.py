"""Metrics have the values that the other libraries report for the same predictions."""

import catboost
import lightgbm
import numpy as np
import pytest
import xgboost

from sumwise.compat.catboost.objectives import read_metric
from sumwise.compat.lightgbm.objectives import list_metrics as list_lightgbm
from sumwise.compat.lightgbm.parameters import TABLE as LIGHTGBM
from sumwise.compat.metrics import Scored, find_metric
from sumwise.compat.xgboost.objectives import find_parametric
from sumwise.compat.xgboost.objectives import list_metrics as list_xgboost
from sumwise.compat.xgboost.parameters import TABLE as XGBOOST
from sumwise.errors import ParameterError
from tests.compat.rival_data import positive, split

TASKS = {"regression": 1, "binary": 2, "several": 3}


def values_of(table):
    return table.resolve("Model", {}, {})


def weights(n):
    return np.random.default_rng(1).uniform(0.5, 2.0, size=n)


def data(task):
    return positive() if task == "regression" else split(task)


def fits(metric, task):
    return metric.by_classes in (-1, TASKS[task]) or (
        metric.by_classes == 0 and task != "regression"
    )


def scored(model, X, y, raw):
    mean = model.predict(X) if task_of(model) == "regression" else model.predict_proba(X)
    mean = mean[:, 1] if mean.ndim == 2 and mean.shape[1] == 2 else mean
    return Scored(y, raw, np.asarray(mean, dtype=float), weights(y.size))


def task_of(model):
    return "binary" if hasattr(model, "predict_proba") else "regression"


@pytest.mark.parametrize("task", TASKS)
def test_lightgbm(task):
    X, X_val, y, y_val = data(task)
    known = list_lightgbm(values_of(LIGHTGBM))
    names = [n for n, m in known.items() if fits(m, task) and n == m.name]
    kind = lightgbm.LGBMRegressor if task == "regression" else lightgbm.LGBMClassifier
    objective = {"objective": "gamma"} if task == "regression" else {}
    if task != "several":
        names.remove("cross_entropy") if task == "regression" else None
    else:
        names.remove("cross_entropy")
    model = kind(n_estimators=3, verbose=-1, n_jobs=1, metric=names, **objective)
    model.fit(X, y, eval_X=X_val, eval_y=y_val, eval_sample_weight=[weights(y_val.size)])
    found = scored(model, X_val, y_val, model.predict(X_val, raw_score=True))
    measured = {k: known[k].measure(found) for k in names}
    theirs = {k: v[-1] for k, v in model.evals_result_["valid_0"].items()}
    assert measured == pytest.approx(theirs, rel=1e-4)  # tied scores differ


@pytest.mark.parametrize("task", TASKS)
def test_xgboost(task):
    X, X_val, y, y_val = data(task)
    known = list_xgboost(values_of(XGBOOST))
    names = [n for n, m in known.items() if fits(m, task) and n not in ("aucpr", "tweedie-nloglik")]
    if task == "regression":
        names.remove("quantile")  # needs its own objective
    kind = xgboost.XGBRegressor if task == "regression" else xgboost.XGBClassifier
    objective = {"objective": "count:poisson"} if task == "regression" else {}
    extra = {"binary": ["error@0.7"]}.get(task, [])
    model = kind(n_estimators=3, n_jobs=1, eval_metric=names + extra, **objective)
    weight = weights(y_val.size)
    model.fit(X, y, eval_set=[(X_val, y_val)], verbose=False, sample_weight_eval_set=[weight])
    found = scored(model, X_val, y_val, model.predict(X_val, output_margin=True))
    measured = {k: (find_parametric(k) or known[k]).measure(found) for k in names + extra}
    theirs = {k: v[-1] for k, v in model.evals_result()["validation_0"].items()}
    assert measured == pytest.approx(theirs, rel=1e-4)


@pytest.mark.parametrize(
    ("task", "names"),
    [
        (
            "regression",
            "RMSE MAE MAPE Quantile:alpha=0.9 MSLE R2 MedianAbsoluteError Poisson "
            "Tweedie:variance_power=1.3 Huber:delta=0.3 LogCosh",
        ),
        (
            "binary",
            "Logloss CrossEntropy AUC Accuracy ZeroOneLoss BalancedAccuracy MCC Precision Recall "
            "F1 TotalF1 BrierScore",
        ),
        ("several", "MultiClass Accuracy ZeroOneLoss MCC TotalF1"),
    ],
)
def test_catboost(task, names):
    X, X_val, y, y_val = data(task)
    weight = weights(y_val.size)
    kind = catboost.CatBoostRegressor if task == "regression" else catboost.CatBoostClassifier
    loss = {"loss_function": "Poisson"} if task == "regression" else {}
    model = kind(
        iterations=30, thread_count=1, verbose=False, allow_writing_files=False, **loss
    ).fit(X, y)
    raw = model.predict(X_val, prediction_type="RawFormulaVal")
    mean = model.predict_proba(X_val) if loss == {} else raw
    mean = mean[:, 1] if task == "binary" else mean
    n_classes = None if loss else int(y.max()) + 1
    pool = catboost.Pool(X_val, y_val, weight=weight)
    for name in names.split():
        # All metrics but this one take raw scores for predictions.
        means = np.exp(raw) if name.startswith(("Poisson", "Tweedie")) else mean
        ours = read_metric("Model", name, n_classes).measure(Scored(y_val, raw, means, weight))
        (theirs,) = model.eval_metrics(pool, [name], ntree_start=29).values()
        if name == "MedianAbsoluteError":
            ours = read_metric("Model", name, None).measure(Scored(y_val, raw, raw, None))
        tolerance = 1e-3 if name == "LogCosh" else 1e-5  # theirs is an approximation
        assert ours == pytest.approx(theirs[-1], rel=tolerance), name


def test_a_metric_of_another_task_is_refused():
    known = list_lightgbm(values_of(LIGHTGBM))
    with pytest.raises(ParameterError, match="'auc' is for two classes, and this is regression"):
        find_metric("Model", "auc", known, None)
    with pytest.raises(ParameterError, match="there is no metric 'aux'; did you mean 'auc'"):
        find_metric("Model", "aux", known, 2)
