"""The row with the outcome of one object: exactly one per object."""

from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from headwater.sources.object_store import ObjectState

FetchStatus = Literal["read", "skipped", "superseded", "missing", "quarantined", "unavailable"]

OUTCOME_TYPE = pa.struct(
    [
        ("status", pa.string()),
        ("reason", pa.string()),
        ("detail", pa.string()),
        ("bytes", pa.int64()),
        ("rows", pa.int64()),
        ("etag", pa.string()),
        ("version_id", pa.string()),
        ("present_etag", pa.string()),
        ("present_version_id", pa.string()),
        ("present_size", pa.int64()),
        ("schema_sample", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class FetchOutcome:
    """`etag` and `version_id` are those that were read, or the requested ones if nothing was read.

    `bytes` is the fetched size. `present_*` describes the current object if superseded. `schema_sample` has
    the columns that differ from the table's: see `evolution.schema_sample`.
    """

    status: FetchStatus
    etag: str | None
    version_id: str | None
    reason: str | None = None
    detail: str | None = None
    bytes: int = 0
    rows: int = 0
    present_etag: str | None = None
    present_version_id: str | None = None
    present_size: int | None = None
    schema_sample: str | None = None

    @classmethod
    def superseded(
        cls, etag: str | None, version_id: str | None, detail: str, now: ObjectState
    ) -> "FetchOutcome":
        """Return the outcome for an object that was replaced."""
        return cls(
            "superseded",
            etag,
            version_id,
            "superseded",
            detail,
            present_etag=now.etag,
            present_version_id=now.version_id,
            present_size=now.size,
        )


def to_arrow(outcomes: list[FetchOutcome]) -> pa.StructArray:
    """Return one struct per outcome."""
    columns = [
        pa.array([getattr(outcome, field.name) for outcome in outcomes], field.type) for field in OUTCOME_TYPE
    ]
    return pa.StructArray.from_arrays(columns, fields=list(OUTCOME_TYPE))
