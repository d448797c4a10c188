"""Checks of rows that are to be committed: they know frames, and nothing of where rows come from."""
