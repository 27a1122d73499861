"""What builds wheels with compiled kernels. Not part of the package."""
