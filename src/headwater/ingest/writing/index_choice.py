"""`IndexChoice`: the record index of a table that has grown, if its configuration leaves the index open."""

import logging
import time

from headwater.config.table import TableConfig
from headwater.lake.auto_index import choose_record_index, may_build, settle_index
from headwater.lake.options import RecordIndex
from headwater.lake.table import Table

_log = logging.getLogger(__name__)

_MEASURE_SECONDS = 6 * 3600.0
"""Between two measurements of a table, which list all of its files."""


class IndexChoice:
    """Decides for one table, before each of its writes. Use from the thread that writes."""

    def __init__(self, name: str, config: TableConfig, table: Table) -> None:
        self._name = name
        self._config = config
        self._table = table
        self._settled: TableConfig | None = None
        self._may_build = may_build(config)
        self._measured: float | None = None

    def settle(self) -> TableConfig:
        """Return the configuration with the index that the next write uses. Raises `LakeError`."""
        if self._settled is None:
            self._settled = settle_index(self._config, self._table.find_record_index())
        if self._may_build and self._settled.index is None and self._is_due() and self._is_only_writer():
            self._measured = time.monotonic()
            self._settled = settle_index(self._config, self._choose())
        return self._settled

    def _is_due(self) -> bool:
        return self._measured is None or time.monotonic() - self._measured >= _MEASURE_SECONDS

    def _is_only_writer(self) -> bool:
        """True if no other process can complete a write, such as a compaction, without the new index."""
        timeline = self._table.load_timeline()
        if not timeline.exists() or not timeline.has_commits() or self._table.has_lock(self._name):
            return False
        return all(instant.state == "completed" for instant in timeline.active)

    def _choose(self) -> RecordIndex | None:
        size = self._table.estimate_bytes()
        chosen = choose_record_index(self._config, size, self._table.measure_partitions)
        if chosen is not None:
            text = "table %s has grown to %d MB: the next write takes longer, and builds its index (%s)"
            _log.info(text, self._name, size // 10**6, chosen)
        return chosen
