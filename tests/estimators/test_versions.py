import numpy as np

import sumwise
from sumwise.estimators import versions


def test_report(monkeypatch, capsys):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setattr(versions, "_PACKAGES", ("numpy", "no-such-package"))
    sumwise.show_versions()
    lines = capsys.readouterr().out.splitlines()
    report = dict(line.split(maxsplit=1) for line in lines if not line.startswith(" "))
    assert report["sumwise"] == sumwise.__version__
    assert report["numpy"] == np.__version__
    assert report["no-such-package"] == "not installed"
    assert report["OMP_NUM_THREADS"] == "3"
    assert report["CPUs"].endswith(f"up to {versions.count_cpus()}")
    assert {"Python", "system", "kernels", "cuda-bindings", "NVRTC", "GPUs"} <= set(report)
