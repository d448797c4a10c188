"""What is around the steps of a table: a trial on a sample, and a look at its files before a run."""

from headwater.app.processing.sample import TransformReport, try_transform
from headwater.app.processing.whole_tables import with_whole_tables

__all__ = ["TransformReport", "try_transform", "with_whole_tables"]
