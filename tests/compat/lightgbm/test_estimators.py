"""LightGBM's estimators: the same calls give about the same results and attributes."""

import pickle
import warnings

import lightgbm
import numpy as np
import pandas as pd
import pytest

import sumwise
from sumwise.compat import lightgbm as ours
from sumwise.errors import (
    DataError,
    IgnoredParameterWarning,
    ModelFileError,
    ParameterError,
    UnknownParameterError,
)
from tests.compat.rival_data import positive, split

SMALL = {"n_estimators": 15, "num_leaves": 7, "verbose": -1, "n_jobs": 1}


def fit_both(kind, X, y, params, **options):
    own = {k: v for k, v in options.items() if k != "callbacks"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of eval_set, which LightGBM deprecates
        theirs = getattr(lightgbm, kind)(**params).fit(X, y, **own)
    return theirs, getattr(ours, kind)(**params).fit(X, y, **options)


@pytest.mark.parametrize("task", ["binary", "several"])
def test_classifiers_agree(task):
    X, X_val, y, y_val = split(task)
    names = y.astype(str)
    theirs, own = fit_both("LGBMClassifier", X, names, SMALL)
    difference = np.abs(theirs.predict_proba(X_val) - own.predict_proba(X_val))
    assert difference.mean() < 0.03
    assert (theirs.predict(X_val) == own.predict(X_val)).mean() > 0.95
    np.testing.assert_array_equal(own.classes_, theirs.classes_)
    for name in ("n_classes_", "n_features_", "n_features_in_", "n_iter_", "n_estimators_"):
        assert getattr(own, name) == getattr(theirs, name), name
    for name in ("objective_", "feature_name_", "best_iteration_", "evals_result_"):
        assert getattr(own, name) == getattr(theirs, name), name
    for option in ("raw_score", "pred_leaf", "pred_contrib"):
        found = own.predict(X_val, **{option: True})
        assert found.shape == theirs.predict(X_val, **{option: True}).shape, option
    leaves = own.predict(X_val, pred_leaf=True, num_iteration=2, start_iteration=1)
    n_outputs = 1 if task == "binary" else 3
    assert leaves.shape == (y_val.size, 2 * n_outputs)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"objective": "regression_l1"},
        {"objective": "quantile", "alpha": 0.8},
        {"objective": "poisson"},
        {"objective": "gamma"},
        {"objective": "tweedie", "tweedie_variance_power": 1.3},
        {"objective": "huber", "alpha": 0.5},
        {"objective": "mape"},
        {"subsample": 0.7, "subsample_freq": 1, "colsample_bytree": 0.8},
        {"boosting_type": "rf", "subsample": 0.7, "subsample_freq": 1},
        {"boost_from_average": False},
        {"boost_from_average": False, "objective": "tweedie"},
        pytest.param({"objective": lambda y, raw: (raw - y, np.ones_like(y))}, id="own objective"),
    ],
    ids=str,
)
def test_regressors_agree(params):
    X, X_val, y, _ = positive()
    theirs, own = fit_both("LGBMRegressor", X, y, {**SMALL, **params})
    a, b = theirs.predict(X_val), own.predict(X_val)
    assert np.corrcoef(a, b)[0, 1] > 0.95
    assert abs(a.mean() - b.mean()) < 0.1 * abs(a).mean()
    raw = own.predict(X_val, raw_score=True)
    assert np.corrcoef(raw, theirs.predict(X_val, raw_score=True))[0, 1] > 0.95


def test_weights_and_scores_agree():
    X, X_val, y, _ = split("binary")
    weight = np.random.default_rng(0).uniform(0.2, 3.0, size=y.size)
    score = np.full(y.size, 0.5)
    for params in ({"class_weight": "balanced"}, {"scale_pos_weight": 5.0}, {"is_unbalance": True}):
        theirs, own = fit_both("LGBMClassifier", X, y, {**SMALL, **params}, sample_weight=weight)
        difference = np.abs(theirs.predict_proba(X_val) - own.predict_proba(X_val))
        assert difference.mean() < 0.03, params
    theirs, own = fit_both("LGBMClassifier", X, y, SMALL, init_score=score)
    raw = [model.predict(X_val, raw_score=True) for model in (theirs, own)]
    assert np.abs(raw[0] - raw[1]).mean() < 0.15


def test_evaluation_has_their_names_and_order():
    X, X_val, y, y_val = split("binary")
    options = {"eval_set": [(X, y), (X_val, y_val)], "eval_metric": ["auc", "binary_error"]}
    theirs, own = fit_both("LGBMClassifier", X, y, SMALL, **options)
    shape = {name: list(found) for name, found in theirs.evals_result_.items()}
    assert {name: list(found) for name, found in own.evals_result_.items()} == shape
    for name, metrics in theirs.evals_result_.items():
        for metric, values in metrics.items():
            assert own.evals_result_[name][metric] == pytest.approx(values, abs=0.06)
            assert own.best_score_[name][metric] == own.evals_result_[name][metric][-1]
    assert own.best_iteration_ == theirs.best_iteration_ == 0


