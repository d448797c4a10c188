"""`Watermark`: the ledger's watermark for a data table. Pure."""

from dataclasses import dataclass

from headwater.capture.position import BEGINNING, Position


@dataclass(frozen=True, slots=True)
class Watermark:
    """The ledger includes the table's commits completed up to `commit`, whose checkpoint is `position`.
    `has_unconfirmed`: content was found by a read or a listing, and may still lack its notification.
    """

    commit: str = ""
    position: Position = BEGINNING
    has_unconfirmed: bool = False
