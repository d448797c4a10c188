"""Reports batches as OpenLineage runs, and sends their events. The only file that imports the library."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import version
from typing import Any
from uuid import UUID

from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    DatasetFacet,
    JobFacet,
    RunFacet,
    dataset_version_dataset,
    error_message_run,
    input_statistics_input_dataset,
    job_type_job,
    output_statistics_output_dataset,
    parent_run,
    processing_engine_run,
    schema_dataset,
    set_producer,
    sql_job,
    storage_dataset,
)
from openlineage.client.transport.file import FileConfig, FileTransport
from openlineage.client.transport.http import HttpConfig, HttpTransport, create_token_provider
from openlineage.client.transport.transport import Transport
from openlineage.client.uuid import generate_new_uuid, generate_static_uuid

from headwater.app.components import BatchNote
from headwater.app.lineage.commit_facts import CommitFacts
from headwater.app.lineage.datasets import DatasetName
from headwater.app.lineage.graph import Lineage, build_lineage
from headwater.config.lineage import API_KEY_VARIABLE, LineageConfig
from headwater.config.settings import Settings
from headwater.config.table import TableConfig
from headwater.errors import ConfigError
from headwater.lake.transforms.sql.file import read_sql_file
from headwater.observability.redaction import redact_text
from headwater.version import __version__

Event = RunEvent
PRODUCER = f"urn:headwater:{__version__}"
RUN_JOB = "headwater run"
"""The job whose runs are processes: no table name contains a space."""
_LASTING_STATUSES = frozenset(range(400, 500)) - {401, 403, 404, 408, 425, 429}
"""Statuses that a retry cannot change. Excludes those that a corrected key or address resolves."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an event did not arrive; `is_lasting` when retries cannot help."""

    text: str
    is_lasting: bool


class EventBuilder:
    """Builds the events of one process, which started at `began`."""

    def __init__(self, settings: Settings, config: LineageConfig, began: datetime) -> None:
        set_producer(PRODUCER)
        self._settings = settings
        self._namespace = config.namespace
        self._lineage = build_lineage(settings)
        self._statements = {name: _read_statements(table) for name, table in settings.tables.items()}
        self._process = Run(str(generate_new_uuid(began)))
        self._engine = processing_engine_run.ProcessingEngineRunFacet(
            version=version("pyspark"), name="spark", openlineageAdapterVersion=__version__
        )

    def build_process_begin(self, at: datetime) -> Event:
        """Build the event that `headwater run` has started."""
        return self._build_process(RunState.START, at)

    def build_process_end(self, at: datetime) -> Event:
        """Build the event that the run has completed."""
        return self._build_process(RunState.COMPLETE, at)

    def _build_process(self, state: RunState, at: datetime) -> Event:
        run = Run(self._process.runId, {"processing_engine": self._engine})
        return RunEvent(eventTime=_write(at), eventType=state, run=run, job=Job(self._namespace, RUN_JOB))

    def build_batch(self, note: BatchNote, facts: CommitFacts | None) -> list[Event]:
        """Build the events that a batch started, and how it ended."""
        run = self._build_run_id(note, facts)
        job = Job(self._namespace, note.table, dict(self._iter_job_facets(note.table)))
        inputs, outputs = list(self._iter_inputs(note)), [self._build_output(note, facts)]
        target = _find_name(self._lineage, note.table)

        def build(state: RunState, at: datetime, **found: Any) -> Event:
            facets = dict(self._iter_run_facets(note if state is RunState.FAIL else None))
            return RunEvent(
                eventTime=_write(at), eventType=state, run=Run(str(run), facets), job=job, **found
            )

        begin = build(
            RunState.START,
            note.began,
            inputs=[InputDataset(source.namespace, source.name) for source in inputs],
            outputs=[OutputDataset(target.namespace, target.name)],
        )
        state = RunState.FAIL if note.result is None else RunState.COMPLETE
        return [begin, build(state, note.ended, inputs=inputs, outputs=outputs)]

    def _build_run_id(self, note: BatchNote, facts: CommitFacts | None) -> UUID:
        """Return a run id that is always the same for a commit: a collector notified twice sees one run."""
        if facts is None or facts.requested_at is None:
            return generate_new_uuid(note.began)
        data = f"{self._namespace}/{note.table}/{facts.instant}"
        return generate_static_uuid(facts.requested_at, data.encode())

    def _iter_inputs(self, note: BatchNote) -> Iterator[InputDataset]:
        """Yield what the table's rows come from: the bucket, or other tables."""
        sources = self._settings.tables[note.table].sources
        for source in sources or (self._lineage.nodes[0].name,):
            name = _find_name(self._lineage, source)
            if note.result is None or sources:
                yield InputDataset(name.namespace, name.name)
                continue
            statistics = input_statistics_input_dataset.InputStatisticsInputDatasetFacet(
                size=note.result.bytes, fileCount=note.result.objects["ingested"]
            )
            yield InputDataset(name.namespace, name.name, {"inputStatistics": statistics})

    def _build_output(self, note: BatchNote, facts: CommitFacts | None) -> OutputDataset:
        name = _find_name(self._lineage, note.table)
        if note.result is None:
            return OutputDataset(name.namespace, name.name)
        statistics = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
            rowCount=note.result.rows,
            size=facts.bytes_written if facts else None,
            fileCount=facts.files_written if facts else None,
        )
        facets = dict(self._iter_dataset_facets(note.table, facts))
        return OutputDataset(name.namespace, name.name, {"outputStatistics": statistics}, facets=facets)

    def _iter_dataset_facets(
        self, table: str, facts: CommitFacts | None
    ) -> Iterator[tuple[str, DatasetFacet]]:
        base_file_format = self._settings.tables[table].base_file_format
        yield "storage", storage_dataset.StorageDatasetFacet("hudi", base_file_format)
        if facts is None:
            return
        fields = [
            schema_dataset.SchemaDatasetFacetFields(column.name, column.type, ordinal_position=at)
            for at, column in enumerate(facts.columns, 1)
        ]
        yield "schema", schema_dataset.SchemaDatasetFacet(fields)
        yield "version", dataset_version_dataset.DatasetVersionDatasetFacet(facts.instant)

    def _iter_run_facets(self, failed: BatchNote | None) -> Iterator[tuple[str, RunFacet]]:
        yield "processing_engine", self._engine
        process, job = self._process.runId, parent_run.Job(self._namespace, RUN_JOB)
        yield "parent", parent_run.ParentRunFacet(parent_run.Run(process), job)
        if failed is not None:
            text = redact_text(failed.error)
            yield "errorMessage", error_message_run.ErrorMessageRunFacet(text, "PYTHON")

    def _iter_job_facets(self, table: str) -> Iterator[tuple[str, JobFacet]]:
        yield "jobType", job_type_job.JobTypeJobFacet("BATCH", "HEADWATER", "TABLE")
        if statements := self._statements[table]:
            yield "sql", sql_job.SQLJobFacet(";\n".join(statements), "spark")


