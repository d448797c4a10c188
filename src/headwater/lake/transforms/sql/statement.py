"""`sql` and `sql_file`: a SELECT over the rows."""

import re
import uuid
from collections.abc import Mapping
from pathlib import Path

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from headwater.config.processing.transform import INPUT_VIEW
from headwater.errors import TransformError
from headwater.lake.transforms.sql.carried_columns import check_origin
from headwater.lake.transforms.sql.file import read_sql_file
from headwater.lake.transforms.sql.joined_tables import check_tables
from headwater.lake.transforms.sql.query import cut_semicolon, parse_query

_POSITION = re.compile(r"\s*\(line \d+, pos \d+\)")


class Sql:
    """Runs a SELECT in which `input` is the frame.

    Each statement has its own view name, because statements of other tables run concurrently in the same
    session.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    @classmethod
    def from_file(cls, path: Path) -> "Sql":
        """Load the statement from a file. Raises `ConfigError`."""
        return cls(read_sql_file(path))

    def apply(self, frame: DataFrame, carried: str | None) -> DataFrame:
        """See `Transform`."""
        if carried is None:
            parse_query(self._text)
        else:
            check_origin(self._text, carried)
        return run_select({INPUT_VIEW: frame}, self._text)

    def join(self, frames: Mapping[str, DataFrame]) -> DataFrame:
        """Run the SELECT over frames by name, lazily. Raises `TransformError`."""
        check_tables(self._text, tuple(frames))
        return run_select(frames, self._text)


def run_select(frames: Mapping[str, DataFrame], text: str) -> DataFrame:
    """Run a query over frames by name, of which there is at least one, lazily. Raises `TransformError`."""
    spark: SparkSession = next(iter(frames.values())).sparkSession
    # All tables share the session's views, so each query uses unique ones, hidden behind the names.
    views = {f"headwater_{uuid.uuid4().hex}": name for name in frames}
    for view, name in views.items():
        frames[name].createOrReplaceTempView(view)
    named = ", ".join(f"`{name}` AS (TABLE {view})" for view, name in views.items())
    statement = cut_semicolon(text)
    try:
        # The text is the user's own and was validated as one SELECT.
        return spark.sql(f"WITH {named} SELECT * FROM (\n{statement}\n)")  # noqa: S608 - see above
    except (AnalysisException, ParseException) as error:
        raise _explain(error, views) from error
    finally:
        for view in views:
            spark.catalog.dropTempView(view)


def _explain(error: Exception, views: Mapping[str, str]) -> TransformError:
    # Positions refer to the generated text, which the user has not written.
    said = " ".join(_POSITION.sub("", str(error).partition("== SQL")[0]).partition(";")[0].split())
    for view, name in views.items():
        said = said.replace(view, name)
    if len(views) > 1:
        hint = f"the statement reads {', '.join(views.values())} with the columns that these tables have"
    else:
        hint = (
            "`input` has the columns that the previous transforms produce; "
            "`headwater transform NAME --sample FILE` shows them"
        )
    return TransformError(f"SQL: {said[:400]}", hint=hint)
