"""Training by the processes that ``mpiexec`` starts."""
