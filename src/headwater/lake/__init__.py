"""Everything Hudi, and the Python API for the owner of a table: `from headwater import lake`.

`lake.find_address(settings, "orders")` says where a table lies; what is asked of it, or done to it, are
functions of the modules that `__all__` names.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from headwater.lake.layout import TableAddress, find_address

if TYPE_CHECKING:
    from headwater.lake import indexes, inspection, queries, services, writes

__all__ = ["TableAddress", "find_address", "indexes", "inspection", "queries", "services", "writes"]


def __getattr__(name: str) -> ModuleType:
    # Its modules are loaded when they are asked for: every import of this package passes here.
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
