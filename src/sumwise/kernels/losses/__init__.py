"""Gradients, hessians and values of the losses."""
