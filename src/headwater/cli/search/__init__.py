"""Commands around the index."""
