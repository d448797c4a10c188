"""Builds the chunks table from a data table, in Spark."""
