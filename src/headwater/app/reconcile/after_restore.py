"""After a restore, a run waits for a reconcile by its user if `clean_source` may have removed objects."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from headwater.app.application import App
from headwater.app.restore_state import find_restore
from headwater.capture.reconcile import ReconcilePass
from headwater.capture.reconcile.pass_table import PassTable
from headwater.capture.reconcile.passes import find_last_finished, select_since
from headwater.config.settings import Settings
from headwater.config.source import SourceConfig
from headwater.errors import UsageError
from headwater.lake.layout import reconciles_path


def ensure_reconciled(app: App) -> None:
    """Raise `UsageError` for a restored lake whose tables could lose rows of objects that were cleaned.

    The lake of the backup does not know that `clean_source` removed them: to a listing, their owner did. A
    reconcile that the user has started decides it. Raises `LakeError`.
    """
    settings = app.settings
    cleaned = [source for source in settings.listed_sources if source.clean_source in ("move", "delete")]
    restore = find_restore(settings) if cleaned else None
    if restore is None or restore.finished_at is None:
        return
    passes = PassTable(app.spark, reconciles_path(settings.lake))
    for source in cleaned:
        tables = list(iter_retracting(settings, source))
        past = passes.list_passes(source.known_location, source.prefix) if tables else []
        if tables and not is_reconciled(past, restore.finished_at):
            raise _build_error(restore.source, source.clean_source, tables)


def _build_error(backup: str, action: str, tables: Sequence[str]) -> UsageError:
    return UsageError(
        f"the lake was restored from {backup}: objects that `clean_source: {action}` has removed since that "
        f"backup would count as removed by their owner, and {', '.join(tables)} would lose their rows",
        hint="inspect the differences with `headwater reconcile --dry-run`, put back objects whose rows are "
        "to stay, then run `headwater reconcile`; after that, `headwater run` starts",
    )


def iter_retracting(settings: Settings, source: SourceConfig) -> Iterator[str]:
    """Yield tables that retract rows together with their object in the source."""
    for name, table in settings.object_tables.items():
        if table.effective_on_object_removed != "ignore" and source in settings.list_sources_of(name):
            yield name


def is_reconciled(passes: Sequence[ReconcilePass], restored_at: datetime) -> bool:
    """True if a reconcile has finished since the restore. Pure."""
    return find_last_finished(select_since(passes, restored_at)) is not None
