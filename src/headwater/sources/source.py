"""`Source`: what a run asks of its configured source, whatever the vendor."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from headwater.observability.clock import Clock
from headwater.sources.finding import SetupFinding
from headwater.sources.lister import Lister, UnusablePath
from headwater.sources.object_store import ObjectStoreConfig


class Source(Protocol):
    """A bucket or folder as configured. Building one opens no connection."""

    def build_store_config(self) -> ObjectStoreConfig:
        """Return where and how objects are fetched."""
        ...

    def open_lister(
        self, pace: Callable[[], None], on_unusable: Callable[[UnusablePath], None] | None = None
    ) -> AbstractContextManager[Lister]:
        """Open a lister.

        `pace` is called before each request to a bucket, `on_unusable` with each path of a folder that
        cannot be listed.
        """
        ...

    def parse_address(self, address: str) -> str:
        """Return the key of an address in the source; a key alone is returned unchanged.

        Raises `UsageError` for an address in another bucket or folder.
        """
        ...

    def list_preflight_checks(self, *, captures: bool) -> Sequence[Callable[[], object]]:
        """Return the checks before a run. Each raises an expected error if it fails.

        A process that does not capture reads the objects only, and may lack access to the queue.
        """
        ...

    def check(self, *, needs_removals: bool, clock: Clock) -> list[SetupFinding]:
        """Return findings about the source and its notifications, for `doctor`.

        `needs_removals`: some table needs events of deleted objects.
        """
        ...
