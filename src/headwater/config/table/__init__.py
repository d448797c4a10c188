"""`tables:` what each data table is built from and how."""

from headwater.config.table.table import TableConfig

__all__ = ["TableConfig"]
