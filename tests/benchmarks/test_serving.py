import numpy as np
import pytest

from benchmarks.serving import COMPILED, LIGHTGBM_C, ONNX, PLAIN, Server, check, main


def test_a_tiny_run(capsys) -> None:
    pytest.importorskip("onnxruntime")
    models = [COMPILED, PLAIN, ONNX, LIGHTGBM_C]
    sizes = ["--rows", "400", "--calls", "5", "--trees", "2", "--repeat", "1"]
    main([*sizes, "--models", *models])
    lines = capsys.readouterr().out.splitlines()
    for line, name in zip(lines[-4:], models, strict=True):
        assert line.startswith(name)
    assert lines[-4].endswith("1.0")


@pytest.mark.parametrize(("is_exact", "error"), [(True, 1e-12), (False, 1e-3)])
def test_predictions_are_compared(is_exact: bool, error: float) -> None:
    server = Server(lambda row: row + error, lambda row: row, np.ones(2), is_exact)
    with pytest.raises(AssertionError, match="ours: predictions of single rows differ by"):
        check("ours", server, [1.0, 1.0], [1.0, 1.0])
    check("ours", server._replace(from_list=server.from_dict), [1.0, 1.0], [1.0, 1.0])
