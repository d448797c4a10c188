"""Compares the rows that two configurations make of the same objects."""
