"""Reads planned objects to a DataFrame of records."""
