"""Checks of rows before a commit. They operate on frames and do not know the source of rows."""
