"""Sections of a table that process its rows between parsing and commit."""

from headwater.config.processing.checks import CheckConfig
from headwater.config.processing.transform import TransformStep

__all__ = ["CheckConfig", "TransformStep"]
