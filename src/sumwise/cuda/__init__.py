"""Kernels for NVIDIA GPUs, in CUDA C++, and how they are compiled and launched.

The folders have the names of those in ``kernels``, and so have most files: ``grow/histogram.cu``
does what ``kernels/grow/histogram.py`` does, to the same bits. Nothing here is imported unless a
device is asked for.

In the layers above, modules named ``cuda_*`` grow trees by these kernels, with the methods of their
twins on the CPU. Modules named ``device_*`` keep data on a device, and do everything else there.
"""
