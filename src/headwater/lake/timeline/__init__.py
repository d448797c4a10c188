"""A table's timeline: one model for two readers, `jvm` in the JVM and `files` without it."""

from headwater.lake.timeline.instants import Commit, Instant, find_just_before
from headwater.lake.timeline.timeline import Timeline

__all__ = ["Commit", "Instant", "Timeline", "find_just_before"]
