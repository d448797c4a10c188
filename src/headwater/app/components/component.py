"""`Component`: the life cycle of everything in a run besides capture and the data tables."""

import threading

from headwater.app.components.batch_note import BatchNote
from headwater.app.components.run_report import RunReport
from headwater.capture.consumer import CommitReport
from headwater.errors import HeadwaterError
from headwater.observability.part_board import PartBoard, build_part


class Component:
    """A run calls each hook of all its components; a component implements those that it needs.

    A run that continues until it is stopped calls `start` when the session is up. A run that ends by itself
    calls `backfill` when the queue is empty, and `catch_up` when the tables are up to date. Both call
    `on_batch` after each batch and `on_capture` after each commit of capture, and at the end `stop` and
    `add_to`. `backfill` and `catch_up` may raise `HeadwaterError`, which is kept as `failure`.

    `is_early`: starts with every run, before the session is up. `needs_all_tables`: does not catch up while a
    table fails. `failure` is the error to report at the end of the run, `defect` an unexpected one, which the
    run raises. `part` reports the state for operators.
    """

    is_early = False
    needs_all_tables = False

    def __init__(self, name: str) -> None:
        self.name = name
        self.failure: HeadwaterError | None = None
        self.defect: Exception | None = None
        self.part = build_part(name)

    def report_to(self, board: PartBoard) -> None:
        """Report the state of the component to the board. Call it before `start`."""
        self.part = board.add(self.name)

    def start(self) -> None:
        """Begin to work concurrently with the run."""

    def on_batch(self, batch: BatchNote) -> None:
        """Note a batch that has ended. Called by the threads of the tables; must not block."""

    def on_capture(self, report: CommitReport) -> None:
        """Note a commit of capture. Called by the thread of capture; must not block."""

    def backfill(self, stop: threading.Event) -> None:
        """Append the events that capture missed, before the tables catch up."""

    def catch_up(self, stop: threading.Event) -> None:
        """Process everything committed so far, once, unless `stop` is set."""

    def stop(self) -> None:
        """End the work that `start` began. Idempotent, also without `start`."""

    @property
    def has_ended(self) -> bool:
        """True if nothing that `start` began works any more."""
        return True

    def add_to(self, report: RunReport) -> None:
        """Add what the component did to the report of the run."""
        if self.failure is not None:
            report.component_failures[self.name] = self.failure
