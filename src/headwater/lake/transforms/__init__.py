"""Transforms between reading and writing rows. They operate on frames and do not know the source of rows."""
