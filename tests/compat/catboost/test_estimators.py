"""CatBoost's estimators: the same calls give about the same results and attributes."""

import pickle

import catboost
import numpy as np
import pandas as pd
import pytest

from sumwise.compat import catboost as ours
from sumwise.errors import DataError, ModelFileError, ParameterError
from tests.compat.rival_data import positive, split

SMALL = {"iterations": 40, "depth": 4, "thread_count": 1}
THEIRS = {"verbose": False, "allow_writing_files": False}


def fit_both(kind, X, y, params, **options):
    return (
        getattr(catboost, kind)(**{**params, **THEIRS}).fit(X, y, **options),
        getattr(ours, kind)(**params).fit(X, y, **options),
    )


@pytest.mark.parametrize("task", ["binary", "several"])
def test_classifiers_agree(task):
    X, X_val, y, y_val = split(task)
    names = np.array(["a", "b", "c"])[y]
    theirs, own = fit_both("CatBoostClassifier", X, names, SMALL)
    assert (theirs.predict(X_val).ravel() == own.predict(X_val)).mean() > 0.93
    assert np.abs(theirs.predict_proba(X_val) - own.predict_proba(X_val)).mean() < 0.06
    np.testing.assert_array_equal(own.classes_, theirs.classes_)
    assert own.learning_rate_ == pytest.approx(theirs.learning_rate_, rel=1e-3)
    assert own.tree_count_ == theirs.tree_count_ == 40
    assert own.feature_names_ == theirs.feature_names_
    assert own.best_iteration_ is theirs.best_iteration_ is None
    assert own.feature_importances_.sum() == pytest.approx(100.0)
    for kind in ("RawFormulaVal", "Probability", "LogProbability"):
        a, b = (m.predict(X_val, prediction_type=kind) for m in (theirs, own))
        assert a.shape == b.shape, kind
    shap = own.get_feature_importance(ours.Pool(X_val, y_val), type="ShapValues")
    pool = catboost.Pool(X_val, names[: y_val.size])
    assert shap.shape == theirs.get_feature_importance(pool, type="ShapValues").shape
    leaves = own.calc_leaf_indexes(ours.Pool(X_val, y_val))
    n_rows, n_trees = theirs.calc_leaf_indexes(catboost.Pool(X_val)).shape
    assert leaves.shape == (n_rows, n_trees * (1 if task == "binary" else 3))  # a tree per class
    np.testing.assert_allclose(np.exp(own.predict_log_proba(X_val)), own.predict_proba(X_val))
    assert own.is_fitted()
    assert own.random_seed_ == theirs.random_seed_ == 0
    every = own.get_all_params()
    assert (every["depth"], every["learning_rate"]) == (4, own.learning_rate_)
    assert "od_wait" not in every
    stages = list(own.staged_predict_proba(X_val, eval_period=15))
    assert len(stages) == 3
    np.testing.assert_array_equal(stages[-1], own.predict_proba(X_val))
    np.testing.assert_array_equal(stages[0], own.predict_proba(X_val, ntree_end=15))


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"loss_function": "MAE", "iterations": 150},
        {"loss_function": "Quantile:alpha=0.8", "iterations": 150},
        {"loss_function": "Poisson", "iterations": 150},
        {"loss_function": "Tweedie:variance_power=1.5", "iterations": 150},
        {"loss_function": "Huber:delta=2", "learning_rate": 0.2},
        {"loss_function": "LogCosh", "learning_rate": 0.2},
        {"loss_function": "MAPE", "iterations": 150},
        {"grow_policy": "Lossguide", "max_leaves": 8},
        {"grow_policy": "Depthwise", "min_data_in_leaf": 5},
        {"bootstrap_type": "Bayesian", "bagging_temperature": 0.5},
        {"boost_from_average": False},
    ],
    ids=str,
)
def test_regressors_agree(params):
    X, X_val, y, _ = positive()
    theirs, own = fit_both("CatBoostRegressor", X, y, {**SMALL, **params})
    a, b = theirs.predict(X_val), own.predict(X_val)
    assert np.corrcoef(a, b)[0, 1] > 0.95
    assert abs(a.mean() - b.mean()) < 0.1 * abs(a).mean()
    assert own.learning_rate_ == pytest.approx(theirs.learning_rate_, rel=1e-3)


def test_several_quantiles():
    X, X_val, y, _ = positive()
    params = {**SMALL, "loss_function": "MultiQuantile:alpha=0.1,0.9"}
    own = ours.CatBoostRegressor(**params).fit(X, y)
    assert own.predict(X_val).shape == (200, 2)


