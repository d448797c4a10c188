"""Taking objects out of the source that are in all of their tables."""
