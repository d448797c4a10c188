"""SQL over the tables of a configuration: without a JVM where the tables allow it."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from headwater.config.settings import Settings
from headwater.lake.layout import list_tables
from headwater.lake.queries.query import Query
from headwater.lake.sql.engine import QueryResult, run_query
from headwater.lake.storage_options import build_storage_options

if TYPE_CHECKING:
    from headwater.app.application import App


def run_sql(
    settings: Settings,
    sql: str,
    query: Query,
    find_app: "Callable[[], App]",
    limit: int | None = None,
) -> QueryResult:
    """Run one read-only statement on the tables of the lake.

    `find_app` is called only if a JVM is needed; the session must outlive the reading of the rows.
    Raises the errors of `run_query`.
    """

    def run_there(text: str, tables: Mapping[str, str]) -> QueryResult:
        spark = find_app().spark
        from headwater.lake.sql.spark import run_on_spark

        return run_on_spark(spark, text, tables, limit, query)

    return run_query(
        sql,
        list_tables(settings),
        storage_options=build_storage_options(settings.lake, settings.lake_storage),
        limit=limit,
        fallback=run_there,
        query=query,
    )
