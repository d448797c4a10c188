"""`GuardedSession`: a Spark session whose `sql` runs what a shell's guard allows."""

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.sql_formatter import SQLStringFormatter

from headwater.lake.jvm import build_session_state
from headwater.lake.typed_options.services import PREFIX

Frame = DataFrame
"""For the layers above, which do not import PySpark."""
Execute = Callable[[str, Any], DataFrame]


class GuardedSession(SparkSession):
    """A session with views and settings of its own, on the Spark context of another one.

    `sql` passes the text and its `args` to `execute`; `run` executes them without a check.
    """

    def __init__(self, spark: SparkSession) -> None:
        super().__init__(spark.sparkContext, build_session_state(spark))
        self.execute: Execute = self.run

    def sql(self, sqlQuery: str, args: Any = None, **kwargs: Any) -> DataFrame:  # noqa: N803 - PySpark's name
        """See `SparkSession.sql`."""
        if not kwargs:
            return self.execute(sqlQuery, args)
        formatter = SQLStringFormatter(self)
        try:
            return self.execute(formatter.format(sqlQuery, **kwargs), args)
        finally:
            formatter.clear()

    def run(self, text: str, args: Any = None) -> DataFrame:
        """Execute one statement without a check."""
        return super().sql(text, args)

    def list_overrides(self) -> list[str]:
        """Return Hudi's settings of this session, which would win over the options of every table."""
        return sorted(row["key"] for row in self.run("SET").collect() if row["key"].startswith(PREFIX))
