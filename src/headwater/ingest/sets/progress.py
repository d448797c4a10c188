"""`SetProgress`: the set that a table has applied, and those that are open, in its commit metadata. Pure."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Final, Literal

from headwater.ingest.sets.names import SetNames, order_name

SETS_KEY = "sets"
"""Commit metadata key."""
SMALL_SET: Final = "small_set"
"""The reason of the files of a set that has too few rows: it is held back until it is retried."""


@dataclass(frozen=True, slots=True)
class SetProgress:
    """`applied` is the name of the newest set in the table, empty before the first. Its `time` is in ISO
    format, and `rows` is the number of its keys. `keeps_missing`: some of its records are in quarantine, so
    that rows which it lacks stay in the table.

    `open` says what each newer set lacks, by name. `accepted` are those that a user has accepted, however
    small they are.
    """

    applied: str = ""
    time: str = ""
    rows: int = 0
    keeps_missing: bool = False
    open: Mapping[str, str] = field(default_factory=dict)
    accepted: Sequence[str] = ()

    @property
    def applied_at(self) -> datetime | None:
        """Return the time of the applied set."""
        return datetime.fromisoformat(self.time) if self.time else None

    def apply(self, name: str, time: datetime, *, keeps_missing: bool) -> "SetProgress":
        """Return the progress after the set was applied: older ones are not needed any more."""
        first = order_name(name)
        newer = {other: why for other, why in self.open.items() if order_name(other) > first}
        accepted = tuple(other for other in self.accepted if order_name(other) > first)
        return replace(
            self,
            applied=name,
            time=time.isoformat(),
            keeps_missing=keeps_missing,
            open=newer,
            accepted=accepted,
        )

    def place(self, names: SetNames, key: str) -> tuple[Literal["pending", "skipped"], str] | None:
        """Return whether a file waits for its set, or is not needed, and why.

        None for one that belongs to the set in the table, to one that was held back, or to none.
        """
        found = names.find(key)
        if found is None:
            return None
        name, role = found
        if role != "file":
            return "skipped", "set_end"
        if self.applied and order_name(name) < order_name(self.applied):
            return "skipped", "set_superseded"
        why = self.open.get(name, "")
        return ("pending", f"its set is not complete: {why}") if why and not is_held(why) else None

    def accept(self, names: Iterable[str]) -> "SetProgress":
        """Return the progress with further accepted sets."""
        return replace(self, accepted=tuple(dict.fromkeys((*self.accepted, *names))))

    def hold(self, name: str, why: str) -> "SetProgress":
        """Return the progress with the set held back because it is small."""
        return replace(self, open={**self.open, name: f"{SMALL_SET}: {why}"})

    def to_metadata(self) -> dict[str, str]:
        """Return the commit metadata."""
        return {SETS_KEY: json.dumps(asdict(self), sort_keys=True)}


def is_held(why: str) -> bool:
    """True if a set is open because it is held back."""
    return why.startswith(SMALL_SET)


def parse_set_progress(text: str) -> SetProgress:
    """Parse the value of `SetProgress.to_metadata`; empty for a table without a set. Raises `ValueError`."""
    return SetProgress(**json.loads(text)) if text else SetProgress()
