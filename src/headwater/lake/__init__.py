"""Everything Hudi, and the Python API for the owner of a table: `from headwater import lake`.

`lake.find_address(settings, "orders")` says where a table lies; what is asked of it, or done to it, are
functions of the modules that `__all__` names.
"""

from headwater.lake.table_address import TableAddress, find_address

__all__ = ["TableAddress", "find_address"]
