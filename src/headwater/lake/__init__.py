"""Hudi tables, and the Python API for table owners: `from headwater import lake`.

`lake.find_address(settings, "orders")` returns the address of a table. The modules in `__all__` read, write
and maintain it.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from headwater.lake.layout import TableAddress, find_address

if TYPE_CHECKING:
    from headwater.lake import indexes, inspection, queries, services, writes

__all__ = ["TableAddress", "find_address", "indexes", "inspection", "queries", "services", "writes"]


def __getattr__(name: str) -> ModuleType:
    # Load modules on first use: every import below this package runs this file.
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
