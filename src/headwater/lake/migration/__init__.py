"""Migrates existing files, and tables of other Hudi versions, to tables of this lake."""
