"""XGBoost's estimators: the same calls give about the same results and attributes."""

import pickle

import numpy as np
import pandas as pd
import pytest
import xgboost
from scipy import sparse
from sklearn.metrics import mean_absolute_error

import sumwise
from sumwise.compat import xgboost as ours
from sumwise.errors import DataError, ModelFileError, ParameterError
from tests.compat.rival_data import positive, split

SMALL = {"n_estimators": 15, "max_depth": 3, "n_jobs": 1}


def fit_both(kind, X, y, params, **options):
    options = {"verbose": False, **options}
    return (
        getattr(xgboost, kind)(**params).fit(X, y, **options),
        getattr(ours, kind)(**params).fit(X, y, **options),
    )


@pytest.mark.parametrize("task", ["binary", "several"])
def test_classifiers_agree(task):
    X, X_val, y, _ = split(task)
    theirs, own = fit_both("XGBClassifier", X, y, SMALL)
    difference = np.abs(theirs.predict_proba(X_val) - own.predict_proba(X_val))
    assert difference.mean() < 0.05
    assert (theirs.predict(X_val) == own.predict(X_val)).mean() > 0.93
    assert own.n_classes_ == theirs.n_classes_
    margin = own.predict(X_val, output_margin=True, iteration_range=(0, 5))
    assert margin.shape == theirs.predict(X_val, output_margin=True).shape
    assert own.apply(X_val).shape == theirs.apply(X_val).shape
    assert own.feature_importances_.sum() == pytest.approx(1.0)
    for kind in ("weight", "total_gain", "gain"):
        a = own.set_params(importance_type=kind).feature_importances_
        b = theirs.set_params(importance_type=kind).feature_importances_
        assert np.corrcoef(a, b)[0, 1] > 0.7, kind


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"objective": "reg:absoluteerror"},
        {"objective": "reg:quantileerror", "quantile_alpha": 0.8},
        {"objective": "count:poisson"},
        {"objective": "reg:gamma"},
        {"objective": "reg:tweedie"},
        {"objective": "reg:squaredlogerror", "n_estimators": 40},
        {"booster": "dart", "rate_drop": 0.2},
        {"booster": "gblinear", "n_estimators": 100, "max_depth": None},
        {"tree_method": "exact"},
        {"grow_policy": "lossguide", "max_leaves": 6},
        {"subsample": 0.7, "colsample_bynode": 0.8, "num_parallel_tree": 3},
        {"base_score": 2.0},
        pytest.param({"objective": lambda y, raw: (raw - y, np.ones_like(y))}, id="own objective"),
    ],
    ids=str,
)
def test_regressors_agree(params):
    X, X_val, y, _ = positive()
    theirs, own = fit_both("XGBRegressor", X, y, {**SMALL, **params})
    a, b = theirs.predict(X_val), own.predict(X_val)
    assert np.corrcoef(a, b)[0, 1] > 0.9
    assert abs(a.mean() - b.mean()) < 0.1 * abs(a).mean()


def test_forests_agree():
    X, X_val, y, y_val = split("regression")
    theirs, own = fit_both("XGBRFRegressor", X, y, {"n_estimators": 40, "max_depth": 4})
    assert np.corrcoef(theirs.predict(X_val), own.predict(X_val))[0, 1] > 0.9
    assert own.model_.best_iteration_ == 1
    assert own.apply(X_val).shape == (y_val.size, 40)
    with pytest.raises(ParameterError, match="one round"):
        ours.XGBRFClassifier(early_stopping_rounds=2).fit(X, y > 100)


def test_weights_and_margins_agree():
    X, X_val, y, y_val = split("binary")
    weight = np.random.default_rng(0).uniform(0.2, 3.0, size=y.size)
    params = {**SMALL, "scale_pos_weight": 4.0}
    theirs, own = fit_both("XGBClassifier", X, y, params, sample_weight=weight)
    assert np.abs(theirs.predict_proba(X_val) - own.predict_proba(X_val)).mean() < 0.05
    margin, margin_val = np.linspace(-1, 1, y.size), np.linspace(-1, 1, y_val.size)
    theirs, own = fit_both("XGBClassifier", X, y, SMALL, base_margin=margin)
    a, b = (m.predict(X_val, output_margin=True, base_margin=margin_val) for m in (theirs, own))
    assert np.abs(a - b).mean() < 0.4
    own_proba = own.predict_proba(X_val, base_margin=margin_val)
    np.testing.assert_allclose(own_proba[:, 1], 1 / (1 + np.exp(-b)))


