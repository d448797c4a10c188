"""Writes the rows of a batch: upserts, retractions and the checkpoint in one commit."""
