"""Runs a table's transforms on a sample."""

from headwater.app.processing.sample import TransformReport, try_transform

__all__ = ["TransformReport", "try_transform"]
