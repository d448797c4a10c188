"""Writes DataFrames to configured tables: `from headwater.lake import writes`.

`writes.write(settings, "orders", frame, "insert_overwrite")` is one commit; the table's pipeline resumes at
its checkpoint.
"""

from headwater.lake.writes.rules import WriteOperation
from headwater.lake.writes.writing import Written, write

__all__ = ["WriteOperation", "Written", "write"]
