import re
from functools import partial

import pytest

from sumwise.cli.main import main
from sumwise.cuda.programs import list_programs
from sumwise.errors import DeviceError


def test_warmup_tells_its_steps_and_the_seconds(monkeypatch, capsys):
    done = []
    names = [["first", "second"], ["third"]]
    steps = [{name: partial(done.append, name) for name in phase} for phase in names]
    monkeypatch.setattr("sumwise.cli.compiling.list_steps", lambda: steps)
    monkeypatch.setattr("sumwise.cli.compiling.find_gpu_architectures", list)
    assert main(["warmup", "--jobs", "1"]) == 0
    assert done == ["first", "second", "third"]
    out, err = capsys.readouterr()
    assert re.fullmatch(r"Kernels ready in \d+\.\d s\n", out)
    assert re.fullmatch(r"1/3 first \(0 s\)\n2/3 second \(0 s\)\n3/3 third \(0 s\)\n", err)


def test_warmup_compiles_for_gpus(monkeypatch, capsys):
    compiled = []
    monkeypatch.setattr("sumwise.cli.compiling.list_steps", list)
    monkeypatch.setattr("sumwise.cli.compiling.find_gpu_architectures", lambda: [90])
    monkeypatch.setattr(
        "sumwise.cuda.programs.compile_program", lambda *args: compiled.append(args)
    )
    assert main(["warmup"]) == 0
    assert compiled == [(program, 90) for program in list_programs()]
    assert "CUDA program grow for sm_90 (0 s)\n" in capsys.readouterr().err
    assert main(["warmup", "--gpu", "75", "--gpu", "120"]) == 0
    assert {architecture for _, architecture in compiled} == {75, 90, 120}


def test_warmup_tells_if_there_is_no_compiler(monkeypatch, capsys):
    def fail(program, architecture):
        raise DeviceError("NVRTC was not found")

    monkeypatch.setattr("sumwise.cli.compiling.list_steps", list)
    monkeypatch.setattr("sumwise.cuda.programs.compile_program", fail)
    assert main(["warmup", "--gpu", "90"]) == 2
    assert capsys.readouterr().err == "sumwise: error: NVRTC was not found\n"


def test_warmup_refuses_less_than_one_process(capsys):
    with pytest.raises(SystemExit):
        main(["warmup", "--jobs", "0"])
    assert "expected an integer of at least 1, got '0'" in capsys.readouterr().err
