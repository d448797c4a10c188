"""`Cloud`: what a demo does with a bucket and its notifications, whatever the vendor."""

from collections.abc import Mapping
from typing import Protocol


class Cloud(Protocol):
    """A running emulator with one empty bucket, whose notifications reach a queue.

    All methods raise `SourceError` when the emulator refuses.
    """

    @property
    def title(self) -> str:
        """Return what runs and where: `S3 and SQS run at http://..., bucket ...`."""
        ...

    @property
    def scheme(self) -> str:
        """Return the scheme of addresses, such as `s3`."""
        ...

    @property
    def source(self) -> str:
        """Return the `source` section of headwater.yaml."""
        ...

    @property
    def environment(self) -> Mapping[str, str]:
        """Return the variables with which any process uses the emulator."""
        ...

    def put(self, key: str, body: bytes) -> None:
        """Write an object."""
        ...

    def remove(self, key: str) -> None:
        """Remove an object."""
        ...

    def read(self, key: str) -> bytes:
        """Return an object's bytes."""
        ...

    def send_again(self, key: str) -> None:
        """Send the notification of an object a second time."""
        ...

    def announce(self, key: str) -> None:
        """Send a notification of an object that does not exist; its key needs no encoding."""
        ...

    def send(self, text: str) -> None:
        """Send a message."""
        ...

    def count_dead_letters(self) -> int:
        """Return the number of messages that were given up; 0 if the queue never gives up."""
        ...
