"""The composition root: configuration -> wired objects -> one run."""

from headwater.app.application import App

__all__ = ["App"]