def test_classes_are_weighted():
    X, X_val, y, _ = split("binary")
    y = y ^ 1  # the second class is the smaller one
    for params in (
        {"class_weights": [1.0, 6.0]},
        {"class_weights": {0: 1.0, 1: 6.0}},
        {"scale_pos_weight": 6.0},
        {"auto_class_weights": "Balanced"},
        {"auto_class_weights": "SqrtBalanced"},
    ):
        theirs, own = fit_both("CatBoostClassifier", X, y, {**SMALL, **params})
        assert np.abs(theirs.predict_proba(X_val) - own.predict_proba(X_val)).mean() < 0.08, params
    with pytest.raises(ParameterError, match="pass only one of class_weights, scale_pos_weight"):
        ours.CatBoostClassifier(class_weights=[1, 2], scale_pos_weight=2).fit(X, y)
    with pytest.raises(ParameterError, match="is for 3 classes, and y has 2"):
        ours.CatBoostClassifier(class_weights=[1, 2, 3]).fit(X, y)


def test_the_best_round_is_kept_and_counted_from_zero():
    X, X_val, y, y_val = split("regression")
    params = {"iterations": 200, "learning_rate": 0.3, "custom_metric": ["MAE"]}
    theirs, own = fit_both("CatBoostRegressor", X, y, params, eval_set=(X_val, y_val))
    scores = own.evals_result_["validation"]["RMSE"]
    assert len(scores) == 200  # nothing stops early
    assert own.best_iteration_ == own.get_best_iteration() == np.argmin(scores)
    assert own.tree_count_ == own.best_iteration_ + 1
    assert own.best_score_["validation"]["RMSE"] == min(scores)
    assert own.get_best_score() == own.best_score_
    assert own.get_evals_result() == own.evals_result_
    assert own.best_score_["validation"].keys() == theirs.best_score_["validation"].keys()
    assert own.best_score_["validation"]["RMSE"] == pytest.approx(
        theirs.best_score_["validation"]["RMSE"], rel=0.1
    )
    rmse = np.sqrt(np.mean((own.predict(X_val) - y_val) ** 2))
    assert rmse == pytest.approx(min(scores))

    keeping = ours.CatBoostRegressor(**params, use_best_model=False)
    keeping.fit(X, y, eval_set=(X_val, y_val))
    assert keeping.tree_count_ == 200
    assert keeping.best_iteration_ < 199
    stopping = ours.CatBoostRegressor(**params, early_stopping_rounds=5)
    stopping.fit(X, y, eval_set=(X_val, y_val))
    n_rounds = len(stopping.evals_result_["validation"]["RMSE"])
    assert n_rounds == stopping.best_iteration_ + 6


def test_the_loss_of_the_training_rows_is_measured():
    X, X_val, y, y_val = split("regression")
    sets = [(X, y), (X_val, y_val)]
    theirs, own = fit_both(
        "CatBoostRegressor", X, y, {**SMALL, "eval_metric": "MAE"}, eval_set=sets
    )
    assert own.evals_result_.keys() == theirs.evals_result_.keys()
    a, b = (own.evals_result_[name]["RMSE"] for name in ("learn", "validation_0"))
    np.testing.assert_allclose(a, b)
    assert own.best_iteration_ == np.argmin(own.evals_result_["validation_1"]["MAE"])


def test_higher_is_better_for_some_metrics():
    X, X_val, y, y_val = split("binary")
    own = ours.CatBoostClassifier(iterations=60, eval_metric="AUC", custom_metric="F1")
    own.fit(X, y, eval_set=(X_val, y_val))
    auc = own.evals_result_["validation"]["AUC"]
    assert own.best_iteration_ == np.argmax(auc)
    assert own.best_score_["validation"]["AUC"] == max(auc)
    assert list(own.evals_result_["validation"]) == ["Logloss", "F1", "AUC"]


def test_objects_of_the_user(capsys):
    X, X_val, y, y_val = split("regression")

    class Squared:
        def calc_ders_range(self, approxes, targets, weights):
            return [(t - a, -1.0) for a, t in zip(approxes, targets, strict=True)]

    class Bias:
        def evaluate(self, approxes, target, weight):
            return abs(np.sum(target - approxes[0])), target.size

        def get_final_error(self, error, weight):
            return error / weight

        def is_max_optimal(self):
            return False

    class Stop:
        def __init__(self):
            self.seen = []

        def after_iteration(self, info):
            self.seen.append((info.iteration, len(info.metrics["validation"]["Bias"])))
            return info.iteration < 3

    stop = Stop()
    own = ours.CatBoostRegressor(
        iterations=30, learning_rate=0.1, loss_function=Squared(), eval_metric=Bias()
    )
    own.fit(X, y, eval_set=(X_val, y_val), callbacks=[stop], use_best_model=False)
    assert stop.seen == [(1, 1), (2, 2), (3, 3)]
    assert own.tree_count_ == 3
    assert capsys.readouterr().out == ""
    plain = ours.CatBoostRegressor(iterations=3, learning_rate=0.1, boost_from_average=False)
    np.testing.assert_allclose(own.predict(X_val), plain.fit(X, y).predict(X_val), rtol=1e-6)


