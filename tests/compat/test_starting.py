import lightgbm
import numpy as np
import pytest

from sumwise import GradientBoostingRegressor
from sumwise.compat.lightgbm import LGBMRegressor
from sumwise.compat.starting import read_start
from sumwise.errors import ModelFileError


def test_models_of_sumwise_and_of_the_library_and_their_files(tmp_path):
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = X[:, 0]
    plain = GradientBoostingRegressor(n_estimators=3).fit(X, y)
    compat = LGBMRegressor(n_estimators=3).fit(X, y)
    theirs = lightgbm.LGBMRegressor(n_estimators=3, verbose=-1).fit(X, y)
    plain.save(tmp_path / "model.sumwise")
    theirs.booster_.save_model(tmp_path / "model.txt")
    assert read_start(plain, "lightgbm") is plain
    assert read_start(compat, "lightgbm") is compat.model_
    for given in (theirs, theirs.booster_, tmp_path / "model.sumwise", str(tmp_path / "model.txt")):
        assert read_start(given, "lightgbm").best_iteration_ == 3
    (tmp_path / "nothing").write_text("nothing")
    with pytest.raises(ModelFileError):
        read_start(tmp_path / "nothing", "lightgbm")
