"""Traces of batches: one trace for each batch, one span for each of its steps."""
