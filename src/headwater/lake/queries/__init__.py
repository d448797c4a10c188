"""All of Hudi's queries: `from headwater.lake import queries`.

`queries.read(address, query)` needs no JVM, `queries.read_on_spark(spark, path, query)` gives a DataFrame;
a `Query` says which rows. What changed, deletes included: `queries.ChangeFeed`.
"""

from typing import TYPE_CHECKING, Any

from headwater.lake.queries.change_feed import ChangeFeed
from headwater.lake.queries.changes import Change, ChangeSet
from headwater.lake.queries.query import Query
from headwater.lake.queries.reading import read

if TYPE_CHECKING:
    from headwater.lake.queries.spark import read_on_spark

__all__ = ["Change", "ChangeFeed", "ChangeSet", "Query", "read", "read_on_spark"]


def __getattr__(name: str) -> Any:
    # PySpark takes a second to import, and most callers do without.
    if name == "read_on_spark":
        from headwater.lake.queries.spark import read_on_spark

        return read_on_spark
    raise AttributeError(name)
