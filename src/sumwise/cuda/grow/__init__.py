"""Growing one tree of boosting on a device."""
