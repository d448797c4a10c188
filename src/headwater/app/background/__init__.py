"""What goes on beside the live flow of a run."""

from headwater.app.background.loop import BackgroundLoop

__all__ = ["BackgroundLoop"]
