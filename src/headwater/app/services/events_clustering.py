"""`EventsClustering`: merges the small files of the events table, one of which each commit adds."""

import threading
import time
from collections import Counter
from datetime import datetime, timezone

import structlog

from headwater.app.application import App
from headwater.app.components import BackgroundLoop
from headwater.capture.fragmentation import ORDER, choose_fragmented
from headwater.errors import HeadwaterError, TableNotFoundError, TableUnsupportedError
from headwater.lake.layout import find_address
from headwater.lake.service_table import ServiceTable
from headwater.lake.services.cleaning import CleanPolicy, clean
from headwater.lake.services.clustering import ClusterOptions, cluster, count_small_files

log = structlog.stdlib.get_logger(__name__)

_PASS_SECONDS = 180.0
_LOOK_SECONDS = 3_600.0
"""Between two listings of the table's files."""


class EventsClustering(BackgroundLoop):
    """Runs concurrently with appends, which never conflict with it: they change no existing file.

    The merged files remain until the next pass for whoever still reads them. Not longer, since Hudi archives
    no commit after a clustering until then, and a long timeline makes every commit slower.
    """

    def __init__(
        self,
        app: App,
        *,
        pass_seconds: float = _PASS_SECONDS,
        look_seconds: float = _LOOK_SECONDS,
    ) -> None:
        super().__init__("events-clustering", app.is_session_alive)
        self._app = app
        self._address = find_address(app.settings, "events")
        self._pass_seconds = pass_seconds
        self._look_seconds = look_seconds
        self._looked_at: float | None = None
        self._may_have_merged = True  # by another process
        self._has_logged = False

    def work(self, stop: threading.Event) -> None:
        """Run passes with pauses between them."""
        while not stop.wait(self._pass_seconds):
            try:
                self.run_pass()
                self.part.note("running")
            except HeadwaterError as error:
                self.part.retry(error.message)
                log.warning("merging the files of the events table failed; retrying", error=error.message)

    def catch_up(self, stop: threading.Event) -> None:
        """Run one pass."""
        if not stop.is_set():
            self.run_pass()

    def run_pass(self) -> None:
        """Delete the files that an earlier pass has merged, then merge others if it is time to look for some.

        Raises `LakeError`.
        """
        self._app.use_pool("events-clustering")
        table = ServiceTable(self._app.spark, self._address)
        try:
            self._delete_merged(table)
            self._merge(table)
        except TableNotFoundError:
            return

    def _delete_merged(self, table: ServiceTable) -> None:
        if not self._may_have_merged:
            return
        actions = [commit.action for commit in table.load_timeline().commits]
        if actions[-1:] == ["replacecommit"]:
            return  # Hudi retains what the newest commit replaced
        if "replacecommit" in actions:
            done = clean(table, CleanPolicy("commits", 1))
            log.debug("deleted merged files of the events table", files=done.files)
        self._may_have_merged = False

    def _merge(self, table: ServiceTable) -> None:
        now = time.monotonic()
        if self._looked_at is not None and now - self._looked_at < self._look_seconds:
            return
        table.load_timeline()  # raises an error without a table
        try:
            small = count_small_files(self._address, ClusterOptions())
        except TableUnsupportedError as error:
            if not self._has_logged:
                self._has_logged = True
                log.info("the small files of the events table are not merged", reason=error.message)
            small = Counter()
        partitions = choose_fragmented(small, datetime.now(timezone.utc).date())
        if partitions:
            self._cluster(table, small, partitions)
        # Only now: the next pass repeats a clustering that failed, whose plan keeps commits active.
        self._looked_at = now

    def _cluster(self, table: ServiceTable, small: Counter[str], partitions: tuple[str, ...]) -> None:
        self._may_have_merged = True
        done = cluster(table, ClusterOptions(sort=ORDER, partitions=partitions))
        merged = sum(small[path] for path in partitions)
        seconds = round(done.seconds, 1)
        log.info("merged files of the events table", files=merged, into=done.files, seconds=seconds)
