"""The inputs of verifying and cleaning: the bucket's listing, and the objects of each table."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from headwater.app.application import App
from headwater.app.scope import build_scope, build_sets
from headwater.capture.quarantine_reader import QuarantineFilter, QuarantineReader
from headwater.config.settings import Settings
from headwater.config.table import TableConfig
from headwater.ingest.committed_state import load_set_progress
from headwater.ingest.ledger.reading import LedgerReader
from headwater.ingest.lineage import build_uri
from headwater.ingest.planning.lost_rows import LostRows
from headwater.ingest.planning.plan import Location
from headwater.ingest.planning.verification import TableRules, TableStreams
from headwater.ingest.writing.stored_contents import iter_announced, iter_row_counts
from headwater.lake.layout import quarantine_path, table_path
from headwater.lake.storage_options import build_storage_options
from headwater.lake.table import Table


def build_uri_prefix(location: Location) -> str:
    """Return the common prefix of the addresses of all objects of a bucket or folder."""
    return build_uri(location.provider, location.bucket, "\x00").removesuffix("\x00")


def open_streams(app: App, name: str, location: Location) -> TableStreams:
    """Open the lazy streams of one table about the objects at one of its locations, each in key order.

    Raises `LakeError`, also while they are read.
    """
    settings, bucket = app.settings, location.bucket
    scope = build_scope(settings, name).restrict(location)
    table = Table(app.spark, table_path(settings.lake, name))
    ledger = LedgerReader(name, app.stores.ledger, table, app.events)
    rules = _with_sets(build_rules(settings.tables[name]), settings, name, table)
    progress = app.load_progress(name)
    pending = app.events.iter_keys_after(progress.checkpoint, bucket)
    skipped = app.events.iter_newest_in(progress.skipped_by_choice, bucket)
    adopted = app.events.iter_event_times(progress.adopted, bucket)
    entries = ledger.iter_states(bucket, location.prefix)
    prefix = build_uri_prefix(location)
    rows = iter_row_counts(table, prefix)
    announced = iter_announced(table, app.events, bucket, prefix) if rules.adds_rows else ()
    return TableStreams(
        includes_listed=partial(scope.includes_listed, bucket),
        entries=(entry for entry in entries if scope.includes(entry.bucket, entry.key)),
        rows=((key, counts) for key, counts in rows if scope.includes(bucket, key)),
        pending=(key for key in pending if scope.includes(bucket, key)),
        quarantined=_load_quarantined(settings, name, bucket),
        rules=rules,
        announced=((key, counts) for key, counts in announced if scope.includes(bucket, key)),
        skipped=((key, newest) for key, newest in skipped if scope.includes(bucket, key)),
        adopted=((key, newest) for key, newest in adopted if scope.includes(bucket, key)),
        lost=_group_lost(app.register.load(name).lost, prefix) if rules.counts_rows else {},
    )


def _group_lost(rows: Sequence[LostRows], prefix: str) -> Mapping[str, Sequence[LostRows]]:
    """Return rows of an erasure by the key of their object below `prefix`."""
    found: dict[str, list[LostRows]] = {}
    for one in rows:
        if one.uri.startswith(prefix):
            found.setdefault(one.uri[len(prefix) :], []).append(one)
    return found


def build_rules(config: TableConfig) -> TableRules:
    """Return what may be asked of a table's rows."""
    return TableRules(
        follows_removals=config.effective_mode == "mirror",
        counts_rows=config.effective_mode != "merge",
        adds_rows=config.effective_mode == "append",
        applies_changes=config.changes is not None,
        has_sets=config.complete_when is not None,
    )


def _with_sets(rules: TableRules, settings: Settings, name: str, table: Table) -> TableRules:
    """Return the rules with the judgement of files by their set, if the table has sets."""
    names = build_sets(settings, name)
    if names is None:
        return rules
    return replace(rules, judge_place=partial(load_set_progress(table).place, names))


def _load_quarantined(settings: Settings, name: str, bucket: str) -> Mapping[str, str]:
    options = build_storage_options(settings.lake, settings.lake_storage)
    reader = QuarantineReader(quarantine_path(settings.lake), options)
    rows = reader.list_rows(QuarantineFilter(level="object", table=name))
    return {str(row["key"]): str(row["reason"]) for row in rows if row["bucket"] == bucket}
