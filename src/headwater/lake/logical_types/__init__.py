"""Hudi's own column types, which Spark's columns carry in their metadata: VECTOR and BLOB."""
