"""Reads the tables of HoodieStreamer: their checkpoints, and whether the configuration can continue them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from headwater.app.adoption.checkpoints import (
    Checkpoint,
    EventsCheckpoint,
    FolderCheckpoint,
    KafkaCheckpoint,
    find_modified_after,
    parse_checkpoint,
)
from headwater.app.adoption.fitting import iter_mode_problems
from headwater.app.adoption.report import AdoptedTable, AdoptRequest
from headwater.app.application import App
from headwater.app.scope import build_scope
from headwater.ingest.planning.outcome import CHECKPOINT
from headwater.ingest.writing.table_writer import TableWriter
from headwater.lake.layout import table_path
from headwater.lake.migration.streamer_commits import StreamerCheckpoint, find_streamer_checkpoint
from headwater.lake.table import Table
from headwater.lake.timeline import Timeline
from headwater.lake.timeline.instants import parse_time
from headwater.lake.typed_options.continuing import ExistingTable, iter_table_problems

_KINDS = frozenset({"azure", "gcs", "kafka", "local", "s3"})
_FRACTIONS = frozenset({"local", "gcs"})
"""Types of sources whose modification times have fractions of a second."""


@dataclass(frozen=True, slots=True)
class Surveyed:
    """One table. `problems` say why it cannot be continued; without a checkpoint there is nothing to do."""

    row: AdoptedTable
    checkpoint: Checkpoint | None = None
    problems: list[str] = field(default_factory=list)


class Survey:
    """Reads the tables of one `App`; writes nothing. Raises `LakeError`."""

    def __init__(self, app: App, request: AdoptRequest, now: Callable[[], datetime]) -> None:
        self._app = app
        self._request = request
        self._now = now

    def iter_candidates(self) -> Iterator[str]:
        """Yield the tables that HoodieStreamer wrote."""
        for name in self._app.settings.object_tables:
            timeline = self._open(name).load_timeline()
            if timeline.exists() and find_streamer_checkpoint(timeline) is not None:
                yield name

    def read(self, name: str) -> Surveyed:
        """Return what is known of one table. Raises `UsageError` for one that is not built from objects."""
        build_scope(self._app.settings, name)
        timeline = self._open(name).load_timeline()
        if not timeline.has_commits():
            path = table_path(self._app.settings.lake, name)
            problem = f"there is no Hudi table with a commit at {path}; `lake` is the folder of the tables"
            return Surveyed(AdoptedTable(name, "to adopt"), problems=[problem])
        if timeline.find_metadata(CHECKPOINT) is not None:
            return Surveyed(AdoptedTable(name, "adopted before"))
        given = self._request.checkpoints.get(name)
        stored = StreamerCheckpoint(given) if given else find_streamer_checkpoint(timeline)
        if stored is None:
            problem = f"no commit has a checkpoint of HoodieStreamer; specify --checkpoint {name}=TEXT"
            return Surveyed(AdoptedTable(name, "to adopt"), problems=[problem])
        row = AdoptedTable(name, "to adopt", stored.text)
        try:
            found = parse_checkpoint(stored.text, by_completion=stored.by_completion)
        except ValueError as error:
            return Surveyed(row, problems=[f"{error}; specify --checkpoint {name}=TEXT"])
        problems = list(iter_mode_problems(self._app.settings.tables[name]))
        problems = problems or list(self._iter_table_problems(name, timeline))
        return Surveyed(row, found, [*problems, *self._iter_source_problems(name, found)])

    def _iter_table_problems(self, name: str, timeline: Timeline) -> Iterator[str]:
        table, config = self._open(name), self._app.find_config(name)
        rows = table.read()
        sample = rows.select("_hoodie_record_key").first()
        existing = ExistingTable(
            timeline.read_properties(),
            rows.columns,
            timeline.list_pending_writes(),
            parse_time(max((one.requested for one in timeline.active), default=""), "UTC"),
            sample[0] if sample else None,
        )
        options = TableWriter(name, config, table).build_options().to_hoodie()
        yield from iter_table_problems(name, existing, options, self._now())

    def _iter_source_problems(self, name: str, checkpoint: Checkpoint) -> Iterator[str]:
        """Yield why the checkpoint cannot be one of the table's source."""
        kinds = {source.type for source in self._app.settings.list_sources_of(name)}
        allowed = {"kafka"} if isinstance(checkpoint, KafkaCheckpoint) else _KINDS - {"kafka"}
        if isinstance(checkpoint, EventsCheckpoint):
            allowed = {"s3", "gcs"}
        if not kinds <= allowed:
            yield (
                f"its checkpoint is of a source of type {' or '.join(sorted(allowed))}, and the table has "
                f"sources of type {', '.join(sorted(kinds))}"
            )
        elif isinstance(checkpoint, FolderCheckpoint):
            after = find_modified_after(checkpoint, has_fractions=bool(kinds & _FRACTIONS))
            if self._app.settings.tables[name].modified_after != after:
                yield (
                    f"its job has read the files modified until {checkpoint.modified.isoformat()}; set "
                    f"`modified_after: {after:%Y-%m-%dT%H:%M:%SZ}`"
                )
        elif isinstance(checkpoint, EventsCheckpoint) and not self._request.events:
            yield (
                f"its checkpoint {checkpoint.instant} is a commit of HoodieStreamer's events table; specify "
                "it with --events ADDRESS. Without it, only a new table with `start_from: TIME` is possible, "
                "which omits what was captured before a time, and so does not continue exactly"
            )

    def _open(self, name: str) -> Table:
        return Table(self._app.spark, table_path(self._app.settings.lake, name))
