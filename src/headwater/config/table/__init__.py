"""`tables:` the source of each data table, and how it is built."""

from headwater.config.table.table import TableConfig

__all__ = ["TableConfig"]
