"""Rows of a batch to a data table: upserts, retractions and the checkpoint in one commit."""
