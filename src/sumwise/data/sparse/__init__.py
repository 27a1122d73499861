"""Sparse data: only the values that differ from an absent value (0 or NaN) are stored."""

from sumwise.data.sparse.matrix import SparseMatrix, Stored, StoredColumns, is_sparse

__all__ = ["SparseMatrix", "Stored", "StoredColumns", "is_sparse"]
