"""C and C++ source of a model."""
