"""Hudi's logical types VECTOR and BLOB, which Spark columns carry in their metadata."""
