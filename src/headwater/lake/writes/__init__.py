"""Rows of a DataFrame into a table of the configuration: `from headwater.lake import writes`.

`writes.write(settings, "orders", frame, "insert_overwrite")` is one commit; the table's pipeline goes on
where it was.
"""

from headwater.lake.writes.rules import WriteOperation
from headwater.lake.writes.writing import Written, write

__all__ = ["WriteOperation", "Written", "write"]
