"""Commands of a table that are about what it keeps: its partitions, its metadata table."""
