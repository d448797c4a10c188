"""`clean_source`: objects that are in all of their tables go: on demand, or beside a run."""

from headwater.app.cleaning.loop import CleanLoop
from headwater.app.cleaning.passes import CleanSource
from headwater.ingest.cleaning.cleaning_pass import CleanReport

__all__ = ["CleanLoop", "CleanReport", "CleanSource"]
