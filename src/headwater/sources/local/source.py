"""`LocalSource`: a folder, see `headwater.sources.source`."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from headwater.config.source import LocalSourceConfig
from headwater.errors import UsageError
from headwater.observability.clock import Clock
from headwater.sources.finding import SetupFinding
from headwater.sources.lister import Lister, UnusablePath
from headwater.sources.local.checks import check_local_source, ensure_folder
from headwater.sources.local.lister import LocalLister
from headwater.sources.object_store import ObjectStoreConfig


class LocalSource:
    """Files of a folder. Listing it costs no requests, so nothing is paced."""

    def __init__(self, config: LocalSourceConfig) -> None:
        self._config = config

    def build_store_config(self) -> ObjectStoreConfig:
        """See `Source`."""
        return ObjectStoreConfig("local")

    @contextmanager
    def open_lister(
        self, pace: Callable[[], None], on_unusable: Callable[[UnusablePath], None] | None = None
    ) -> Iterator[Lister]:
        """See `Source`."""
        yield LocalLister(self._config.path, on_unusable)

    def parse_address(self, address: str) -> str:
        """See `Source`. An address is an absolute path; files moved with the folder have two."""
        if not address.startswith("/"):
            return address
        folders = (self._config.location, self._config.known_location)
        root = next((folder for folder in folders if Path(address).is_relative_to(folder)), None)
        if root is None:
            raise UsageError(
                f"{address} is not in the source folder {self._config.location}", hint="specify a path in it"
            )
        return str(Path(address).relative_to(root))

    def list_preflight_checks(self, *, captures: bool) -> Sequence[Callable[[], object]]:
        """See `Source`."""
        del captures  # the queue of a folder is in the process
        return [lambda: ensure_folder(self._config)]

    def check(self, *, needs_removals: bool, clock: Clock) -> list[SetupFinding]:
        """See `Source`. The watcher reports every removal."""
        return check_local_source(self._config)
