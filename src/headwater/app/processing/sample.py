"""Chooses the object for trying a table's transforms: a given one, else the table's newest."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headwater.app.application import App
from headwater.app.schema import locate_object, read_state
from headwater.app.scope import build_scope
from headwater.config.file_format import infer_format
from headwater.config.table import TableConfig
from headwater.errors import UsageError
from headwater.ingest.changes.rules import ChangeRules
from headwater.ingest.lineage import build_uri
from headwater.ingest.processing.change_processor import ChangeParts
from headwater.ingest.processing.preview import StepRows, TransformPreview
from headwater.ingest.processing.processor import BatchProcessor
from headwater.lake.transforms.checking import read_secrets

_NEWEST_EVENTS = 1_000


@dataclass(frozen=True, slots=True)
class TransformReport:
    """`headwater transform NAME`. `bad_rows` are records of the sample that do not match the columns."""

    table: str
    sample: str
    format: str
    rows: int
    bad_rows: int
    steps: tuple[StepRows, ...]


def check_transform_number(name: str, config: TableConfig, step: int | None) -> None:
    """Raise `UsageError` for a table without transforms, or without that one."""
    count = len(config.transform)
    if not count:
        raise UsageError(
            f"table {name} has no `transform`",
            hint="docs/how-to/transform-and-check.md shows how to write one",
        )
    if step is not None and not 1 <= step <= count:
        raise UsageError(f"table {name} has no transform {step}", hint=f"it has transforms 1 to {count}")


def try_transform(
    app: App,
    storage_options: Mapping[str, str],
    name: str,
    *,
    sample: str | None,
    limit: int,
    step: int | None,
) -> TransformReport:
    """Return the sample's records after each transform, or before and after one. Writes nothing.

    `sample` is a key of the source, an address, or a file on this machine. A file's format follows from its
    ending, else from the table. Raises `UsageError` for a missing sample, and the errors of reading and
    transforming.
    """
    scope = build_scope(app.settings, name)
    config = app.find_config(name)
    check_transform_number(name, config, step)
    chosen = sample if sample is not None else _find_newest(app, name)
    store, ref = locate_object(app, chosen)
    found = infer_format(Path(ref.key).name) or config.effective_format
    if sample is not None and found != config.effective_format:
        config = config.model_copy(update={"format": found, "options": {}})
    rules = ChangeRules.of(name, config)
    changes = ChangeParts(rules, scope.relative_key) if rules else None
    processor = BatchProcessor(name, config, read_secrets(app.environ), changes)
    last = step if step is not None else len(config.transform)
    state = read_state(app.settings, storage_options, name)
    preview = TransformPreview(app.spark, name, config, processor)
    outcome, steps = preview.preview(store, ref, state, limit, last)
    return TransformReport(
        table=name,
        sample=chosen,
        format=config.effective_format,
        rows=outcome.rows,
        bad_rows=outcome.bad_rows,
        steps=tuple(steps if step is None else steps[-2:]),
    )


def _find_newest(app: App, name: str) -> str:
    """Return the newest object that the events name for the table: its key, or its address in one of several
    sources."""
    scope, snapshot = build_scope(app.settings, name), app.events.read_snapshot()
    if snapshot is not None:
        created = snapshot.where("kind = 'created' and size > 0")
        own = created.where(created["bucket"].isin(*scope.buckets)).orderBy("event_time", ascending=False)
        for row in own.select("provider", "bucket", "key").limit(_NEWEST_EVENTS).collect():
            if scope.includes(row["bucket"], row["key"]):
                is_only = len(app.settings.sources) == 1
                return row["key"] if is_only else build_uri(row["provider"], row["bucket"], row["key"])
    raise UsageError(
        f"no event names an object of table {name} yet",
        hint="specify an object with `--sample FILE`, or run `headwater run --once`",
    )
