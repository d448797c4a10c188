"""`Subject`: what a request is about, as its error messages name it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a request: its name in messages, its configuration key, the rights it requires."""

    name: str
    setting: str
    rights: str