def test_early_stopping_keeps_the_best_round_of_the_metric_that_stops():
    X, X_val, y, y_val = split("regression")
    seen, user = {}, []
    stop = ours.early_stopping(4, verbose=False)
    own = ours.LGBMRegressor(n_estimators=300, learning_rate=0.3).fit(
        X,
        y,
        eval_set=[(X_val, y_val)],
        eval_metric="l1",
        callbacks=[stop, ours.record_evaluation(seen), lambda env: user.append(env.iteration)],
    )
    assert list(seen["valid_0"]) == ["l1", "l2"]
    assert seen == own.evals_result_
    stops = {m: int(np.argmin(values)) + 1 for m, values in seen["valid_0"].items()}
    assert own.best_iteration_ in stops.values()
    n_rounds = len(seen["valid_0"]["l2"])
    assert n_rounds == own.best_iteration_ + 4
    assert user == list(range(n_rounds))
    assert own.n_estimators_ == own.model_.best_iteration_ == own.best_iteration_
    best = {m: values[own.best_iteration_ - 1] for m, values in seen["valid_0"].items()}
    assert own.best_score_ == {"valid_0": best}


def test_early_stopping_by_parameter_ignores_the_training_rows():
    X, X_val, y, y_val = split("regression")
    options = {"eval_set": [(X, y), (X_val, y_val)]}
    params = {"n_estimators": 300, "learning_rate": 0.3, "early_stopping_round": 5, "verbose": -1}
    theirs, own = fit_both("LGBMRegressor", X, y, params, **options)
    scores = own.evals_result_["valid_1"]["l2"]
    assert own.best_iteration_ == np.argmin(scores) + 1 == len(scores) - 5
    assert abs(own.best_iteration_ - theirs.best_iteration_) < 10
    with pytest.raises(DataError, match="early stopping needs eval_set"):
        ours.LGBMRegressor(early_stopping_rounds=3).fit(X, y)


def test_callbacks_show_change_and_stop(capsys):
    X, X_val, y, y_val = split("regression")

    def stop_at_three(env):
        if env.iteration == 2:
            raise ours.EarlyStopException(1, env.evaluation_result_list)

    show, rates = ours.log_evaluation(2), ours.reset_parameter(learning_rate=lambda k: 0.5**k)
    own = ours.LGBMRegressor(n_estimators=5).fit(
        X, y, eval_set=[(X_val, y_val)], callbacks=[show, rates, stop_at_three]
    )
    assert own.best_iteration_ == own.n_iter_ == 2
    assert own.model_.learning_rate[3] == 0.125
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("[2]\tvalid_0's l2: ")
    with pytest.raises(ParameterError, match="only learning_rate can change"):
        ours.reset_parameter(num_leaves=[3, 4])
    with pytest.raises(AttributeError, match="no booster of LightGBM"):
        ours.LGBMRegressor(n_estimators=2).fit(X, y, callbacks=[lambda env: env.model.eval])


def test_callbacks_of_lightgbm_itself_work():
    X, X_val, y, y_val = split("regression")
    seen = {}
    stop = lightgbm.early_stopping(5, verbose=False)
    options = {"eval_set": [(X_val, y_val)], "callbacks": [stop, lightgbm.record_evaluation(seen)]}
    own = ours.LGBMRegressor(learning_rate=0.3, n_estimators=200).fit(X, y, **options)
    same = ours.LGBMRegressor(learning_rate=0.3, n_estimators=200, early_stopping_round=5)
    same.fit(X, y, eval_set=[(X_val, y_val)])
    assert own.best_iteration_ == same.best_iteration_ > 0
    assert own.best_score_ == same.best_score_
    assert seen["valid_0"]["l2"] == own.evals_result_["valid_0"]["l2"]


def test_a_metric_of_the_user_says_its_name_and_direction():
    X, X_val, y, y_val = split("binary")

    def hits(y_true, y_pred):
        return "hits", np.mean((y_pred > 0.5) == y_true), True

    own = ours.LGBMClassifier(n_estimators=30).fit(
        X,
        y,
        eval_set=[(X_val, y_val)],
        eval_metric=hits,
        callbacks=[ours.early_stopping(3, first_metric_only=True, verbose=False)],
    )
    scores = own.evals_result_["valid_0"]["hits"]
    assert own.best_iteration_ == np.argmax(scores) + 1
    assert own.score(X_val, y_val) == pytest.approx(max(scores))
    with pytest.raises(ParameterError, match="returns one tuple"):
        own.fit(X, y, eval_set=[(X_val, y_val)], eval_metric=lambda y, p: 0.5)


