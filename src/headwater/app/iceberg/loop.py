"""Iceberg views as part of a run: a thread that follows the commits of the data tables."""

import threading
from collections.abc import Callable

from headwater.app.components import CommitLoop
from headwater.app.iceberg.views import IcebergViews


class IcebergLoop(CommitLoop):
    """Updates the view of each table with a new commit. A failure of one is no reason to skip the others."""

    def __init__(self, views: IcebergViews, is_session_alive: Callable[[], bool]) -> None:
        super().__init__("iceberg", is_session_alive)
        self._views = views

    def run_pass(self, stop: threading.Event) -> bool:
        """Update the views; True if all of them show what they can."""
        failed = []
        for name in self._views.tables:
            if stop.is_set():
                return True
            try:
                is_done = self._views.follow(name)
            except Exception as error:
                # The next pass may succeed, and commits continue in any case.
                self.note_defect(error)
                return False
            if not is_done:
                failed.append(name)
        self.defect = None
        if failed:
            self.part.retry(f"{failed[0]}: {self._views.find_error(failed[0])}")
        else:
            self.part.note("running")
        return not failed
