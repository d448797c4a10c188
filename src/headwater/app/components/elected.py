"""`Elected`: components that only one of several processes runs."""

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from math import inf

from headwater.app.components.batch_note import BatchNote
from headwater.app.components.component import Component
from headwater.app.components.run_report import RunReport
from headwater.errors import TableBusyError

Hold = Callable[[threading.Event, float], AbstractContextManager[None]]
"""Holds the lease; waits for it for so many seconds. Raises `TableBusyError`."""


class Elected(Component):
    """Starts its components once this process holds the lease; until then it waits as a standby.

    A run that ends by itself does not wait: if another process holds the lease, it leaves the work to that.
    """

    def __init__(self, components: Sequence[Component], hold: Hold) -> None:
        super().__init__("elected")
        self._components = components
        self._hold = hold
        self._held = ExitStack()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._wait, name="elected", daemon=True)
        self._is_leading = False
        self.needs_all_tables = any(component.needs_all_tables for component in components)

    def start(self) -> None:
        """Wait for the lease in the background, then start the components."""
        self._thread.start()

    def on_batch(self, batch: BatchNote) -> None:
        """Pass it on."""
        for component in self._components:
            component.on_batch(batch)

    def backfill(self, stop: threading.Event) -> None:
        """Let the components do so, if no other process holds the lease."""
        try:
            self._held.enter_context(self._hold(stop, 0))
        except TableBusyError:
            return
        self._is_leading = True
        for component in self._components:
            component.backfill(stop)

    def catch_up(self, stop: threading.Event) -> None:
        """Let the components do so, if this process holds the lease."""
        for component in self._components if self._is_leading else ():
            component.catch_up(stop)

    def stop(self) -> None:
        """Stop the components and release the lease."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self._held.close()

    def add_to(self, report: RunReport) -> None:
        """Add the failures and what the components did."""
        super().add_to(report)
        for component in self._components:
            self.defect = self.defect or component.defect
            component.add_to(report)

    def _wait(self) -> None:
        try:
            with self._hold(self._stop, inf):
                try:
                    for component in self._components:
                        component.start()
                    self._stop.wait()
                finally:
                    for component in reversed(self._components):
                        component.stop()
        except TableBusyError:
            return  # stopped while another process held it