class EventSender:
    """Sends events to the configured collector, one at a time. Used by one thread."""

    def __init__(self, config: LineageConfig, environ: Mapping[str, str]) -> None:
        self._transport = _build_transport(config, environ)

    def send(self, event: Event) -> Refusal | None:
        """Send an event; None when it has arrived. Blocks up to `timeout_seconds`."""
        try:
            self._transport.emit(event)
        except (OSError, RuntimeError) as error:  # the library raises one of these when sending fails
            return _explain(error)
        return None

    def close(self) -> None:
        """Close the connection."""
        self._transport.close(0)


def _read_statements(table: TableConfig) -> list[str]:
    found = []
    for step in table.transform:
        try:
            text = read_sql_file(step.sql_file) if step.sql_file else step.sql
        except ConfigError:
            # The batches fail for the same reason, and report it.
            continue
        if text:
            found.append(text.strip().rstrip(";"))
    return found


def _build_transport(config: LineageConfig, environ: Mapping[str, str]) -> Transport:
    if config.file is not None:
        return FileTransport(FileConfig(str(config.file), append=True))
    key = environ.get(API_KEY_VARIABLE)
    return HttpTransport(
        HttpConfig(
            url=f"{(config.url or '').rstrip('/')}/",
            endpoint=config.endpoint.lstrip("/"),
            timeout=config.timeout_seconds,
            auth=create_token_provider({"type": "api_key", "apiKey": key} if key else {}),
            # The caller knows when to retry, and when the run has to end.
            retry={"total": 0},
        )
    )


def _explain(error: Exception) -> Refusal:
    response = getattr(error, "response", None)
    if response is None:
        return Refusal(redact_text(str(error.__cause__ or error)), is_lasting=False)
    status = response.status_code
    return Refusal(f"HTTP {status} {response.reason}", status in _LASTING_STATUSES)


def _find_name(lineage: Lineage, node: str) -> DatasetName:
    found = lineage.find(node).dataset
    assert found is not None  # noqa: S101 - only an index has none, and no table is built from it
    return found


def _write(at: datetime) -> str:
    return at.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
