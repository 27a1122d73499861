"""New values of leaves, on a device."""
