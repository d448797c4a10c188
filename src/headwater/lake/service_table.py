"""A table as table services use it: its properties, its timeline, and Hudi's write client."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from headwater.config.table import TableConfig
from headwater.errors import TableNotFoundError
from headwater.lake.auto_index import settle_index
from headwater.lake.jvm import Jvm, connect, explained_lake, read_session_settings
from headwater.lake.layout import TableAddress
from headwater.lake.options import (
    TABLE_PROPERTY_KEYS,
    Operation,
    WriteOptions,
    owner_options,
    service_options,
)
from headwater.lake.record_index import read_record_index
from headwater.lake.service_result import ServiceResult, sum_results
from headwater.lake.timeline import Timeline
from headwater.lake.timeline.jvm import load_timeline
from headwater.lake.typed_options.locks import read_session_lock
from headwater.lake.typed_options.services import NO_SERVICES


@dataclass(frozen=True, slots=True)
class ServiceTable:
    """A table to maintain. `extra` are its owner's options, which win: see `owner_options`."""

    spark: SparkSession
    address: TableAddress
    extra: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, spark: SparkSession, address: TableAddress, config: TableConfig) -> "ServiceTable":
        """Open a configured table with its owner's options, including the index that its writes use now.

        Raises `LakeError`.
        """
        timeline = load_timeline(spark, address.path)
        properties = timeline.read_properties() if timeline.exists() else {}
        settled = settle_index(config, read_record_index(spark, address.path, properties))
        return cls(spark, address, owner_options(settled))

    @property
    def java(self) -> Jvm:
        """The session's JVM."""
        return connect(self.spark)

    def load_timeline(self) -> Timeline:
        """Load the current timeline.

        Raises `LakeError`, and `TableNotFoundError` if the table is absent or has no completed commit.
        """
        path = self.address.path
        timeline = load_timeline(self.spark, path)
        if timeline.exists() and not timeline.has_commits():
            raise TableNotFoundError(
                f"table {self.address.name}: no commit to {path} has completed",
                hint="its first commit was interrupted: `headwater run --once` rolls it back and repeats it",
            )
        if not timeline.exists():
            raise TableNotFoundError(
                f"table {self.address.name}: no Hudi table exists at {path}",
                hint="a table is created with its first rows: `headwater run --once`",
            )
        return timeline

    def load_meta_client(self) -> Any:
        """Load Hudi's meta client with the current state. Raises the errors of `load_timeline`."""
        self.load_timeline()
        with explained_lake(self.address.path):
            return self.java.build_meta_client(self.address.path)

    def build_client_options(self) -> dict[str, str]:
        """Build the options of a client for table services. Raises the errors of `load_timeline`."""
        meta_client = self.load_meta_client()
        with explained_lake(self.address.path):
            return self._build_options(meta_client)

    def _build_options(self, meta_client: Any) -> dict[str, str]:
        properties = self.java.read_map(meta_client.getTableConfig().propsMap())
        lock = read_session_lock(read_session_settings(self.spark), self.address.name)
        return service_options(properties, self.extra) | lock | dict(self.extra)

    @contextmanager
    def open_client(self, options: Mapping[str, str]) -> Iterator[Any]:
        """Open a write client with these options, closed at the end; its exceptions become `LakeError`."""
        meta_client = self.load_meta_client()
        with explained_lake(self.address.path):
            built = self._build_options(meta_client) | dict(options)
            client = self.java.build_write_client(meta_client, self.address.name, built)
            try:
                yield client
            finally:
                client.close()


def build_write_options(
    table: ServiceTable, operation: Operation, extra: Mapping[str, str] | None = None
) -> WriteOptions:
    """Build options for a write outside the table's pipeline; the owner's options, then `extra`, win.

    Raises `TableNotFoundError` and `LakeError`.
    """
    config = table.load_meta_client().getTableConfig()
    with explained_lake(table.address.path):
        keys, partition = config.getRecordKeyFields(), config.getPartitionFields()
        is_merged = config.getTableType().name() == "MERGE_ON_READ"
        # Fixed when the table was created, usually without an explicit setting in its configuration.
        encoding = str(config.getUrlEncodePartitioning() or "false")
        made = {TABLE_PROPERTY_KEYS["url_encoded"]: encoding} if partition.isPresent() else {}
        return WriteOptions(
            table_name=str(config.getTableName()),
            operation=operation,
            record_key=tuple(keys.get()) if keys.isPresent() else (),
            partition=tuple(partition.get()) if partition.isPresent() else (),
            ordering=tuple(config.getOrderingFields()),
            table_type="merge_on_read" if is_merged else "copy_on_write",
            extra={**made, **table.extra, **NO_SERVICES, **(extra or {})},
        )


def plan_and_execute(
    pending: Sequence[str], plan: Callable[[], Any], execute: Callable[[str], Any]
) -> ServiceResult:
    """Execute pending plans, then the plan that `plan` finds, if any.

    `plan` returns Hudi's `Option` of an instant, `execute` its `HoodieWriteMetadata`.
    """
    done = [execute_plan(execute, instant) for instant in pending]
    planned = plan()
    if planned.isPresent():
        done.append(execute_plan(execute, str(planned.get())))
    return sum_results(done)


def execute_plan(execute: Callable[[str], Any], instant: str) -> ServiceResult:
    """Execute the plan requested at `instant`; `execute` returns Hudi's `HoodieWriteMetadata`."""
    started = time.monotonic()
    metadata = execute(instant).getCommitMetadata().get()
    return ServiceResult(
        instants=(instant,),
        files=int(metadata.fetchTotalFilesInsert() + metadata.fetchTotalFilesUpdated()),
        rows=int(metadata.fetchTotalRecordsWritten()),
        bytes=int(metadata.fetchTotalBytesWritten()),
        seconds=time.monotonic() - started,
    )
