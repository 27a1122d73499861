from sumwise.cuda.runtime import bindings, report
from sumwise.cuda.runtime.report import describe_cuda


def test_gpus_are_listed(install, monkeypatch):
    fake = install(gpus=((9, 0), (12, 1)))
    monkeypatch.setattr(report, "import_bindings", lambda name: fake)
    monkeypatch.setattr(report, "read_version", lambda: (13, 4))
    monkeypatch.setattr(report, "read_bindings_version", lambda: "13.5.0")
    assert describe_cuda() == {
        "cuda-bindings": "13.5.0",
        "NVIDIA driver": "CUDA 13.0",
        "NVRTC": "CUDA 13.4",
        "GPUs": "0: Fake GPU (1.0 GiB, compute capability 9.0)\n"
        "1: Fake GPU (1.0 GiB, compute capability 12.1)",
    }
    assert "cuDevicePrimaryCtxRetain" not in fake.calls  # looking costs no memory of a GPU


def test_no_gpu(install, monkeypatch):
    fake = install(gpus=())
    monkeypatch.setattr(report, "import_bindings", lambda name: fake)
    found = describe_cuda()
    assert found["NVIDIA driver"] == "CUDA 13.0"
    assert found["GPUs"].startswith("there is no NVIDIA GPU that this process can see")


def test_nothing_installed(monkeypatch):
    def fail(name):
        raise ModuleNotFoundError("No module named 'cuda'")

    monkeypatch.setattr(bindings, "import_module", fail)
    monkeypatch.setattr(bindings, "_started_by", None)
    monkeypatch.setattr(report, "read_bindings_version", lambda: None)
    found = describe_cuda()
    assert found["cuda-bindings"] == "not installed"
    assert 'pip install "sumwise[cuda13]"' in found["NVIDIA driver"]
    assert found["GPUs"] == "none"
