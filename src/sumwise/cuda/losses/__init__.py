"""Gradients and values of losses on a device."""
