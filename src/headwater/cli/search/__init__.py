"""Commands for the index."""
