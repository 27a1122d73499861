"""What all CUDA kernels share: devices, arrays, structures, the compiler."""
