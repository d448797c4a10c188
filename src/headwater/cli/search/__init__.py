"""Commands of the index and of search."""
