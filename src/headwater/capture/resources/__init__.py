"""The folder, bucket and queue that a source needs: are they there, and set up so that nothing is missed?"""

from headwater.capture.resources.finding import SetupFinding, Status, to_finding

__all__ = ["SetupFinding", "Status", "to_finding"]
