"""`Decision`: the action for one event. Pure."""

from dataclasses import dataclass
from typing import Literal

from headwater.capture.stored_event import StoredEvent
from headwater.sources.object_event import ObjectEvent

Action = Literal["read", "look", "retract", "skip"]
"""Read the event's content; read the current content; delete the object's rows; do nothing."""

Reason = Literal[
    "superseded",
    "already_ingested",
    "already_removed",
    "removal_ignored",
    "not_content",
    "folder_marker",
    "dropped",
    "filtered",
    "outside_window",
    "cleaned",
    "tagged",
]


@dataclass(frozen=True, slots=True)
class Decision:
    """The action for one event, and the reason if nothing is read for it.

    `may_exist`: the table may have rows of the content, ingested for another reason than its own
    notification. `kept`: the number of these rows.
    """

    stored: StoredEvent
    action: Action
    reason: Reason | None = None
    may_exist: bool = False
    kept: int = 0


def is_folder_marker(event: ObjectEvent) -> bool:
    """True if the event is about an empty object with which a console represents a folder."""
    return event.key.endswith("/") and not event.size