def test_nothing_is_printed(capfd):
    X, _, y, _ = split("binary")
    ours.LGBMClassifier(n_estimators=3, verbose=2).fit(X, y, eval_set=[(X, y)])
    assert capfd.readouterr() == ("", "")


def test_categories():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.normal(size=600), "kind": rng.integers(0, 8, size=600)})
    y = table["size"] + np.isin(table["kind"], [1, 4, 6])
    as_type = table.astype({"kind": "category"})
    theirs, own = fit_both("LGBMRegressor", as_type, y, SMALL)
    assert np.corrcoef(theirs.predict(as_type), own.predict(as_type))[0, 1] > 0.98
    by_name = ours.LGBMRegressor(**SMALL).fit(table, y, categorical_feature=["kind"])
    by_number = ours.LGBMRegressor(**SMALL, categorical_feature="1").fit(table.to_numpy(), y)
    np.testing.assert_array_equal(by_name.predict(table), by_number.predict(table.to_numpy()))
    assert by_name.model_.schema_.n_categories.tolist() == [0, 8]
    names = ours.LGBMRegressor(**SMALL).fit(
        table.to_numpy(), y, feature_name=["a", "b"], categorical_feature=["b"]
    )
    assert names.feature_name_ == ["a", "b"]
    np.testing.assert_array_equal(
        names.predict(table.to_numpy()), by_number.predict(table.to_numpy())
    )


def test_importances():
    X, _, y, _ = split("regression")
    own = ours.LGBMRegressor(**SMALL).fit(X, y)
    theirs = lightgbm.LGBMRegressor(**SMALL).fit(X, y)
    assert own.feature_importances_.sum() == theirs.feature_importances_.sum()
    gains = [m.set_params(importance_type="gain").feature_importances_ for m in (own, theirs)]
    assert gains[0].sum() == pytest.approx(gains[1].sum(), rel=0.05)


def test_models_are_saved_loaded_and_continued(tmp_path):
    X, X_val, y, _ = split("regression")
    own = ours.LGBMRegressor(**SMALL).fit(X, y)
    path = tmp_path / "model.sumwise"
    own.save_model(path)
    loaded = ours.LGBMRegressor().load_model(path)
    np.testing.assert_array_equal(loaded.predict(X_val), own.predict(X_val))
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(own)).predict(X_val), own.predict(X_val)
    )
    np.testing.assert_array_equal(sumwise.load(path).predict(X_val), own.predict(X_val))

    theirs = lightgbm.LGBMRegressor(**SMALL).fit(X, y)
    theirs.booster_.save_model(tmp_path / "model.txt")
    with pytest.raises(ModelFileError, match=r"read by sumwise\.from_lightgbm"):
        loaded.load_model(tmp_path / "model.txt")
    with pytest.raises(ModelFileError, match="LGBMClassifier cannot hold"):
        ours.LGBMClassifier().load_model(path)
    assert not hasattr(loaded, "model_")
    for start in (own, own.model_, path, theirs, tmp_path / "model.txt"):
        longer = ours.LGBMRegressor(**SMALL).fit(X, y, init_model=start)
        assert longer.n_estimators_ == 30


def test_clear_errors():
    X, _, y, _ = split("binary")
    with pytest.raises(UnknownParameterError, match=r"no parameter 'num_leafs'.* 'num_leaf"):
        ours.LGBMClassifier(num_leafs=3)
    with pytest.raises(UnknownParameterError, match="no parameter 'leaves'"):
        ours.LGBMClassifier().set_params(leaves=3)
    model = ours.LGBMClassifier(**SMALL).fit(X, y)
    with pytest.raises(AttributeError, match="model_ is the fitted"):
        model.booster_  # noqa: B018
    with pytest.raises(ParameterError, match="no option 'pred_early_stop'"):
        model.predict(X, pred_early_stop=True)
    for objective, words in (
        ("multiclassova", "OneVsRestClassifier"),
        ("lambdarank", "ranking"),
        ("binery", "did you mean 'binary'"),
    ):
        with pytest.raises(ParameterError, match=words):
            ours.LGBMClassifier(objective=objective).fit(X, y)
    with pytest.raises(ParameterError, match=r"max_leaves=1; .*max_leaves is set by num_leaves"):
        ours.LGBMClassifier(num_leaves=1).fit(X, y)
    with pytest.raises(ParameterError, match="do not name feature 2"):
        ours.LGBMClassifier(interaction_constraints=[[0, 1]]).fit(X, y)
    with pytest.raises(AttributeError, match="use LGBMClassifier or LGBMRegressor"):
        ours.train  # noqa: B018
    with pytest.warns(IgnoredParameterWarning, match="'dart'"):
        ours.LGBMClassifier(boosting_type="dart", early_stopping_round=2, n_estimators=3).fit(
            X, y, eval_set=[(X, y)]
        )
