"""Fails a job that reads objects again for records that an executor took with it, if they have changed."""

import json
from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.ingest.fetching.outcome_rows import FetchOutcome
from headwater.ingest.reading.resolution import SeenObject

_SIGN = "headwater.errors.ObjectsChangedError"
_MESSAGE = (
    f"{_SIGN}: objects were read again after an executor ended, and have changed since\n"
    "-> the batch is retried, and then reads the current contents\n"
)


def fail_if_changed(frame: DataFrame, seen: Mapping[int, SeenObject]) -> DataFrame:
    """Return persisted records of objects whose outcomes are known, by `object_index`.

    A job that computes them again raises `ObjectsChangedError` for an object with another outcome: the commit
    would lack rows that the outcome counts, or have rows of another content.
    """
    first, last = min(seen, default=0), max(seen, default=-1)
    known = [_describe(seen[at].outcome) if at in seen else None for at in range(first, last + 1)]
    parts = [F.coalesce(f"outcome.{name}", F.lit("")) for name in ("status", "etag", "version_id")]
    # Evaluated once, during planning: a literal array, with access by position.
    states = F.from_json(F.lit(json.dumps(known)), "array<string>")
    expected = states[F.col("object_index") - first]
    is_same = F.col("outcome").isNull() | (F.concat_ws("\n", *parts) == expected)
    # Not deterministic: Spark may not evaluate it only for the rows that a later filter leaves.
    is_any = F.monotonically_increasing_id() >= 0
    return frame.where(F.when(is_same, is_any).otherwise(F.raise_error(F.lit(_MESSAGE)).cast("boolean")))


def _describe(outcome: FetchOutcome) -> str:
    return "\n".join((outcome.status, outcome.etag or "", outcome.version_id or ""))
