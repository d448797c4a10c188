"""Infers columns and types from a table's first objects. Never changes an existing table."""
