"""Applies a changed configuration to a run, without a new process or Spark session."""

from headwater.app.reload.changes import Changes, find_changes
from headwater.app.reload.reloader import Reloader

__all__ = ["Changes", "Reloader", "find_changes"]
