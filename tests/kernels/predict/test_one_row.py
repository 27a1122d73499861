"""The kernel of one row; what it computes is tested with programs and predictors."""

import numpy as np

from sumwise import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestRegressor
from sumwise.estimators.serving.program import compile_outputs
from sumwise.export.portable import describe
from sumwise.kernels.predict.one_row import predict_row


def fit(model):
    X = np.random.default_rng(0).random((200, 3)).round(1)
    return model.fit(X, X[:, 0] > 0.5)


def test_every_model_has_the_same_machine_code():
    """So a wheel has it, whatever the model."""
    few = {"n_estimators": 2}
    for model in (
        GradientBoostingClassifier(**few),
        GradientBoostingRegressor(**few, categorical_features=[0, 1], booster="dart"),
        GradientBoostingRegressor(**few, leaves="linear"),
        GradientBoostingRegressor(**few, booster="linear"),
        RandomForestRegressor(**few, categorical_features=[1]),
    ):
        program = compile_outputs(describe(fit(model)))
        program.find_entry(program.allocate())
    assert len(predict_row.signatures) == 1


def test_a_row_is_not_changed_where_it_is_read_next():
    """A prediction leaves the memory ready for the next one: -inf stays behind the values."""
    model = fit(GradientBoostingRegressor(n_estimators=3))
    program = compile_outputs(describe(model))
    row = program.allocate()
    arguments = (row, program.trees, program.codes, program.lookups)
    for values in ([0.1, 0.2, np.nan], [0.9, np.nan, 0.5], [0.1, 0.2, np.nan]):
        row.values[:3] = values
        predict_row(*arguments, program.lines, program.parameters)
        assert row.state[0] == model.predict([values])[0]
        assert row.values[-1] == -np.inf
