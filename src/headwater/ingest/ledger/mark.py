"""`Mark`: how far the ledger follows a data table. Pure."""

from dataclasses import dataclass

from headwater.capture.position import BEGINNING, Position


@dataclass(frozen=True, slots=True)
class Mark:
    """How far the ledger follows a data table: its commits completed up to `commit`, whose checkpoint is
    `position`. `has_looked`: content was found by looking, or from a listing, and may not be named yet."""

    commit: str = ""
    position: Position = BEGINNING
    has_looked: bool = False
