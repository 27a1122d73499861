import inspect
import warnings

import lightgbm
import numpy as np
import pytest
from lightgbm.basic import _ConfigAliases

from sumwise import ClassSubsample, Columns, Dart, Goss, LinearLeaves, Subsample, presets
from sumwise.compat.lightgbm import LGBMClassifier, LGBMRegressor
from sumwise.compat.lightgbm.parameters import SIGNATURE, TABLE, translate
from sumwise.errors import IgnoredParameterWarning, ParameterError


def translated(is_class=False, **params):
    model = (LGBMClassifier if is_class else LGBMRegressor)(**params)
    return translate("Model", model._resolve(), is_class)


def test_the_table_has_every_parameter_and_alias_of_the_installed_library():
    theirs = {name: set(names) for name, names in _ConfigAliases._get_all_param_aliases().items()}
    ours = {row.name: {row.name, *row.aliases} for row in TABLE.rows}
    assert ours == theirs


def test_the_constructor_has_their_parameters_and_defaults():
    theirs = {
        name: parameter.default
        for name, parameter in inspect.signature(lightgbm.LGBMModel.__init__).parameters.items()
        if name not in ("self", "kwargs")
    }
    assert dict(SIGNATURE) == theirs
    assert LGBMClassifier().get_params() == lightgbm.LGBMClassifier().get_params()


@pytest.mark.parametrize("method", ["fit", "predict", "predict_proba"])
def test_methods_have_their_parameters_in_their_order(method):
    theirs = inspect.signature(getattr(lightgbm.LGBMClassifier, method)).parameters
    assert list(inspect.signature(getattr(LGBMClassifier, method)).parameters) == list(theirs)


def test_defaults_are_those_of_the_preset():
    found = translated()
    assert {name: found[name] for name in presets.LIGHTGBM} == dict(presets.LIGHTGBM)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"eta": 0.3}, {"learning_rate": 0.3}),
        ({"num_boost_round": 7}, {"n_estimators": 7}),
        ({"min_split_gain": 1.0}, {"min_gain": 0.5}),
        ({"lambda": 2.0, "reg_alpha": 1.0}, {"l1": 1.0, "l2": 2.0}),
        ({"max_depth": 5}, {"max_depth": 5}),
        ({"max_depth": 0}, {"max_depth": None}),
        ({"subsample": 0.5}, {"sampler": None}),
        ({"subsample": 0.5, "subsample_freq": 1}, {"sampler": Subsample(rate=0.5)}),
        ({"data_sample_strategy": "goss", "top_rate": 0.3}, {"sampler": Goss(top_rate=0.3)}),
        ({"boosting_type": "goss"}, {"sampler": Goss(), "booster": "plain"}),
        ({"boosting_type": "dart", "max_drop": 0}, {"booster": Dart(max_drop=None)}),
        (
            {"colsample_bytree": 0.5, "colsample_bynode": 0.7},
            {"columns": Columns(by_tree=0.5, by_node=0.7)},
        ),
        (
            {"linear_tree": True, "linear_lambda": 0.1},
            {"leaves": LinearLeaves(l2=0.1, extrapolate=True)},
        ),
        ({"device": "gpu", "gpu_device_id": 1}, {"device": "cuda:1"}),
        ({"device": "cuda"}, {"device": "cuda"}),
        ({"random_state": 3, "n_jobs": -1}, {"random_state": 3, "n_jobs": None}),
        ({}, {"random_state": 0}),
    ],
)
def test_values_are_translated(theirs, ours):
    found = translated(**theirs)
    assert {name: found[name] for name in ours} == ours


def test_more_values_are_translated():
    found = translated(
        is_class=True, pos_bagging_fraction=0.5, bagging_freq=1, max_bin_by_feature=[9, 7]
    )
    assert found["sampler"] == ClassSubsample(rates=[1.0, 0.5])
    np.testing.assert_array_equal(found["max_bins"], [9, 7])
    found = translated(monotone_constraints="1,-1")
    np.testing.assert_array_equal(found["monotonic_cst"], [1, -1])
    encoding = translated(cat_l2=3.0, min_data_per_group=7)["categorical_encoding"]
    assert (encoding.l2, encoding.min_rows) == (3.0, 7)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"tree_learner": "data"}, "sumwise.dask"),
        ({"sigmoid": 2.0}, "log odds"),
        ({"zero_as_missing": True}, "replace zeros by NaN"),
        ({"forced_splits": "x.json"}, "forced_splits='x.json'"),
        ({"boosting_type": "dirt"}, "must be 'gbdt'"),
        ({"boosting_type": "rf"}, "needs rows or features at random"),
        ({"device": "tpu"}, "must be 'cpu'"),
        ({"eta": 0.1, "shrinkage_rate": 0.2}, "two names of one parameter"),
        ({"data_sample_strategy": "all"}, "'bagging' or 'goss'"),
    ],
)
def test_what_cannot_be_translated_is_an_error(params, words):
    with pytest.raises(ParameterError, match=words):
        translated(**params)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"force_col_wise": True}, "speed or memory"),
        ({"bagging_seed": 7}, "set `random_state`"),
        ({"min_data_in_bin": 1}, "minimum number of rows"),
        ({"subsample": 0.5, "subsample_freq": 5}, "in every round"),
    ],
)
def test_what_makes_no_difference_is_a_warning(params, words):
    with pytest.warns(IgnoredParameterWarning, match=words) as warned:
        translated(**params)
    assert len(warned) == 1


def test_nothing_is_said_about_output_and_determinism():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        translated(verbose=-1, deterministic=True)
