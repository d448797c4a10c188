"""The session, lease and signals of a command that makes one pass over the source."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from headwater.cli.signals import stop_on_signals

if TYPE_CHECKING:
    from headwater.app import App


@contextmanager
def open_pass(app: "App", command: str, stop: threading.Event, *, is_writing: bool) -> Iterator[None]:
    """Start the session, let signals set `stop`, and when writing, hold the lease that excludes runs.

    Raises `TableBusyError`.
    """
    from headwater.app.lake_identity import ensure_usable_lake
    from headwater.app.services.writer_lease import hold_for_command

    with stop_on_signals(stop, app.settings.stop_timeout) as signals, ExitStack() as stack:
        if is_writing:
            lease = stack.enter_context(hold_for_command(app.settings, command, stop.set))
            ensure_usable_lake(app.settings)
            lease.add_process(app.find_jvm_process())
        _ = app.spark
        signals.arm()
        yield
