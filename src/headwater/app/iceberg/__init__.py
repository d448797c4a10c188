"""Iceberg views of data tables: updates during a run and after commands, and their state."""

from headwater.app.iceberg.loop import IcebergLoop
from headwater.app.iceberg.status import IcebergStatus
from headwater.app.iceberg.views import IcebergViews, update_views

__all__ = ["IcebergLoop", "IcebergStatus", "IcebergViews", "update_views"]