def test_missing_values():
    X, _, y, _ = split("binary")
    coded = np.where(np.arange(X.size).reshape(X.shape) % 7 == 0, -999.0, X)
    with_nan = np.where(coded == -999.0, np.nan, coded)
    a = ours.XGBClassifier(**SMALL, missing=-999.0).fit(coded, y)
    b = ours.XGBClassifier(**SMALL).fit(with_nan, y)
    np.testing.assert_array_equal(a.predict_proba(coded), b.predict_proba(with_nan))
    with pytest.raises(DataError, match=r"missing=-999\.0 is replaced in NumPy arrays only"):
        a.fit(pd.DataFrame(coded), y)
    # As in XGBoost, what a sparse matrix does not store is missing.
    holes = np.where(np.isnan(with_nan), 0.0, with_nan)
    holes[X == 0] = 1e-9
    c = ours.XGBClassifier(**SMALL).fit(sparse.csr_matrix(holes), y)
    assert np.abs(c.predict_proba(sparse.csr_matrix(holes)) - b.predict_proba(with_nan)).max() < 0.1


def test_evaluation_and_early_stopping_count_as_theirs():
    X, X_val, y, y_val = split("regression")
    params = {"n_estimators": 300, "early_stopping_rounds": 5, "eval_metric": ["mae", "rmse"]}
    options = {"eval_set": [(X, y), (X_val, y_val)]}
    theirs, own = fit_both("XGBRegressor", X, y, params, **options)
    found = own.evals_result()
    shape = {name: list(scores) for name, scores in theirs.evals_result().items()}
    assert {name: list(scores) for name, scores in found.items()} == shape
    watched = found["validation_1"]["rmse"]
    assert own.best_iteration == np.argmin(watched)
    assert len(watched) == own.best_iteration + 6
    assert own.best_score == min(watched)
    assert own.best_score == pytest.approx(theirs.best_score, rel=0.1)
    # The model keeps all rounds, and predicts with those up to the best.
    assert own.model_.best_iteration_ == own.best_iteration + 6
    assert own.apply(X_val).shape[1] == own.best_iteration + 1
    rmse = np.sqrt(np.mean((own.predict(X_val) - y_val) ** 2))
    assert rmse == pytest.approx(own.best_score)
    every = own.predict(X_val, iteration_range=(0, own.best_iteration + 6))
    assert not np.array_equal(every, own.predict(X_val))

    never = ours.XGBRegressor(n_estimators=3).fit(X, y)
    for name in ("best_iteration", "best_score"):
        with pytest.raises(AttributeError, match="only defined when early stopping is used"):
            getattr(never, name)
    with pytest.raises(DataError, match="no evaluation result"):
        never.evals_result()
    with pytest.raises(DataError, match="early stopping needs eval_set"):
        ours.XGBRegressor(early_stopping_rounds=2).fit(X, y)


def test_callbacks(tmp_path, capsys):
    X, X_val, y, y_val = split("binary")
    calls = []

    class Watch(ours.callback.TrainingCallback):
        def before_training(self, model):
            calls.append("start")

        def after_iteration(self, model, epoch, evals_log):
            calls.append((epoch, len(evals_log["validation_0"]["auc"])))
            return epoch == 3

        def after_training(self, model):
            calls.append("end")

    stop = ours.callback.EarlyStopping(50, metric_name="auc", save_best=True)
    own = ours.XGBClassifier(
        n_estimators=30,
        eval_metric=["auc", "logloss"],
        callbacks=[
            stop,
            Watch(),
            ours.callback.LearningRateScheduler(lambda k: 0.5**k),
            ours.callback.TrainingCheckPoint(tmp_path, interval=2),
            ours.callback.EvaluationMonitor(period=3),
        ],
    ).fit(X, y, eval_set=[(X_val, y_val)])
    assert calls == ["start", (0, 1), (1, 2), (2, 3), (3, 4), "end"]
    auc = own.evals_result()["validation_0"]["auc"]
    assert own.best_iteration == np.argmax(auc)
    assert own.model_.best_iteration_ == own.best_iteration + 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model_1.sumwise", "model_3.sumwise"]
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["[0]", "[3]"]
    assert own.model_.learning_rate[2] == 0.25


