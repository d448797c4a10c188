"""Events that name a folder, whose objects have no events of their own: its objects are listed instead."""

from collections.abc import Callable, Iterator, Sequence

import structlog

from headwater.capture.captured_event import CapturedEvent
from headwater.errors import SourceError

log = structlog.stdlib.get_logger(__name__)


class FolderEvents:
    """Appends the events of the objects below the folders that a batch names, by `settle_folder`."""

    def __init__(self, bucket: str, settle_folder: Callable[[str], None]) -> None:
        self._bucket = bucket
        self._settle_folder = settle_folder

    def settle(self, batch: Sequence[CapturedEvent]) -> None:
        """List each folder of the batch. The messages of the batch must not be deleted before.

        A folder that cannot be listed at all is left to the next reconcile, and logged. Raises `LakeError`,
        and `SourceError` if a later try may succeed.
        """
        for folder in find_folders(batch, self._bucket):
            try:
                self._settle_folder(folder)
            except SourceError as error:
                if error.retryable:
                    raise
                log.warning(
                    "objects below a renamed or removed folder are unknown",
                    folder=folder,
                    error=error.message,
                    hint=error.hint,
                )


def find_folders(batch: Sequence[CapturedEvent], bucket: str) -> Iterator[str]:
    """Yield the folders that the batch names, without those below another one. Pure."""
    events = (captured.event for captured in batch)
    named = {
        f"{event.key.rstrip('/')}/" for event in events if event.kind == "folder" and event.bucket == bucket
    }
    # In order, a folder comes before those below it.
    last = ""
    for folder in sorted(named):
        if not last or not folder.startswith(last):
            last = folder
            yield folder
