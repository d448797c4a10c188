"""Background threads that work alongside the live flow of a run."""

from headwater.app.background.loop import BackgroundLoop

__all__ = ["BackgroundLoop"]
