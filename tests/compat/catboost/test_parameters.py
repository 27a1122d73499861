import inspect
import warnings

import catboost
import numpy as np
import pytest

from sumwise import BayesianBootstrap, Columns, Mvs, Subsample, presets
from sumwise.compat.catboost import CatBoostClassifier, CatBoostRegressor
from sumwise.compat.catboost.parameters import CLASSIFIER, REGRESSOR, TABLE, translate
from sumwise.errors import IgnoredParameterWarning, ParameterError


def translated(*args, n_rows=1000, many=False, **params):
    return translate("Model", CatBoostRegressor(*args, **params)._resolve(), n_rows, many)


def list_names(kind):
    return [n for n in inspect.signature(kind.__init__).parameters if n not in ("self", "kwargs")]


def test_constructors_have_every_parameter_of_the_installed_library():
    assert list(REGRESSOR) == list_names(catboost.CatBoostRegressor)
    assert set(CLASSIFIER) == set(list_names(catboost.CatBoostClassifier))
    assert TABLE.names == set(CLASSIFIER)
    # The first parameters, which may be passed by position.
    assert list(CLASSIFIER)[:6] == list_names(catboost.CatBoostClassifier)[:6]
    assert translated(7, 0.5, 3) | {} == translated(iterations=7, learning_rate=0.5, depth=3)


def test_synonyms_are_those_of_the_installed_library():
    for row in TABLE.rows:
        for alias in row.aliases:
            params = {alias: "value"}
            if alias == "device_config":  # an old name that is not translated there
                continue
            catboost.core._process_synonyms(params)
            assert list(params) == [row.name], alias


def test_defaults_are_those_of_the_preset():
    found = translated()
    same = {
        name: value
        for name, value in presets.CATBOOST.items()
        if name not in ("learning_rate", "sampler", "categorical_encoding", "l1", "min_gain",
                        "max_delta_step")
    }  # fmt: skip
    assert {name: found[name] for name in same} == same
    assert found["sampler"] == Mvs()
    assert found["categorical_encoding"].method == "ordered"


@pytest.mark.parametrize("method", ["predict", "predict_proba", "staged_predict"])
def test_methods_have_their_parameters(method):
    theirs = inspect.signature(getattr(catboost.CatBoostClassifier, method)).parameters
    assert list(inspect.signature(getattr(CatBoostClassifier, method)).parameters) == list(theirs)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"n_estimators": 7}, {"n_estimators": 7}),
        ({"reg_lambda": 1.0}, {"l2": 1.0}),
        ({"border_count": 32}, {"max_bins": 33}),
        ({"grow_policy": "Depthwise", "min_child_samples": 5},
         {"growth": "depth", "min_samples_leaf": 5, "max_leaves": None}),
        ({"grow_policy": "Lossguide", "num_leaves": 9}, {"growth": "leaf", "max_leaves": 9}),
        ({"min_data_in_leaf": 5}, {"min_samples_leaf": 1}),
        ({"boosting_type": "Ordered"}, {"booster": "ordered"}),
        ({"bootstrap_type": "Bernoulli"}, {"sampler": Subsample(rate=0.8)}),
        ({"bootstrap_type": "Bernoulli", "subsample": 0.5}, {"sampler": Subsample(rate=0.5)}),
        ({"bootstrap_type": "MVS", "mvs_reg": 2.0}, {"sampler": Mvs(rate=0.8, reg=2.0)}),
        ({"bootstrap_type": "Bayesian", "bagging_temperature": 0.5},
         {"sampler": BayesianBootstrap(0.5)}),
        ({"bootstrap_type": "No"}, {"sampler": None}),
        ({"n_rows": 99}, {"sampler": None}),
        ({"many": True}, {"sampler": BayesianBootstrap(1.0)}),
        ({"rsm": 0.5}, {"columns": Columns(by_level=0.5)}),
        ({"task_type": "GPU", "devices": "0:2"}, {"device": "cuda:0,2"}),
        ({"task_type": "GPU", "devices": "1-3"}, {"device": "cuda:1,2,3"}),
        ({"task_type": "GPU", "devices": [0]}, {"device": "cuda:0"}),
        ({"thread_count": -1, "random_state": 3}, {"n_jobs": None, "random_state": 3}),
    ],
)  # fmt: skip
def test_values_are_translated(theirs, ours):
    found = translated(**theirs)
    assert {name: found[name] for name in ours} == ours


def test_statistics_of_categories():
    found = translated(one_hot_max_size=10, max_ctr_complexity=1)["categorical_encoding"]
    assert (found.native_limit, found.combinations) == (10, 0)
    assert translated(max_ctr_complexity=2)["categorical_encoding"].max_combined == 2
    np.testing.assert_array_equal(translated(monotone_constraints="(1,0)")["monotonic_cst"], [1, 0])
    named = translated(monotone_constraints="a:1,b:-1")["monotonic_cst"]
    assert named == {"a": 1, "b": -1}


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"od_pval": 0.1}, "od_type='Iter'"),
        ({"text_features": [0]}, "make numbers of them"),
        ({"langevin": True}, "Langevin"),
        ({"simple_ctr": ["Counter"]}, "TargetStatistics"),
        ({"ignored_features": [1]}, "drop these columns"),
        ({"bootstrap_type": "Poisson"}, "must be one of 'MVS'"),
        ({"bootstrap_type": "No", "subsample": 0.5}, "has no subsample"),
        ({"grow_policy": "Tree"}, "must be one of 'SymmetricTree'"),
        ({"depth": 3, "max_depth": 4}, "two names of one parameter"),
    ],
)
def test_what_cannot_be_translated_is_an_error(params, words):
    with pytest.raises(ParameterError, match=words):
        translated(**params)


@pytest.mark.parametrize(
    "params",
    [
        {"random_strength": 2.0},
        {"leaf_estimation_iterations": 10},
        {"leaf_estimation_method": "Gradient"},
        {"score_function": "L2"},
        {"nan_mode": "Max"},
        {"fold_len_multiplier": 3},
    ],
    ids=str,
)
def test_what_is_ignored_is_a_warning(params):
    with pytest.warns(IgnoredParameterWarning, match=next(iter(params))):
        translated(**params)


def test_nothing_is_said_where_nothing_differs():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        translated(random_strength=0, leaf_estimation_iterations=1, allow_writing_files=False)
