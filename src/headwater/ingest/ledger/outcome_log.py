"""The outcomes of a batch in its commit, from which the ledger is built and rebuilt. Pure."""

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headwater.capture.stored_event import StoredEvent
from headwater.ingest.planning.ledger_entry import MAX_DETAIL_CHARS
from headwater.ingest.planning.outcome import ObjectOutcome, OutcomeStatus

OUTCOMES_KEY = "outcomes"
_SAME = "="


@dataclass(frozen=True, slots=True)
class LoggedOutcome:
    """An `ObjectOutcome` with the id of its event."""

    event_id: str
    status: OutcomeStatus
    reason: str = ""
    version: str = ""
    rows: int = 0
    bad_rows: int = 0
    bytes: int = 0
    looked: bool = False
    detail: str = ""
    etag: str = ""
    kept: int = 0

    def to_outcome(self, stored: StoredEvent) -> ObjectOutcome:
        """Return the outcome, given its event."""
        return ObjectOutcome(
            stored=stored,
            status=self.status,
            reason=self.reason,
            detail=self.detail,
            bytes=self.bytes,
            rows=self.rows,
            bad_rows=self.bad_rows,
            version=self.version,
            etag=self.version if self.etag == _SAME else self.etag,
            looked=self.looked,
            kept=self.kept,
        )


def encode_outcomes(outcomes: Iterable[ObjectOutcome]) -> str:
    """Return text for commit metadata, in the given order; about 40 bytes per outcome."""
    rows = []
    for o in outcomes:
        detail = o.detail[:MAX_DETAIL_CHARS]
        # The etag already identifies an object without versions.
        etag = _SAME if o.etag and o.etag == o.version else o.etag
        row = [o.stored.event_id, o.status, o.reason, o.version, o.rows, o.bad_rows, o.bytes]
        row += [o.looked, detail, etag, o.kept]
        while row[-1] in ("", 0, False):
            row.pop()
        rows.append(row)
    text = json.dumps(rows, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 6)).decode("ascii")


def decode_outcomes(metadata: Mapping[str, str]) -> list[LoggedOutcome]:
    """Return the outcomes in a commit's metadata; empty if it has none."""
    text = metadata.get(OUTCOMES_KEY)
    if not text:
        return []
    return [LoggedOutcome(*row) for row in json.loads(zlib.decompress(base64.b64decode(text)))]
