"""Derived tables, which are built from other tables: bronze to silver to gold."""
