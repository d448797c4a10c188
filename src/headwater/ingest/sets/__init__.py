"""Sets of files that count as one version of a table: which are complete, and which one is next. Pure."""
