"""The folder, bucket and queue that a source needs: are they there, and set up so that nothing is missed?"""

from headwater.capture.resources.finding import Finding, Status, to_finding

__all__ = ["Finding", "Status", "to_finding"]
