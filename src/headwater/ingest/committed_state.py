"""The state in a data table's commit metadata: checkpoint, schema, rules of selection."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

from pyspark.sql.types import StructType

from headwater.capture.position import BEGINNING, EventRange, Position
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
from headwater.ingest.planning.progress import (
    ADOPTED,
    SKIPPED,
    Progress,
    Start,
    format_skipped,
    parse_progress,
    parse_skipped,
)
from headwater.ingest.sets.progress import SETS_KEY, SetProgress, parse_set_progress
from headwater.lake.migration.streamer_commits import find_streamer_checkpoint
from headwater.lake.options import COMMIT_METADATA_PREFIX
from headwater.lake.table import Table


@dataclass(frozen=True, slots=True)
class CommittedState:
    """The state committed together with the rows; a restart uses no other.

    `skipped` and `adopted` as in `Progress`. `history` are the versions of the schema; `rescued_column` is
    the name of the table's column for values without a column, if it ever had one. `buckets` is the rule by
    which the index computes the file of a key, if it does: Hudi does not store the rule, and does not find
    rows written by another one.

    In a table of changes, `change_order` names the fields that order them, and `change_shape` are the types
    of their values: see `ChangeRules` and `build_shape`. In a table of sets of files, `sets` says which are
    applied and open.
    """

    checkpoint: Position = BEGINNING
    schema: StructType | None = None
    rules: str = ""
    history: tuple[SchemaVersion, ...] = ()
    rescued_column: str | None = None
    buckets: str = ""
    change_order: str = ""
    change_shape: str = ""
    sets: SetProgress = field(default_factory=SetProgress)
    skipped: tuple[EventRange, ...] = ()
    adopted: Position = BEGINNING

    def to_metadata(self) -> dict[str, str]:
        """Return the commit metadata, with keys without the prefix."""
        metadata = {CHECKPOINT: self.checkpoint.to_text(), SKIPPED: format_skipped(self.skipped)}
        if self.adopted > BEGINNING:
            metadata[ADOPTED] = self.adopted.to_text()
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
        if self.change_order:
            metadata["change_order"] = self.change_order
            metadata["change_shape"] = self.change_shape
        if self.sets != SetProgress():
            metadata |= self.sets.to_metadata()
        return metadata


def parse_committed_state(metadata: Mapping[str, str] | None) -> CommittedState:
    """Parse the result of `CommittedState.to_metadata`; a table without metadata starts at the beginning.

    Raises `LakeError` if it is invalid.
    """
    if not metadata:
        return CommittedState()
    with _explained_metadata():
        return CommittedState(
            checkpoint=Position.parse(metadata[CHECKPOINT]),
            schema=_parse_schema(metadata["schema"]) if "schema" in metadata else None,
            rules=metadata.get("rules", ""),
            history=parse_history(metadata.get("schema_history", "[]")),
            rescued_column=metadata.get("rescued_column"),
            buckets=metadata.get("buckets", ""),
            change_order=metadata.get("change_order", ""),
            change_shape=metadata.get("change_shape", ""),
            sets=parse_set_progress(metadata.get(SETS_KEY, "")),
            skipped=parse_skipped(metadata.get(SKIPPED, "[]")),
            adopted=Position.parse(metadata[ADOPTED]) if ADOPTED in metadata else BEGINNING,
        )


def resume_progress(
    metadata: Mapping[str, str] | None, start_from: Start, find_latest: Callable[[], Position]
) -> Progress:
    """See `parse_progress`. Raises `LakeError` for invalid metadata."""
    with _explained_metadata():
        return parse_progress(metadata, start_from, find_latest)


@contextmanager
def _explained_metadata() -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, TypeError) as error:
        raise LakeError(
            f"cannot parse headwater's metadata in the newest commit of the table: {error!r}",
            hint="run `headwater table NAME commits --json` to check whether a newer version of headwater, "
            f"or another program that writes keys starting with `{COMMIT_METADATA_PREFIX}`, made the commit; "
            "to undo it, run `headwater table NAME rollback`",
        ) from error


def _parse_schema(text: str) -> StructType:
    return assign_old_names(StructType.fromJson(json.loads(text)))


def load_metadata(name: str, table: Table) -> Mapping[str, str] | None:
    """Return the metadata of the newest commit with a checkpoint; None if only other programs wrote it.

    Raises `TableMismatchError` for a table that was built from another table.
    """
    timeline = table.load_timeline()
    if not timeline.exists():
        return None
    found = timeline.find_metadata(CHECKPOINT)
    if found is None and timeline.find_metadata(FOLLOWED) is not None:
        raise TableMismatchError(
            f"table {name}: the existing table was built from another table, not from objects",
            hint="restore `from`, or configure a table with another name: this one would mix rows of both "
            "sources",
        )
    return found


def check_adopted(name: str, config: TableConfig, table: Table) -> None:
    """Raise `TableMismatchError` for a table of HoodieStreamer, whose objects a run would ingest again."""
    timeline = table.load_timeline()
    if config.start_from is not None or not timeline.exists():
        return
    if timeline.find_metadata(CHECKPOINT) is None and find_streamer_checkpoint(timeline) is not None:
        raise TableMismatchError(
            f"table {name}: HoodieStreamer wrote the existing table, and headwater has no checkpoint in it",
            hint=f"to continue after its checkpoint, run `headwater adopt {name}`; to ingest events from a "
            f"time on, set `tables.{name}.start_from`",
        )


def load_set_progress(table: Table) -> SetProgress:
    """Return the sets of files that a table has applied, and those that are open. Raises `LakeError`."""
    timeline = table.load_timeline()
    found = timeline.find_metadata(CHECKPOINT) if timeline.exists() else None
    return parse_committed_state(found).sets


def resume_state(
    name: str, metadata: Mapping[str, str] | None, index: IndexConfig | None, change_order: str = ""
) -> CommittedState:
    """Return the state in a table's newest commit, or the initial state of a new table.

    Raises `TableMismatchError` if its rows were assigned to files by another rule than the current `index`,
    or if its changes were ordered by other fields than `change_order`.
    """
    state, buckets = parse_committed_state(metadata), describe_buckets(index)
    if metadata is not None and state.buckets != buckets:
        there, here = (text or "no bucket index" for text in (state.buckets, buckets))
        raise TableMismatchError(
            f"table {name}: `index` is {there} in the table but {here} in the configuration: "
            "updates would duplicate rows",
            hint="restore the `index` of the table, or configure a table with another name, which is built "
            "from all events",
        )
    if metadata is not None and state.change_order != change_order:
        there, here = (text or "not set" for text in (state.change_order, change_order))
        raise TableMismatchError(
            f"table {name}: `changes.sequence` is {there} in the table but {here} in the configuration: its "
            "rows could not be compared with new changes",
            hint="restore the `changes` of the table, or configure a table with another name, which is built "
            "from all events",
        )
    return replace(state, buckets=buckets, change_order=change_order)


def begin_with(table: Table, config: TableConfig, progress: Progress) -> CommittedState:
    """Return the state of an externally written table: its columns are known, no event is processed yet."""
    fields = [field for field in table.read().schema.fields if not field.name.startswith("_hoodie_")]
    return CommittedState(
        checkpoint=progress.checkpoint,
        skipped=progress.skipped,
        adopted=progress.adopted,
        schema=assign_old_names(StructType(fields)),
        rules=config.rules,
        buckets=describe_buckets(config.index),
    )


def describe_buckets(index: IndexConfig | None) -> str:
    """Describe how an index computes the file of a key; empty for one that looks it up."""
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
    """Return the state with these columns: a new version of its schema if they differ.

    `brought_by` maps column paths to addresses of objects.
    """
    history = state.history
    if state.schema != schema:
        history = add_version(history, state.schema, schema, brought_by, now)
    return replace(state, schema=schema, history=history, rescued_column=rescued_column)


def name_version(state: CommittedState, table: Table) -> CommittedState:
    """Return the state with the commit that introduced the newest version of its schema.

    A commit does not know its own instant, so the next one records it.
    """
    if not state.history or state.history[-1].commit:
        return state
    found = table.load_timeline().find_commit("schema_history")
    return replace(state, history=name_commit(state.history, found.requested)) if found else state
