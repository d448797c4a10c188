"""`clean_source`: removes objects that all of their tables hold, on demand or during a run."""

from headwater.app.cleaning.loop import CleanLoop
from headwater.app.cleaning.passes import CleanSource
from headwater.ingest.cleaning.cleaning_pass import CleanReport

__all__ = ["CleanLoop", "CleanReport", "CleanSource"]
