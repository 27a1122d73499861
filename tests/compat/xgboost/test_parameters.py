import inspect
import json
import warnings

import numpy as np
import pytest
import xgboost

from sumwise import Columns, Dart, Linear, Mvs, Plain, Subsample, presets
from sumwise.compat.xgboost import XGBClassifier, XGBRegressor, XGBRFClassifier, XGBRFRegressor
from sumwise.compat.xgboost.parameters import SIGNATURE, TABLE, translate
from sumwise.errors import IgnoredParameterWarning, ParameterError

# What a model stores about itself under these names are no parameters.
INTERNAL = {
    "boost_from_average",
    "name",
    "num_feature",
    "num_target",
    "num_trees",
    "specified_updater",
    "updater_seq",
}


def translated(**params):
    return translate("Model", XGBRegressor(**params)._resolve())


def list_names(config, found):
    for name, value in config.items():
        if isinstance(value, dict):
            list_names(value, found)
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, dict):
                    list_names(item, found)
        else:
            found.add(name)


def test_the_table_has_every_parameter_of_the_installed_library():
    X = np.random.default_rng(0).uniform(size=(20, 2))
    table, names = xgboost.DMatrix(X, (X[:, 0] > 0.5).astype(int)), set()
    for params in (
        {},
        {"booster": "dart"},
        {"booster": "gblinear"},
        {"tree_method": "approx"},
        {"tree_method": "exact"},
        {"objective": "reg:tweedie"},
        {"objective": "reg:pseudohubererror"},
        {"objective": "reg:quantileerror", "quantile_alpha": 0.5},
        {"objective": "rank:ndcg"},
        {"objective": "count:poisson"},
        {"objective": "multi:softprob", "num_class": 2},
    ):
        booster = xgboost.train(params, table, 1)
        list_names(json.loads(booster.save_config()), names)
    wrapper = set(inspect.signature(xgboost.XGBModel.__init__).parameters) - {"self", "kwargs"}
    assert (names - INTERNAL) | wrapper <= TABLE.names


def test_the_constructor_has_their_parameters_and_defaults():
    theirs = inspect.signature(xgboost.XGBModel.__init__).parameters
    assert list(SIGNATURE) == [name for name in theirs if name not in ("self", "kwargs")]
    for name in ("XGBClassifier", "XGBRegressor", "XGBRFClassifier", "XGBRFRegressor"):
        kinds = {
            kind.__name__: kind
            for kind in (XGBClassifier, XGBRegressor, XGBRFClassifier, XGBRFRegressor)
        }
        own, other = kinds[name]().get_params(), getattr(xgboost, name)().get_params()
        np.testing.assert_equal(own, other)


def test_parameters_are_listed_as_theirs():
    own, theirs = XGBRFRegressor(n_estimators=7), xgboost.XGBRFRegressor(n_estimators=7)
    assert own.get_num_boosting_rounds() == theirs.get_num_boosting_rounds() == 1
    assert own.get_xgb_params().keys() == theirs.get_xgb_params().keys()


@pytest.mark.parametrize("method", ["fit", "predict", "predict_proba", "apply"])
def test_methods_have_their_parameters(method):
    theirs = inspect.signature(getattr(xgboost.XGBClassifier, method)).parameters
    assert list(inspect.signature(getattr(XGBClassifier, method)).parameters) == list(theirs)


def test_defaults_are_those_of_the_preset():
    found = translated()
    assert {name: found[name] for name in presets.XGBOOST} == dict(presets.XGBOOST)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"eta": 0.1}, {"learning_rate": 0.1}),
        ({"min_split_loss": 3.0}, {"min_gain": 1.5}),
        ({"alpha": 1.0, "lambda": 2.0}, {"l1": 1.0, "l2": 2.0}),
        ({"max_depth": 0, "max_leaves": 9}, {"max_depth": None, "max_leaves": 9}),
        ({"grow_policy": "lossguide", "max_leaves": 31}, {"growth": "leaf", "max_leaves": 31}),
        ({"grow_policy": "lossguide", "max_depth": 3}, {"max_depth": 3, "max_leaves": 8}),
        ({"max_bin": 64}, {"max_bins": 64}),
        ({"subsample": 0.5}, {"sampler": Subsample(rate=0.5)}),
        (
            {"subsample": 0.5, "sampling_method": "gradient_based"},
            {"sampler": Mvs(rate=0.5)},
        ),
        (
            {"colsample_bytree": 0.5, "colsample_bylevel": 0.6, "colsample_bynode": 0.7},
            {"columns": Columns(by_tree=0.5, by_level=0.6, by_node=0.7)},
        ),
        ({"tree_method": "exact"}, {"splits": "exact"}),
        ({"tree_method": "gpu_hist"}, {"device": "cuda"}),
        ({"device": "gpu:1"}, {"device": "cuda:1"}),
        ({"num_parallel_tree": 4}, {"booster": Plain(trees_per_round=4)}),
        (
            {"booster": "dart", "rate_drop": 0.2, "skip_drop": 0.3, "normalize_type": "forest"},
            {"booster": Dart(0.2, None, 0.3, "forest")},
        ),
        ({"booster": "gblinear"}, {"booster": Linear(), "learning_rate": 0.5}),
        ({"booster": "gblinear", "reg_lambda": 0.1}, {"booster": Linear(l2=0.1)}),
        ({"enable_categorical": True}, {"categorical_features": "auto"}),
        ({"feature_types": ["q", "c", "int"]}, {"categorical_features": [1]}),
        ({"monotone_constraints": {"a": 1}}, {"monotonic_cst": {"a": 1}}),
        ({"seed": 4, "nthread": 2}, {"random_state": 4, "n_jobs": 2}),
    ],
)
def test_values_are_translated(theirs, ours):
    found = translated(**theirs)
    assert {name: found[name] for name in ours} == ours


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"process_type": "update"}, "model_.refit"),
        ({"one_drop": True}, "may drop nothing"),
        ({"updater": "shotgun"}, "tree_method"),
        ({"booster": "tree"}, "must be one of 'gbtree'"),
        ({"device": "sycl"}, "must be 'cpu'"),
        ({"eta": 0.1, "learning_rate": 0.2}, "two names of one parameter"),
        ({"booster": "dart", "num_parallel_tree": 2}, "is for booster='gbtree'"),
    ],
)
def test_what_cannot_be_translated_is_an_error(params, words):
    with pytest.raises(ParameterError, match=words):
        translated(**params)


def test_what_makes_no_difference_is_a_warning():
    with pytest.warns(IgnoredParameterWarning, match="speed or memory"):
        translated(sparse_threshold=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        translated(verbosity=3, validate_parameters=False)
