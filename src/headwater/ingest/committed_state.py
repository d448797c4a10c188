"""The state in a data table's commit metadata: checkpoint, schema, rules of selection."""

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
    """Committed together with the rows; the only state that a restart uses.

    `history` are the versions of the schema; `rescued_column` is the name of the table's column for values
    without a column, if it ever had one. `buckets` is the rule that maps keys to files, if computed: Hudi
    does not store it, and does not find rows written by another rule.
    """

    checkpoint: Position = BEGINNING
    schema: StructType | None = None
    rules: str = ""
    history: tuple[SchemaVersion, ...] = ()
    rescued_column: str | None = None
    buckets: str = ""

    def to_metadata(self) -> dict[str, str]:
        """Returns the commit metadata, with keys without the prefix."""
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
    """Parses the result of `CommittedState.to_metadata`; a table without metadata starts at the beginning.

    Raises `LakeError` if it is invalid.
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
    """Returns the metadata of the newest commit with a checkpoint; None if only others wrote the table.

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
    """Returns the state in a table's newest commit, or the initial state of a new table.

    Raises `TableMismatchError` if its rows were assigned to files by another rule than the current `index`.
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
    """Returns the state of an externally written table: its columns are known, no event is processed."""
    fields = [field for field in table.read().schema.fields if not field.name.startswith("_hoodie_")]
    return CommittedState(
        schema=assign_old_names(StructType(fields)),
        rules=config.rules,
        buckets=describe_buckets(config.index),
    )


def describe_buckets(index: IndexConfig | None) -> str:
    """Describes how an index computes the file of a key; empty for one that looks it up."""
    if index is None or index.type != "bucket":
        return ""
    # Consistent-hashing buckets split and merge; the configured number is only the initial one.
    return "consistent hashing" if index.engine == "consistent_hashing" else f"{index.buckets} buckets"


def with_columns(
    state: CommittedState,
    schema: StructType,
    rescued_column: str | None,
    brought_by: Mapping[str, str],
    now: datetime,
) -> CommittedState:
    """Returns the state with these columns: a new version of its schema if they differ.

    `brought_by` maps column paths to addresses of objects.
    """
    history = state.history
    if state.schema != schema:
        history = add_version(history, state.schema, schema, brought_by, now)
    return replace(state, schema=schema, history=history, rescued_column=rescued_column)


def name_version(state: CommittedState, table: Table) -> CommittedState:
    """Returns the state with the commit that introduced the newest version of its schema.

    A commit does not know its own instant, so the next one records it.
    """
    if not state.history or state.history[-1].commit:
        return state
    found = table.load_timeline().find_commit("schema_history")
    return replace(state, history=name_commit(state.history, found.requested)) if found else state
