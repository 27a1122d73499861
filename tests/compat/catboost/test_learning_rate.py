import catboost
import numpy as np
import pytest

from sumwise.compat.catboost.learning_rate import find_rate


@pytest.mark.parametrize("has_set", [False, True])
@pytest.mark.parametrize(
    ("loss", "from_average"),
    [("Logloss", False), ("Logloss", True), ("MultiClass", False), ("RMSE", True), ("RMSE", False)],
)
def test_it_is_that_of_the_installed_library(loss, from_average, has_set):
    x = np.random.default_rng(0).normal(size=(700, 1))
    classes = np.digitize(x[:, 0], [0.0] if loss == "Logloss" else [-0.5, 0.5])
    y = x[:, 0] if loss == "RMSE" else classes
    kind = catboost.CatBoostRegressor if loss == "RMSE" else catboost.CatBoostClassifier
    options = {} if loss == "MultiClass" else {"boost_from_average": from_average}
    model = kind(
        iterations=40, depth=1, thread_count=1, verbose=False, allow_writing_files=False, **options
    )
    model.fit(x, y, eval_set=(x, y) if has_set else None)
    rate = find_rate(loss, 700, 40, has_set, from_average)
    assert rate == pytest.approx(model.learning_rate_, rel=1e-3)


def test_other_losses_have_a_fixed_rate():
    assert find_rate("MAE", 1000, 1000, False, True) == 0.03
    assert find_rate("RMSE", 10**6, 10, False, True) == 0.5
