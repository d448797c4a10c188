"""`sql` and `sql_file`: a SELECT over the rows."""

import re
import uuid
from pathlib import Path

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from headwater.config.processing.transform import INPUT_VIEW
from headwater.errors import TransformError
from headwater.lake.transforms.sql.carried_columns import check_origin
from headwater.lake.transforms.sql.file import read_sql_file
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
        return run_select(frame, self._text)


def run_select(frame: DataFrame, text: str) -> DataFrame:
    """Run a query over the frame under the name `input`, lazily. Raises `TransformError`."""
    spark: SparkSession = frame.sparkSession
    # All tables share the session's views, so each query uses a unique one, hidden behind `input`.
    view = f"headwater_{uuid.uuid4().hex}"
    frame.createOrReplaceTempView(view)
    statement = cut_semicolon(text)
    try:
        # The text is the user's own and was validated as one SELECT.
        return spark.sql(f"WITH {INPUT_VIEW} AS (SELECT * FROM {view}) SELECT * FROM (\n{statement}\n)")  # noqa: S608 - see above
    except (AnalysisException, ParseException) as error:
        # Positions refer to the generated text, which the user has not written.
        said = " ".join(_POSITION.sub("", str(error).partition("== SQL")[0]).partition(";")[0].split())
        raise TransformError(
            f"SQL: {said.replace(view, INPUT_VIEW)[:400]}",
            hint="`input` has the columns that the previous transforms produce; "
            "`headwater transform NAME --sample FILE` shows them",
        ) from error
    finally:
        spark.catalog.dropTempView(view)
