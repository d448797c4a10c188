"""`Elected`: components that only one of several processes runs."""

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from math import inf

from headwater.app.components.batch_note import BatchNote
from headwater.app.components.component import Component
from headwater.app.components.run_report import RunReport
from headwater.capture.consumer import CommitReport
from headwater.errors import TableBusyError
from headwater.observability.part_board import PartBoard, describe_error

Hold = Callable[[threading.Event, float], AbstractContextManager[None]]
"""Holds the lease; waits for it for so many seconds. Raises `TableBusyError`."""


class Elected(Component):
    """Starts its components once this process holds the lease; until then it waits as a standby.

    A run that ends by itself does not wait: if another process holds the lease, it leaves the work to that.
    """

    def __init__(self, components: Sequence[Component], hold: Hold) -> None:
        super().__init__("reconcile-lease")
        self._components = components
        self._hold = hold
        self._held = ExitStack()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._wait, name="elected", daemon=True)
        self._board = PartBoard()
        self._is_leading = False
        self.needs_all_tables = any(component.needs_all_tables for component in components)

    def report_to(self, board: PartBoard) -> None:
        """Report to the board; the components do once they work."""
        super().report_to(board)
        self._board = board

    def start(self) -> None:
        """Wait for the lease in the background, then start the components."""
        self._thread.start()

    def on_batch(self, batch: BatchNote) -> None:
        """Pass it on."""
        for component in self._components:
            component.on_batch(batch)

    def on_capture(self, report: CommitReport) -> None:
        """Pass it on."""
        for component in self._components:
            component.on_capture(report)

    def backfill(self, stop: threading.Event) -> None:
        """Let the components do so, if no other process holds the lease."""
        try:
            self._held.enter_context(self._hold(stop, 0))
        except TableBusyError:
            return
        self._is_leading = True
        for component in self._components:
            component.report_to(self._board)
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
        self.defect = self.defect or next((c.defect for c in self._components if c.defect), None)

    @property
    def has_ended(self) -> bool:
        """True if all components have ended."""
        return all(component.has_ended for component in self._components)

    def add_to(self, report: RunReport) -> None:
        """Add the failures and what the components did."""
        super().add_to(report)
        for component in self._components:
            component.add_to(report)

    def _wait(self) -> None:
        self.part.note("waiting")
        try:
            with self._hold(self._stop, inf):
                self._lead()
        except TableBusyError:
            pass  # stopped while another process held it
        except Exception as error:
            self.part.fail(describe_error(error))
            self.defect = error
            return
        self.part.note("stopped")

    def _lead(self) -> None:
        self.part.note("running")
        try:
            for component in self._components:
                component.report_to(self._board)
                component.start()
            self._stop.wait()
        finally:
            for component in reversed(self._components):
                component.stop()
