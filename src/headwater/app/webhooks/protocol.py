"""The contract of a sender of documents."""

from typing import Protocol

from headwater.app.webhooks.documents import Document

_RETRIED_STATUSES = frozenset({408, 425, 429})


class DeliveryError(Exception):
    """A document was not delivered. `is_lasting`: the target rejects it, so a retry is useless."""

    def __init__(self, message: str, *, is_lasting: bool) -> None:
        super().__init__(message)
        self.is_lasting = is_lasting


class Sender(Protocol):
    """Sends documents to one target. Used by one thread."""

    def send(self, document: Document) -> None:
        """Deliver a document; blocks for the timeout at most. Raises `DeliveryError`."""
        ...


def is_lasting_status(status: int) -> bool:
    """True if a retry of a request with this HTTP status is useless."""
    return 400 <= status < 500 and status not in _RETRIED_STATUSES
