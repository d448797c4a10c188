"""`App`: wires objects from the configuration. The only module that knows every stage."""

import gc
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from functools import cached_property, partial
from pathlib import Path

from pyspark.sql import SparkSession

from headwater.app.lake_identity import build_identity
from headwater.app.scope import (
    build_scope,
    build_sets,
    list_buckets,
)
from headwater.capture.division import Division
from headwater.capture.events_table import EventsTable
from headwater.capture.position import Position
from headwater.capture.quarantine_table import QuarantineTable
from headwater.capture.reconcile.stored_groups import StoredGroups
from headwater.config.environment import find_state_folder, read_environment
from headwater.config.settings import Settings
from headwater.config.source import SourceConfig
from headwater.config.table import TableConfig
from headwater.ingest.changes.rules import ChangeRules
from headwater.ingest.changes.tombstones import Tombstones, TombstoneTable
from headwater.ingest.committed_state import check_adopted, resume_progress
from headwater.ingest.erasure.register import Register, Suppressions
from headwater.ingest.isolation.bad_parts import BadParts, ProcessedRecords
from headwater.ingest.isolation.trial import Trials
from headwater.ingest.ledger.copy_files import find_copy_file
from headwater.ingest.ledger.ledger import Ledger
from headwater.ingest.ledger.local_states import LocalStates
from headwater.ingest.ledger.table_ledger import TableLedger
from headwater.ingest.objects import SparkObjects
from headwater.ingest.pipeline import PipelineRules, TablePipeline
from headwater.ingest.planning.fold import FoldRules
from headwater.ingest.planning.outcome import CHECKPOINT
from headwater.ingest.planning.progress import Progress
from headwater.ingest.planning.window import build_window
from headwater.ingest.ports import Ports
from headwater.ingest.processing.change_processor import ChangeParts
from headwater.ingest.processing.processor import BatchProcessor
from headwater.ingest.reading.batch_read import BatchRead
from headwater.ingest.record_source import RecordSource
from headwater.ingest.rejects import QuarantineRejects
from headwater.ingest.rows import HudiRows, RowParts
from headwater.ingest.set_pipeline import SetPipeline
from headwater.ingest.set_source import ListedSets
from headwater.ingest.sets.planner import SetPlanner, SetRules
from headwater.ingest.sets.progress import SetProgress
from headwater.ingest.writing.stored_contents import StoredContents
from headwater.lake.checks.judging import Checks
from headwater.lake.file_store import FileStore
from headwater.lake.jvm import set_hadoop_settings
from headwater.lake.layout import (
    erasure_path,
    event_groups_path,
    events_path,
    ledger_path,
    quarantine_path,
    scratch_path,
    table_path,
    tombstones_path,
)
from headwater.lake.partition_encoding import settle_partition_encoding
from headwater.lake.prerequisites.java import find_java
from headwater.lake.prerequisites.run_log import open_run_log
from headwater.lake.prerequisites.spark_settings import NEEDED_HADOOP_SETTINGS, NEEDED_SETTINGS
from headwater.lake.session import (
    build_session,
    can_run_jobs,
    explain_end,
    find_jvm_process,
    is_session_alive,
)
from headwater.lake.storage_options import build_storage_options
from headwater.lake.table import Table
from headwater.lake.transforms.chain import Chain
from headwater.lake.transforms.checking import read_secrets
from headwater.medallion.pipeline import DerivedPipeline, TransformsAndChecks
from headwater.medallion.source_tables.opening import open_sources
from headwater.observability.crash_points import crash_point
from headwater.sources.object_store import ObjectStoreConfig
from headwater.sources.registry import build_object_store, build_source


def read_clock() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(timezone.utc)


@dataclass(frozen=True, slots=True)
class Stores:
    """Tables shared by all pipelines of a run."""

    events: EventsTable
    quarantine: QuarantineTable
    ledger: Ledger
    tombstones: TombstoneTable


