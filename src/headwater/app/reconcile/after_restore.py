"""After a restore, a run waits for a reconcile by its user if `clean_source` may have removed objects."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from headwater.app.application import App
from headwater.app.restore_state import find_restore
from headwater.app.scope import source_bucket
from headwater.capture.reconcile import ReconcilePass
from headwater.capture.reconcile.pass_table import PassTable
from headwater.capture.reconcile.passes import find_last_finished, select_since
from headwater.config.settings import Settings
from headwater.errors import UsageError
from headwater.lake.layout import reconciles_path


def ensure_reconciled(app: App) -> None:
    """Raise `UsageError` for a restored lake whose tables could lose rows of objects that were cleaned.

    The lake of the backup does not know that `clean_source` removed them: to a listing, their owner did. A
    reconcile that the user has started decides it. Raises `LakeError`.
    """
    settings = app.settings
    tables = list(iter_retracting(settings))
    if settings.source.clean_source not in ("move", "delete") or not tables:
        return
    restore = find_restore(settings)
    if restore is None or restore.finished_at is None:
        return
    passes = PassTable(app.spark, reconciles_path(settings.lake))
    past = passes.list_passes(source_bucket(settings), settings.source.prefix)
    if is_reconciled(past, restore.finished_at):
        return
    raise UsageError(
        f"the lake was restored from {restore.source}: objects that `clean_source: "
        f"{settings.source.clean_source}` has removed since that backup would count as removed by their "
        f"owner, and {', '.join(tables)} would lose their rows",
        hint="inspect the differences with `headwater reconcile --dry-run`, put back objects whose rows are "
        "to stay, then run `headwater reconcile`; after that, `headwater run` starts",
    )


def iter_retracting(settings: Settings) -> Iterator[str]:
    """Yield tables that retract rows together with their object."""
    for name, table in settings.object_tables.items():
        if table.effective_on_object_removed != "ignore":
            yield name


def is_reconciled(passes: Sequence[ReconcilePass], restored_at: datetime) -> bool:
    """True if a reconcile has finished since the restore. Pure."""
    return find_last_finished(select_since(passes, restored_at)) is not None
