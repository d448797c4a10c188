"""Fetches objects inside a Spark task: downloads in parallel, rows and outcomes as Arrow batches."""
