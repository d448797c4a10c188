"""All query types of Hudi: `from headwater.lake import queries`.

`queries.read(address, query)` needs no JVM; `queries.read_on_spark(spark, path, query)` returns a DataFrame.
A `Query` selects the rows. `queries.ChangeFeed` returns changes, including deletes. `queries.search_vectors`
and `queries.read_blobs` read Hudi's logical types on Spark.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headwater.lake.queries.change_feed import ChangeFeed
from headwater.lake.queries.changes import Change, ChangeSet
from headwater.lake.queries.query import Query
from headwater.lake.queries.reading import read

if TYPE_CHECKING:
    from headwater.lake.queries.logical_columns import read_blobs, search_vectors
    from headwater.lake.queries.spark import read_on_spark

__all__ = [
    "Change",
    "ChangeFeed",
    "ChangeSet",
    "Query",
    "read",
    "read_blobs",
    "read_on_spark",
    "search_vectors",
]

_ON_SPARK = {
    "read_on_spark": "headwater.lake.queries.spark",
    "read_blobs": "headwater.lake.queries.logical_columns",
    "search_vectors": "headwater.lake.queries.logical_columns",
}


def __getattr__(name: str) -> Any:
    # Importing PySpark takes a second, and most callers do not need it.
    if name in _ON_SPARK:
        return getattr(import_module(_ON_SPARK[name]), name)
    raise AttributeError(name)
