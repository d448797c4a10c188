"""Everything Hudi, and the Python API for the owner of a table: `from headwater import lake`.

`lake.find_address(settings, "orders")` says where a table lies; what is asked of it, or done to it, are
functions of the modules that `__all__` names.
"""

from importlib import import_module
from types import ModuleType

from headwater.lake.table_address import TableAddress, find_address

__all__ = ["TableAddress", "find_address", "queries"]


def __getattr__(name: str) -> ModuleType:
    # Modules are loaded when they are first asked for: a command loads only what it uses.
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
