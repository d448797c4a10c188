"""Data table -> chunks table, in Spark."""
