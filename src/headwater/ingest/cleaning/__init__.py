"""Cleans the source: decides which objects all of their tables have ingested, and has them cleaned."""
