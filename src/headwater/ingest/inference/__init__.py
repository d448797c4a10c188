"""Which columns and types a table's first objects suggest. Nothing here changes a table that is there."""
