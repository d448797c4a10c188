"""What a command, or a call of the Python API, does around its work: checks, its lease, its session."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext

from headwater.app.application import App
from headwater.app.iceberg import update_views
from headwater.app.lake_identity import ensure_usable_lake
from headwater.app.preflight import check_before_run
from headwater.app.services.writer_lease import hold_for_command, hold_for_service
from headwater.errors import UsageError
from headwater.lake.layout import find_address
from headwater.lake.service_table import ServiceTable


@contextmanager
def prepare_app(app: App, *, checked: bool = True, writing: str = "", is_owner: bool = True) -> Iterator[App]:
    """Yield the app when it may work. `is_owner`: close it at the end, before the lease is released.

    `checked` first checks for errors that would fail a run later. `writing` names this writer in its lease,
    for a command with the same writes as a run. Raises `HeadwaterError`; `TableBusyError` while a run is
    active.
    """
    settings = app.settings
    if checked:
        check_before_run(settings, app.environ)
    with ExitStack() as stack:
        lease = stack.enter_context(hold_for_command(settings, writing)) if writing else None
        if writing:
            ensure_usable_lake(settings)
        if is_owner:
            stack.enter_context(closing(app))
        if lease is not None:
            lease.add_process(app.find_jvm_process())
        yield app
        if writing:
            update_views(settings)


@contextmanager
def open_service_table(
    app: App,
    name: str,
    command: str,
    *,
    is_own_refused: bool = False,
    is_writing: bool = True,
    is_owner: bool = True,
) -> Iterator[ServiceTable]:
    """Open a table with a session. Raises `HeadwaterError`; `TableBusyError` while a conflicting writer is
    active.

    `command` names this writer in its lease. `is_own_refused`: reject headwater's own tables. `is_owner` as
    in `prepare_app`.
    """
    settings = app.settings
    address, config = find_address(settings, name), settings.tables.get(name)
    if is_own_refused and config is None:
        raise UsageError(
            f"{name} is one of headwater's own tables: other tables depend on its rows",
            hint=f"specify one of: {', '.join(settings.tables)}",
        )
    with ExitStack() as stack:
        held = hold_for_service(settings, command, [name]) if is_writing else nullcontext()
        lease = stack.enter_context(held)
        if is_owner:
            stack.enter_context(closing(app))
        if lease is not None:
            _ = app.spark
            lease.add_process(app.find_jvm_process())
        yield ServiceTable.of(app.spark, address, config) if config else ServiceTable(app.spark, address)
        if is_writing:
            update_views(settings, [name])
