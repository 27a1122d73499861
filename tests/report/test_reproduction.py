"""How to reproduce it: parameters, versions and what is random."""

import sys

import numpy as np

import sumwise
from sumwise import GradientBoostingRegressor
from sumwise.report.blocks import Code, Table, Text
from sumwise.report.reproduction import describe_reproduction


def find(section, kind):
    return [block for block in section.blocks if isinstance(block, kind)]


def test_parameters_and_versions():
    model = GradientBoostingRegressor(n_estimators=7, random_state=3)
    section = describe_reproduction(model, code="fit()")
    parameters, versions = (dict(table.rows) for table in find(section, Table))
    assert parameters["n_estimators"] == "7"
    assert set(parameters) == set(model.get_params(deep=False))
    assert versions["sumwise"] == sumwise.__version__
    assert versions["Python"] == sys.version.split()[0]
    assert versions["numpy"] == np.__version__
    assert [block.code for block in find(section, Code)] == ["fit()"]


def test_a_model_without_seed_says_so():
    def tell(seed):
        section = describe_reproduction(GradientBoostingRegressor(random_state=seed))
        return any("random_state is None" in block.text for block in find(section, Text))

    assert tell(None)
    assert not tell(0)


def test_long_values_are_cut():
    model = GradientBoostingRegressor(columns=[f"column {k}" for k in range(999)])
    (table, _) = find(describe_reproduction(model), Table)
    assert len(dict(table.rows)["columns"]) == 300


def test_commands_and_settings():
    section = describe_reproduction(settings={"folds": 5}, command="sumwise compare a.csv")
    assert find(section, Code)[0].code == "sumwise compare a.csv"
    assert find(section, Table)[0].rows == [["folds", "5"]]
