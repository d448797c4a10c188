"""What a data table keeps in its own commit metadata: checkpoint, schema, observed states."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql.types import StructType

from headwater.capture.position import BEGINNING, Position

_OBSERVED_LIMIT = 5_000


@dataclass(frozen=True, slots=True)
class TableState:
    """Committed together with the rows; a restart begins from here and from nothing else."""

    checkpoint: Position = BEGINNING
    schema: StructType | None = None
    observed: tuple[tuple[str, str], ...] = ()

    def to_metadata(self) -> dict[str, str]:
        """Keys of the commit metadata, without the prefix."""
        metadata = {"checkpoint": self.checkpoint.to_text()}
        if self.schema is not None:
            metadata["schema"] = self.schema.json()
        if self.observed:
            metadata["observed"] = json.dumps(self.observed)
        return metadata

    def with_observed(self, states: Sequence[tuple[str, str]]) -> "TableState":
        """Remember further states, the newest few thousand: their own events are minutes away, not days."""
        return TableState(self.checkpoint, self.schema, (*self.observed, *states)[-_OBSERVED_LIMIT:])


def parse_table_state(metadata: Mapping[str, str] | None) -> TableState:
    """Inverse of `TableState.to_metadata`; a table without metadata starts at the beginning."""
    if not metadata:
        return TableState()
    return TableState(
        checkpoint=Position.parse(metadata["checkpoint"]),
        schema=StructType.fromJson(json.loads(metadata["schema"])) if "schema" in metadata else None,
        observed=tuple(
            (object_id, version) for object_id, version in json.loads(metadata.get("observed", "[]"))
        ),
    )
