"""Checks the folder, bucket and queue of a source: that they exist and lose no events."""

from headwater.capture.resources.finding import SetupFinding, Status, to_finding

__all__ = ["SetupFinding", "Status", "to_finding"]
