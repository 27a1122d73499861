import shutil

import pytest

from benchmarks.export import main


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler (cc)")
def test_a_tiny_run(capsys) -> None:
    main(["--trees", "2", "--rows", "20", "--repeat", "1", "--jobs", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines[-7:]] == [
        "C (sumwise)",
        "C (LightGBM's library)",
        "Python source (sumwise)",
        "SQLite (sumwise)",
        "predict_proba (sumwise)",
        "predict_proba (LightGBM)",
        "predict_proba (XGBoost)",
    ]