def test_verbose_is_silent_unless_it_is_set(capfd):
    X, _, y, _ = split("binary")
    own = ours.XGBClassifier(n_estimators=4, verbosity=2)
    own.fit(X, y, eval_set=[(X, y)])
    assert capfd.readouterr() == ("", "")
    own.fit(X, y, eval_set=[(X, y)], verbose=True)
    assert len(capfd.readouterr().out.splitlines()) == 4


def test_metrics_of_the_user_are_costs():
    X, X_val, y, y_val = split("regression")
    own = ours.XGBRegressor(
        n_estimators=200, eval_metric=mean_absolute_error, early_stopping_rounds=3
    )
    own.fit(X, y, eval_set=[(X_val, y_val)])
    scores = own.evals_result()["validation_0"]["mean_absolute_error"]
    assert own.best_iteration == np.argmin(scores)


def test_categories():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.normal(size=600), "kind": rng.integers(0, 8, size=600)})
    y = table["size"] + np.isin(table["kind"], [1, 4, 6])
    table["kind"] = table["kind"].astype("category")
    theirs, own = fit_both("XGBRegressor", table, y, {**SMALL, "enable_categorical": True})
    assert np.corrcoef(theirs.predict(table), own.predict(table))[0, 1] > 0.98
    with pytest.raises(DataError, match=r"'kind' holds strings.*is set by enable_categorical"):
        ours.XGBRegressor(**SMALL).fit(table.astype({"kind": str}).assign(kind="a"), y)


def test_interactions_leave_others_alone():
    X, _, y, _ = positive()
    own = ours.XGBRegressor(**SMALL, interaction_constraints=[[0, 1]]).fit(X, y)
    assert own.model_.interaction_cst == [[0, 1], [2], [3]]
    named = ours.XGBRegressor(**SMALL, interaction_constraints='[["a", "b"]]')
    named.fit(pd.DataFrame(X, columns=list("abcd")), y)
    assert named.model_.interaction_cst == [["a", "b"], ["c"], ["d"]]


def test_models_are_saved_loaded_and_continued(tmp_path):
    X, X_val, y, y_val = split("regression")
    own = ours.XGBRegressor(n_estimators=100, early_stopping_rounds=3)
    own.fit(X, y, eval_set=[(X_val, y_val)])
    path = tmp_path / "model.sumwise"
    own.save_model(path)
    loaded = ours.XGBRegressor()
    loaded.load_model(path)
    np.testing.assert_array_equal(loaded.predict(X_val), own.predict(X_val))
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(own)).predict(X_val), own.predict(X_val)
    )
    theirs = xgboost.XGBRegressor(**SMALL).fit(X, y)
    theirs.save_model(tmp_path / "model.json")
    with pytest.raises(ModelFileError, match=r"read by sumwise\.from_xgboost"):
        loaded.load_model(tmp_path / "model.json")
    longer = ours.XGBRegressor(**SMALL).fit(X, y, xgb_model=tmp_path / "model.json")
    assert longer.model_.best_iteration_ == 30
    assert sumwise.load(path).best_iteration_ == own.best_iteration + 1


def test_clear_errors():
    X, _, y, _ = split("binary")
    with pytest.raises(TypeError, match=r"no parameter 'max_dept'.* did you mean 'max_depth'"):
        ours.XGBClassifier(max_dept=3)
    model = ours.XGBClassifier(**SMALL).fit(X, y)
    with pytest.raises(AttributeError, match="has no booster"):
        model.get_booster()
    with pytest.raises(ParameterError, match="iteration_range=\\(0, 99\\)"):
        model.predict(X, iteration_range=(0, 99))
    for objective, words in (
        ("binary:hinge", "no probabilities"),
        ("rank:ndcg", "ranking"),
        ("binary:logistics", "did you mean 'binary:logistic'"),
    ):
        with pytest.raises(ParameterError, match=words):
            ours.XGBClassifier(objective=objective).fit(X, y)
    with pytest.raises(ParameterError, match="cannot cut a model of booster='dart'"):
        ours.XGBClassifier(booster="dart", early_stopping_rounds=2).fit(X, y, eval_set=[(X, y)])
    with pytest.raises(AttributeError, match="pass X and y to fit"):
        ours.DMatrix  # noqa: B018
