"""From any input to the binned table that all tree methods share.

frames: any input as columns; categories: codes, bins and statistics of categorical features;
sparse: sparse matrices; matrix: what kernels read; thresholds, binning, ranks: values become bins
or ranks; bundling, lanes: features share a column or a byte; binned, presorted, quantiles: tables.
"""
