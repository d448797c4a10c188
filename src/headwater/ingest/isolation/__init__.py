"""Finds the objects and records that prevent a batch from being written."""
