"""How kernels are compiled and cached, threads, random numbers, and basic arithmetic."""
