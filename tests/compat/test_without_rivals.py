"""The libraries whose names are used need not be installed, and nothing is written or printed."""

import subprocess
import sys

CODE = """
import sys
for name in ("lightgbm", "xgboost", "catboost", "pandas", "matplotlib"):
    sys.modules[name] = None
import numpy as np
from sumwise.compat.catboost import CatBoostClassifier
from sumwise.compat.lightgbm import LGBMClassifier, early_stopping
from sumwise.compat.xgboost import XGBClassifier

X = np.random.default_rng(0).normal(size=(200, 2))
y = (X[:, 0] > 0).astype(int)
sets = [(X, y)]
LGBMClassifier(n_estimators=2).fit(X[:150], y[:150], eval_set=sets, callbacks=[early_stopping(1)])
XGBClassifier(n_estimators=2, early_stopping_rounds=1).fit(X[:150], y[:150], eval_set=sets)
CatBoostClassifier(iterations=2, early_stopping_rounds=1).fit(X[:150], y[:150], eval_set=sets)
"""


def test_they_need_not_be_installed(tmp_path):
    command = [sys.executable, "-W", "error", "-c", CODE]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.stderr, done.stdout, done.returncode) == ("", "", 0)
    assert not list(tmp_path.iterdir())