def test_it_is_silent_unless_it_is_told_not_to_be(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, _, y, _ = split("binary")
    model = ours.CatBoostClassifier(iterations=5)
    model.fit(X, y)
    model.fit(X, y, verbose=False)
    model.fit(X, y, logging_level="Silent")
    assert capfd.readouterr() == ("", "")
    model.fit(X, y, verbose=2)
    lines = capfd.readouterr().out.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["0:", "2:", "4:"]
    assert not list(tmp_path.iterdir())
    with pytest.raises(ParameterError, match="pass only one of verbose, silent"):
        model.fit(X, y, verbose=True, silent=False)


def test_categories_and_pools():
    rng = np.random.default_rng(0)
    kinds = np.array(list("abcdefgh"))[rng.integers(0, 8, size=800)]
    table = pd.DataFrame({"size": rng.normal(size=800), "kind": kinds})
    y = table["size"] + np.isin(kinds, ["b", "e", "g"]) + 0.1 * rng.normal(size=800)
    theirs, own = fit_both("CatBoostRegressor", table, y, SMALL, cat_features=["kind"])
    assert np.corrcoef(theirs.predict(table), own.predict(table))[0, 1] > 0.95
    pool = ours.Pool(table, y, cat_features=[1], weight=np.ones(800))
    assert (pool.num_row(), pool.num_col()) == (800, 2)
    from_pool = ours.CatBoostRegressor(**SMALL).fit(pool, eval_set=pool)
    assert np.corrcoef(from_pool.predict(pool), own.predict(table))[0, 1] > 0.99
    assert set(from_pool.evals_result_) == {"learn", "validation"}
    with pytest.raises(DataError, match=r"'kind' holds strings.*is set by cat_features"):
        ours.CatBoostRegressor(**SMALL).fit(table, y)
    with pytest.raises(DataError, match=r"Pool\(group_id=...\) is not supported"):
        ours.Pool(table, y, group_id=np.zeros(800))
    with pytest.raises(DataError, match="sample_weight is part of the Pool"):
        own.fit(pool, sample_weight=np.ones(800))


def test_models_are_saved_loaded_continued_and_cut(tmp_path):
    X, X_val, y, _ = split("regression")
    own = ours.CatBoostRegressor(**SMALL).fit(X, y)
    path = tmp_path / "model.sumwise"
    own.save_model(path)
    loaded = ours.CatBoostRegressor().load_model(path)
    np.testing.assert_array_equal(loaded.predict(X_val), own.predict(X_val))
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(own)).predict(X_val), own.predict(X_val)
    )
    theirs = catboost.CatBoostRegressor(**SMALL, **THEIRS).fit(X, y)
    theirs.save_model(str(tmp_path / "model.json"), format="json")
    with pytest.raises(ModelFileError, match=r"read by sumwise\.from_catboost"):
        loaded.load_model(tmp_path / "model.json")
    for start in (own, theirs):
        assert ours.CatBoostRegressor(**SMALL).fit(X, y, init_model=start).tree_count_ == 80
    first = own.predict(X_val, ntree_end=10)
    own.shrink(10)
    np.testing.assert_array_equal(own.predict(X_val), first)
    assert own.tree_count_ == 10


def test_clear_errors():
    X, _, y, _ = split("binary")
    with pytest.raises(TypeError, match=r"no parameter 'iteration'.* did you mean 'iterations'"):
        ours.CatBoostClassifier(iteration=3)
    model = ours.CatBoostClassifier(iterations=5).fit(X, y)
    with pytest.raises(ParameterError, match="the model has 5 rounds"):
        model.predict(X, ntree_end=9)
    with pytest.raises(ParameterError, match="prediction_type='Label'; must be one of 'Class'"):
        model.predict(X, prediction_type="Label")
    with pytest.raises(ParameterError, match=r"fit\(plot=...\) is not supported"):
        model.fit(X, y, plot=True)
    with pytest.raises(ParameterError, match=r"fit\(text_features=...\) is not supported"):
        model.fit(X, y, text_features=[0])
    with pytest.raises(DataError, match="use_best_model=True needs eval_set"):
        model.fit(X, y, use_best_model=True)
    for loss, words in (("CrossEntropy", "cross_entropy"), ("Loglos", "did you mean 'Logloss'")):
        with pytest.raises(ParameterError, match=words):
            ours.CatBoostClassifier(loss_function=loss).fit(X, y)
    with pytest.raises(AttributeError, match="use CatBoostClassifier"):
        ours.CatBoost  # noqa: B018
