"""What a data table keeps in its own commit metadata: checkpoint, schema, rules of selection."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from pyspark.sql.types import StructType

from headwater.capture.position import BEGINNING, Position
from headwater.config.hudi.table_sections import IndexConfig
from headwater.config.table import TableConfig
from headwater.errors import LakeError, TableMismatchError
from headwater.ingest.columns.column_names import assign_old_names
from headwater.ingest.evolution.schema_history import (
    SchemaVersion,
    add_version,
    name_commit,
    parse_history,
    write_history,
)
from headwater.ingest.planning.outcome import CHECKPOINT, FOLLOWED
from headwater.lake.options import COMMIT_METADATA_PREFIX
from headwater.lake.table import Table


@dataclass(frozen=True, slots=True)
class CommittedState:
    """Committed together with the rows; a restart begins from here and from nothing else.

    `history` are the versions of the schema; `rescued_column` is the name of the table's column for what
    fits no other, if it ever had one. `buckets` is how keys get into files, where that is
    computed: Hudi does not keep it, and does not find rows again that were written by another rule.
    """

    checkpoint: Position = BEGINNING
    schema: StructType | None = None
    rules: str = ""
    history: tuple[SchemaVersion, ...] = ()
    rescued_column: str | None = None
    buckets: str = ""

    def to_metadata(self) -> dict[str, str]:
        """Keys of the commit metadata, without the prefix."""
        metadata = {CHECKPOINT: self.checkpoint.to_text()}
        if self.schema is not None:
            metadata["schema"] = self.schema.json()
        if self.rules:
            metadata["rules"] = self.rules
        if self.history:
            metadata["schema_history"] = write_history(self.history)
        if self.rescued_column:
            metadata["rescued_column"] = self.rescued_column
        if self.buckets:
            metadata["buckets"] = self.buckets
        return metadata


def parse_committed_state(metadata: Mapping[str, str] | None) -> CommittedState:
    """Inverse of `CommittedState.to_metadata`; a table without metadata starts at the beginning.

    Raises `LakeError` for what is none.
    """
    if not metadata:
        return CommittedState()
    try:
        return CommittedState(
            checkpoint=Position.parse(metadata[CHECKPOINT]),
            schema=_parse_schema(metadata["schema"]) if "schema" in metadata else None,
            rules=metadata.get("rules", ""),
            history=parse_history(metadata.get("schema_history", "[]")),
            rescued_column=metadata.get("rescued_column"),
            buckets=metadata.get("buckets", ""),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise LakeError(
            f"what the newest commit of the table says for headwater cannot be read: {error!r}",
            hint=f"has a newer headwater written it, or something else keys that begin with "
            f"`{COMMIT_METADATA_PREFIX}`? `headwater table NAME commits --json` shows them; "
            "`table NAME rollback` takes the commit back",
        ) from error


def _parse_schema(text: str) -> StructType:
    return assign_old_names(StructType.fromJson(json.loads(text)))


def load_metadata(name: str, table: Table) -> Mapping[str, str] | None:
    """What the newest commit with a checkpoint carries; None for none, as of a table that others have filled.

    Raises `TableMismatchError` for a table that was built from another table.
    """
    timeline = table.load_timeline()
    if not timeline.exists():
        return None
    found = timeline.find_metadata(CHECKPOINT)
    if found is None and timeline.find_metadata(FOLLOWED) is not None:
        raise TableMismatchError(
            f"table {name}: what lies there was built from another table, not from objects",
            hint="set `from` again, or configure a table of another name: rows of both would lie beside each "
            "other",
        )
    return found


def resume_state(name: str, metadata: Mapping[str, str] | None, index: IndexConfig | None) -> CommittedState:
    """The state that a table's newest commit carries; of a new table, the one it begins with.

    Raises `TableMismatchError` when its rows were put into files by another rule than `index` has now.
    """
    state, buckets = parse_committed_state(metadata), describe_buckets(index)
    if metadata is not None and state.buckets != buckets:
        there, here = (text or "no bucket index" for text in (state.buckets, buckets))
        raise TableMismatchError(
            f"table {name}: `index` is {there} there and {here} here: rows that change would be doubled",
            hint="set `index` back to what the table has, or configure a table of another name, which is "
            "built anew from the events",
        )
    return replace(state, buckets=buckets)


def begin_with(table: Table, config: TableConfig) -> CommittedState:
    """The state of a table that others have filled: its columns are known, and no event was taken yet."""
    fields = [field for field in table.read().schema.fields if not field.name.startswith("_hoodie_")]
    return CommittedState(
        schema=assign_old_names(StructType(fields)),
        rules=config.rules,
        buckets=describe_buckets(config.index),
    )


def describe_buckets(index: IndexConfig | None) -> str:
    """How an index computes the file of a key; empty for one that looks it up."""
    if index is None or index.type != "bucket":
        return ""
    # Buckets by consistent hashing split and join; their number is where it began.
    return "consistent hashing" if index.engine == "consistent_hashing" else f"{index.buckets} buckets"


def with_columns(
    state: CommittedState,
    schema: StructType,
    rescued_column: str | None,
    brought_by: Mapping[str, str],
    now: datetime,
) -> CommittedState:
    """The state of a table with these columns: a new version of its schema where they differ.

    `brought_by` are addresses of objects by column path.
    """
    history = state.history
    if state.schema != schema:
        history = add_version(history, state.schema, schema, brought_by, now)
    return replace(state, schema=schema, history=history, rescued_column=rescued_column)


def name_version(state: CommittedState, table: Table) -> CommittedState:
    """The state with the commit that brought the newest version of its schema.

    A commit does not know its own instant: the one after it says it.
    """
    if not state.history or state.history[-1].commit:
        return state
    found = table.load_timeline().find_commit("schema_history")
    return replace(state, history=name_commit(state.history, found.requested)) if found else state
