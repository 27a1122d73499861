"""The parameters of the boosting estimators."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from sumwise import Columns, GradientBoostingClassifier, GradientBoostingRegressor, Subsample
from sumwise.errors import ParameterError
from tests.estimators.boosting.fits import (
    BINARY,
    SMALL,
    X,
    Y,
)

# Parameters


def test_parameters_are_keywords_only():
    signature = inspect.signature(GradientBoostingRegressor)
    assert {p.kind for p in signature.parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}
    own = dict(inspect.signature(GradientBoostingClassifier).parameters)
    names = ("class_weight", "scale_pos_weight", "calibrate")
    assert [own.pop(name).default for name in names] == [None, 1.0, None]
    others = dict(signature.parameters)
    assert others.pop("multi_strategy").default == "one_output_per_tree"
    assert own == others


def test_docstrings_name_every_parameter():
    for kind in (GradientBoostingClassifier, GradientBoostingRegressor):
        assert "{parameters}" not in kind.__doc__
        for name in kind().get_params():
            assert name in kind.__doc__


def test_clone_copies_parts_and_forgets_the_fit():
    model = GradientBoostingRegressor(**SMALL, sampler=Subsample(rate=0.4), columns=Columns())
    model.fit(X, Y)
    copy = clone(model)
    assert copy.get_params(deep=False) == model.get_params(deep=False)
    assert copy.sampler is not model.sampler
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)


def test_nested_parameters():
    model = GradientBoostingRegressor(sampler=Subsample(), columns=Columns())
    assert model.get_params()["sampler__rate"] == 0.8
    model.set_params(sampler__rate=0.3, columns__by_node=0.5, n_estimators=7)
    assert (model.sampler.rate, model.columns.by_node, model.n_estimators) == (0.3, 0.5, 7)
    model.set_params(sampler=Subsample(rate=0.6), sampler__rate=0.2)
    assert model.sampler == Subsample(rate=0.2)
    assert set(GradientBoostingRegressor().get_params()) == set(model.get_params(deep=False))


@pytest.mark.parametrize(
    ("params", "change", "message"),
    [
        ({"sampler": "subsample"}, {"sampler__rate": 0.5}, r"sampler='subsample'.*Subsample\(rate"),
        ({}, {"sampler__rate": 0.5}, r"sampler=None.*Subsample\(rate=\.\.\.\)"),
        ({}, {"columns__by_tree": 0.5}, r"columns=None.*Columns\(by_tree=\.\.\.\)"),
        (
            {"sampler": Subsample()},
            {"sampler": None, "sampler__rate": 0.5},
            r"sampler=None.*Subsample",
        ),
        ({"sampler": Subsample()}, {"sampler__share": 0.5}, r"Subsample.*'share'.*rate"),
        ({}, {"subsample": 0.5}, r"no parameter 'subsample'; did you mean 'sampler'"),
    ],
)
def test_nested_parameters_that_cannot_be_set(params, change, message):
    model = GradientBoostingRegressor(**params)
    with pytest.raises(ValueError, match=message):
        model.set_params(**change)
    assert model.get_params(deep=False)["sampler"] == params.get("sampler")


def test_grid_search_over_the_parameters_of_parts():
    model = GradientBoostingRegressor(**SMALL, sampler=Subsample(), columns=Columns())
    grid = {"sampler__rate": [0.5, 1.0], "columns__by_tree": [0.25, 1.0], "max_depth": [2]}
    search = GridSearchCV(model, grid, cv=3).fit(X, Y)
    assert search.best_params_["columns__by_tree"] == 1.0
    assert search.best_estimator_.sampler.rate == search.best_params_["sampler__rate"]
    assert (model.sampler, model.columns) == (Subsample(), Columns())


def test_grid_search_over_parts():
    grid = {"sampler": [None, "subsample", Subsample(rate=0.5)]}
    search = GridSearchCV(GradientBoostingClassifier(**SMALL), grid, cv=2).fit(X, BINARY)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_pipeline_and_cross_validation():
    X_finite = np.nan_to_num(X, posinf=9, neginf=-9)
    pipeline = make_pipeline(StandardScaler(), GradientBoostingClassifier(**SMALL))
    scores = cross_val_score(pipeline, X_finite, BINARY, cv=4)
    assert scores.shape == (4,)
    assert scores.mean() > 0.6
    pipeline.set_params(gradientboostingclassifier__max_depth=1).fit(X_finite, BINARY)
    assert pipeline[-1].apply(pipeline[:-1].transform(X_finite)).max() == 2


BAD_PARAMETERS = [
    ("loss", ["absolute", None, 1], "must be one of 'auto'"),
    ("n_estimators", [0, -5, 1.5, 10.0, True, "10", None], "integer of at least 1"),
    ("learning_rate", [0, -0.1, np.nan, "0.1", None, True], "number above 0"),
    ("learning_rate", [np.inf], "finite"),
    ("growth", ["best", None, ["leaf"], 0], "one of 'leaf', 'depth', 'symmetric'"),
    ("max_leaves", [1, 0, 2.5, "8"], "integer of at least 2 or None"),
    ("max_depth", [0, -1, 3.0, "3"], "integer of at least 1 or None"),
    ("min_samples_leaf", [0, 0.1, None], "integer of at least 1"),
    ("min_child_weight", [-1, np.nan, None], "number at least 0"),
    ("min_gain", [-1e-9, np.nan, "0"], "number at least 0"),
    ("l1", [-1, np.nan], "number at least 0"),
    ("l2", [-1, np.nan, None], "number at least 0"),
    ("l2", [np.inf], "finite"),
    ("max_delta_step", [-1, np.nan], "number at least 0"),
    ("max_bins", [1, 65536, 64.0, None], "integer of at least 2 and at most 65535"),
    ("sampler", ["bagging", 0.5, Subsample, Columns()], r"Subsample\(\.\.\.\), .*'subsample', "),
    ("columns", ["columns", 0.5, Columns, Subsample()], r"Columns\(\.\.\.\) or None"),
    ("early_stopping", ["yes", 1, None], "one of 'auto', 'oob', True, False"),
    ("validation_fraction", [0, 1.0, 20, -0.1, None], "number above 0 and at most 0.99"),
    ("validation_rows", ["first", 0.2, None], "one of 'random', 'last'"),
    ("scoring", ["auc", None, 3, ["r2", 3]], "must be 'loss', the name of a scikit-learn scorer"),
    ("n_iter_no_change", [0, None, 2.5], "integer of at least 1"),
    ("tol", [-1e-9, np.nan, None], "number at least 0"),
    ("callbacks", [print, [1], "print"], "must be None or a list of functions"),
    ("warm_start", ["yes", None, 1], "one of True, False"),
    ("n_jobs", [0, 1.5, "all", True], "nonzero integer or None"),
]


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [(name, value, rule) for name, values, rule in BAD_PARAMETERS for value in values],
)
@pytest.mark.parametrize("kind", [GradientBoostingClassifier, GradientBoostingRegressor])
def test_bad_parameters(kind, name, value, rule):
    with pytest.raises(ParameterError, match=f"{name}=.*{rule}"):
        kind(**{name: value}).fit(X, BINARY)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (Subsample(rate=0), r"Subsample\(rate=0\).*\(0, 1\]"),
        (Subsample(rate=1.5), r"Subsample\(rate=1\.5\)"),
        (Subsample(rate="half"), r"Subsample\(rate='half'\)"),
        (Columns(by_tree=0), r"Columns\(by_tree=0\).*\(0, 1\]"),
        (Columns(by_level=-1), r"Columns\(by_level=-1\)"),
        (Columns(by_node=np.nan), r"Columns\(by_node=nan\)"),
    ],
    ids=repr,
)
def test_bad_parameters_of_parts(part, message):
    name = "sampler" if isinstance(part, Subsample) else "columns"
    with pytest.raises(ParameterError, match=message):
        GradientBoostingRegressor(**{name: part}).fit(X, Y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_depth": 17}, "max_depth=17.*at most 16"),
        ({"max_leaves": 2**17}, "max_leaves=131072.*at most 65536"),
    ],
)
def test_symmetric_trees_that_are_too_deep(params, message):
    with pytest.raises(ParameterError, match=message):
        GradientBoostingRegressor(growth="symmetric", **params).fit(X, Y)


def test_numpy_numbers_as_parameters(bytes_of):
    plain = GradientBoostingRegressor(n_estimators=3, l2=0.5, max_depth=2).fit(X, Y)
    params = {"n_estimators": np.int64(3), "l2": np.float32(0.5), "max_depth": np.uint8(2)}
    model = GradientBoostingRegressor(**params, random_state=np.int32(4)).fit(X, Y)
    assert np.array_equal(model.predict(X), plain.predict(X))
    assert len(bytes_of(model)) > 0