class App:
    """One run of headwater. Objects are built on first use; `close` ends the Spark session.

    `is_brief`: its session ends soon, see `headwater.app.brief_run`.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        environ: Mapping[str, str] | None = None,
        spark: SparkSession | None = None,
        session_of: "App | None" = None,
        is_brief: bool = False,
    ) -> None:
        self.settings = settings
        self._is_brief = is_brief
        self.environ = read_environment() if environ is None else environ
        self._given_spark = spark
        self._session_of = session_of
        # Passes over several sources write the same tables.
        self.reconcile_turn = threading.Lock()

    @cached_property
    def spark(self) -> SparkSession:
        """Return the session of this run; a session passed in, or of another app, is left running."""
        if self._session_of is not None:
            return self._session_of.spark
        if self._given_spark is not None:
            for key, value in NEEDED_SETTINGS.items():
                self._given_spark.conf.set(key, value)
            set_hadoop_settings(self._given_spark, NEEDED_HADOOP_SETTINGS)
            return self._given_spark
        java = find_java(self.environ)
        spark = build_session(
            self.settings, java_home=str(java.path), log_file=self._log_file, is_brief=self._is_brief
        )
        _relax_garbage_collection()
        return spark

    @cached_property
    def _log_file(self) -> Path:
        if self._session_of is not None:
            return self._session_of._log_file
        return open_run_log(find_state_folder(self.environ), read_clock())

    @cached_property
    def events(self) -> EventsTable:
        """Return the events table."""
        settings = self.settings
        scopes = [build_scope(settings, name) for name in settings.object_tables]
        beginnings = {text for scope in scopes for text in scope.full_beginnings}
        division = Division(list_buckets(settings), beginnings)
        return EventsTable(self.spark, events_path(settings.lake), build_identity(settings), division)

    @cached_property
    def event_groups(self) -> StoredGroups:
        """Return the groups of old events with which a reconcile begins."""
        return StoredGroups(self.spark, event_groups_path(self.settings.lake), self.events)

    @cached_property
    def stores(self) -> Stores:
        """Return the tables shared by all pipelines."""
        lake = self.settings.lake
        return Stores(
            events=self.events,
            quarantine=QuarantineTable(self.spark, quarantine_path(lake)),
            ledger=Ledger(self.spark, ledger_path(lake)),
            tombstones=TombstoneTable(self.spark, tombstones_path(lake)),
        )

    @cached_property
    def register(self) -> Register:
        """Return the register of forgotten subjects."""
        lake, storage = self.settings.lake, self.settings.lake_storage
        return Register(FileStore(erasure_path(lake), partial(build_storage_options, lake, storage)))

    def with_settings(self, settings: Settings) -> "App":
        """Return an app with other settings and the session of this one, which may not have started yet."""
        return App(settings, environ=self.environ, session_of=self)

    def build_pipeline(self, name: str, *, adopts_rules: bool = False) -> TablePipeline[BatchRead]:
        """Build the pipeline of one table built from objects. Raises `UsageError` for an unknown name.

        `adopts_rules` as in `HudiRows`.
        """
        settings, stores = self.settings, self.stores
        scope, config = build_scope(settings, name), self.find_config(name)
        table = Table(self.spark, table_path(settings.lake, name))
        processor, source = self.build_processor(name, config), self._build_record_source(name, config)
        trials = Trials(name, config, processor, table, partial(scratch_path, settings.lake))
        records = ProcessedRecords(source, processor, BadParts(name, trials))
        rows = self._build_rows(name, config, source, processor, adopts_rules=adopts_rules)
        ports = Ports(
            events=stores.events.select(scope.full_beginnings),
            objects=SparkObjects(
                name,
                table,
                records,
                rows.load_state,
                config.max_files_per_trigger,
                is_divisible=not config.complete_when,
            ),
            rows=rows,
            rejects=QuarantineRejects(name, stores.quarantine, read_clock),
            build_ledger=partial(
                TableLedger, name, stores.ledger, table, stores.events, self._build_copy(name)
            ),
            now=read_clock,
            reach=crash_point,
        )
        policy = config.on_bad_object.model_dump(by_alias=True)
        rules = PipelineRules(scope, int(config.max_bytes_per_trigger), _build_fold(config), policy)
        sets, rule = build_sets(settings, name), config.complete_when
        if sets is None or rule is None:
            return TablePipeline(name, rules, ports)
        set_rules = SetRules(rule, sets, keeps_history=config.history is not None)
        planner = self._build_planner(name, set_rules, lambda: rows.load_state().sets)
        return SetPipeline(name, rules, ports, planner, rows, rule.max_shrink)

    def _build_planner(
        self, name: str, rules: SetRules, load_progress: Callable[[], SetProgress]
    ) -> SetPlanner:
        """Build what decides about the sets of a table."""
        (source,) = self.settings.list_sources_of(name)
        listed = ListedSets(
            build_source(source),
            build_object_store(self.build_source_store(source)),
            rules.names.location,
            self.events.find_events,
            load_progress,
        )
        return SetPlanner(rules, listed, read_clock)

    def build_rows(self, name: str) -> HudiRows:
        """Build what writes the progress of a table outside of its batches. Raises `UsageError`."""
        config = self.find_config(name)
        source, processor = self._build_record_source(name, config), self.build_processor(name, config)
        return self._build_rows(name, config, source, processor)

    def _build_rows(
        self,
        name: str,
        config: TableConfig,
        source: RecordSource,
        processor: BatchProcessor,
        *,
        adopts_rules: bool = False,
    ) -> HudiRows:
        table = Table(self.spark, table_path(self.settings.lake, name))
        parts = RowParts(
            source,
            StoredContents(table, self.events, _build_fold(config)),
            read_clock,
            processor.changes.tombstones if processor.changes else None,
            lambda: self.settle_starts([name])[name],
        )
        return HudiRows(name, config, table, parts, adopts_rules=adopts_rules)

    def _build_record_source(self, name: str, config: TableConfig) -> RecordSource:
        return RecordSource(self.spark, name, config, self.build_store_config(name))

    def check_adopted(self) -> None:
        """Raise `TableMismatchError` if a table of HoodieStreamer has to be adopted first.

        Call it before new events are committed, which would be on the wrong side of its checkpoint.
        """
        for name, config in self.settings.object_tables.items():
            check_adopted(name, config, Table(self.spark, table_path(self.settings.lake, name)))

    def settle_starts(self, names: Iterable[str]) -> Mapping[str, Position]:
        """Return where those of the tables begin that have `start_from: latest`, decided at the first call.

        Call it before new events are committed that the tables must not miss. Raises `LakeError`.
        """
        config = self.settings.tables
        latest = [name for name in names if config[name].start_from == "latest"]
        return self.stores.ledger.settle_starts(latest, self.events.find_newest) if latest else {}

    def load_progress(self, name: str) -> Progress:
        """Return how far a table built from objects has read the events; decides and writes nothing.

        A table that has never run is at its start, for `latest` after all events. Raises `LakeError`.
        """
        timeline = Table(self.spark, table_path(self.settings.lake, name)).load_timeline()
        found = timeline.find_metadata(CHECKPOINT) if timeline.exists() else None
        return resume_progress(
            found,
            self.settings.tables[name].start_from,
            lambda: self.stores.ledger.find_start(name) or self.events.find_newest(),
        )

    def _build_copy(self, name: str) -> LocalStates:
        return LocalStates(find_copy_file(find_state_folder(self.environ), str(self.settings.lake), name))

    def find_config(self, name: str) -> TableConfig:
        """Return the configuration of one table, with the settings fixed when the table was created."""
        table = Table(self.spark, table_path(self.settings.lake, name))
        return settle_partition_encoding(self.settings.tables[name], table)

    def build_processor(self, name: str, config: TableConfig) -> BatchProcessor:
        """Build the transform and the checks of one table. Raises `ConfigError`."""
        suppressions = Suppressions(self.register, name)
        changes = self._build_changes(name, config)
        return BatchProcessor(name, config, read_secrets(self.environ), changes, suppressions)

    def _build_changes(self, name: str, config: TableConfig) -> ChangeParts | None:
        rules = ChangeRules.of(name, config)
        if rules is None:
            return None
        keep = timedelta(seconds=rules.config.keep_tombstones)
        tombstones = Tombstones(name, self.stores.tombstones, keep)
        table = Table(self.spark, table_path(self.settings.lake, name))
        return ChangeParts(rules, build_scope(self.settings, name).relative_key, tombstones, table)

    def build_store_config(self, name: str) -> ObjectStoreConfig:
        """Return where the objects of a table are fetched from."""
        routes = {
            one.known_location: self.build_source_store(one) for one in self.settings.list_sources_of(name)
        }
        return ObjectStoreConfig("routed", routes=tuple(routes.items()))

    def build_source_store(self, source: SourceConfig) -> ObjectStoreConfig:
        """Return where the objects of a source are fetched from."""
        config = build_source(source).build_store_config()
        if source.moved_from is None:
            return config
        return replace(config, known_as=source.known_location, location=source.location)

    def build_pipelines(self, only: Sequence[str] = ()) -> list[TablePipeline[BatchRead]]:
        """Build the pipelines of all tables built from objects, or of those named."""
        return [self.build_pipeline(name) for name in only or self.settings.object_tables]

    def build_derived_pipeline(self, name: str) -> DerivedPipeline:
        """Build the pipeline of one table derived from other ones.

        Raises `ConfigError`, and `TransformError` for SQL that cannot be recomputed by group.
        """
        lake = self.settings.lake
        table = Table(self.spark, table_path(lake, name))
        config = self.find_config(name)
        return DerivedPipeline(
            name,
            config,
            sources=open_sources(self.spark, lake, config),
            table=table,
            transforms=TransformsAndChecks(
                Chain(name, config.transform, read_secrets(self.environ)), Checks(name, config.checks)
            ),
        )

    def check_session(self) -> None:
        """Raise `PlatformError` when the session has ended: nothing can be written any more."""
        if end := explain_end(self.spark):
            raise end

    def is_session_alive(self) -> bool:
        """True if the session of this run can run jobs."""
        return can_run_jobs(self.spark)

    def find_jvm_process(self) -> int | None:
        """Return the process id of the JVM; None when this app did not start it."""
        return find_jvm_process(self.spark)

    def use_pool(self, name: str) -> None:
        """Run the Spark jobs of this thread in the fair scheduler pool `name`."""
        self.spark.sparkContext.setLocalProperty("spark.scheduler.pool", name)

    def close(self) -> None:
        """End the Spark session, if this app started one."""
        owns = self._given_spark is None and self._session_of is None
        if owns and "spark" in self.__dict__ and is_session_alive(self.spark):
            self.spark.stop()


def _build_fold(config: TableConfig) -> FoldRules:
    mode = config.effective_mode
    return FoldRules(mirrors=mode == "mirror", merges=mode == "merge", window=build_window(config))


def _relax_garbage_collection() -> None:
    """Collect garbage rarely: batches of events are many objects, and none is in a reference cycle.

    With Python's defaults, collection took a tenth of capture's CPU. Objects loaded so far are frozen.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
