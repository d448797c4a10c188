"""`clean_source`: objects that are in all of their tables go: on demand, or beside a run."""

from headwater.app.cleaning.loop import CleanLoop
from headwater.app.cleaning.passes import CleanReport, CleanSource

__all__ = ["CleanLoop", "CleanReport", "CleanSource"]
