"""Desired attribute values, and the value to write; keeps values that already satisfy them. Pure."""

from dataclasses import dataclass
from typing import Protocol


class DesiredValue(Protocol):
    """`settle` returns the value to write, which is the found value if no change is needed."""

    def settle(self, found: str) -> str:
        """Return the value to write; `found` is empty if the attribute is absent. Idempotent."""
        ...


@dataclass(frozen=True, slots=True)
class Exactly:
    """Exactly this text; the empty text removes the attribute."""

    value: str

    def settle(self, found: str) -> str:
        """See `DesiredValue.settle`."""
        del found
        return self.value


@dataclass(frozen=True, slots=True)
class AtLeast:
    """A number of at least `minimum`; `preferred` if it is below or absent."""

    minimum: int
    preferred: int

    def settle(self, found: str) -> str:
        """See `DesiredValue.settle`."""
        return found if found.isdecimal() and int(found) >= self.minimum else str(self.preferred)


@dataclass(frozen=True, slots=True)
class Includes:
    """A list with this entry: sorted texts, separated by a comma and a space. Other entries are kept."""

    entry: str

    def settle(self, found: str) -> str:
        """See `DesiredValue.settle`."""
        entries = set(found.split(", ")) if found else set()
        return found if self.entry in entries else ", ".join(sorted({*entries, self.entry}))
