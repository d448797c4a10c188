"""Texts of records to columns, by Spark's parsers, and what these would change without a word."""
