"""`Decision`: what is to be done for one event. Pure."""

from dataclasses import dataclass
from typing import Literal

from headwater.capture.object_event import ObjectEvent
from headwater.capture.stored_event import StoredEvent

Action = Literal["read", "look", "retract", "skip"]
"""Read the content that the event names; read the current content; delete the object's rows; nothing."""

Reason = Literal[
    "superseded",
    "already_ingested",
    "already_removed",
    "removal_ignored",
    "not_content",
    "folder_marker",
    "dropped",
    "filtered",
    "cleaned",
    "tagged",
]


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do for one event, and why nothing is read for it.

    `may_exist`: the table may have rows of the content, ingested when something else than its own event led
    to it. `kept`: the table has so many rows of it.
    """

    stored: StoredEvent
    action: Action
    reason: Reason | None = None
    may_exist: bool = False
    kept: int = 0


def is_folder_marker(event: ObjectEvent) -> bool:
    """True if the event is about an empty object with which a console shows a folder."""
    return event.key.endswith("/") and not event.size
