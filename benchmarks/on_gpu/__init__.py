"""What `benchmarks/gpu.py` runs on a machine with a GPU, one module per part."""
