"""`Decision`: what is to be done for one event. Pure."""

from dataclasses import dataclass
from typing import Literal

from headwater.capture.object_event import ObjectEvent
from headwater.capture.stored_event import StoredEvent

Action = Literal["read", "look", "retract", "skip"]
"""Read what the event names; look what lies under the key now; take the object's rows away; nothing."""

Reason = Literal[
    "superseded",
    "already_ingested",
    "already_removed",
    "removal_ignored",
    "not_content",
    "folder_marker",
    "empty_object",
    "dropped",
    "filtered",
    "cleaned",
    "tagged",
]


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do for one event, and why nothing is read for it. `version`: only that version's rows go.
    `kept`: so many rows of the content are in the table already."""

    stored: StoredEvent
    action: Action
    reason: Reason | None = None
    version: str = ""
    kept: int = 0


def find_rowless_reason(event: ObjectEvent) -> Reason | None:
    """Why content that an event names cannot have any rows; None when it may have some."""
    if event.size == 0 or (event.size is None and event.key.endswith("/")):
        return "folder_marker" if event.key.endswith("/") else "empty_object"
    return None


def is_certain_removal(event: ObjectEvent) -> bool:
    """Whether nothing lies under the key after the event.

    In a bucket with versions the deletion of one version, told by its id, may bring an older one back.
    """
    if event.kind != "removed":
        return False
    return event.version_id in (None, "", "null") or event.event_name.endswith("DeleteMarkerCreated")
