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
    "set_open",
    "set_superseded",
    "set_end",
    "not_in_manifest",
]
"""Why nothing is read. Of a file of a set (see `ingest.sets`): the set is not complete yet, a newer one is in
the table, the file is a marker or a manifest, or the manifest does not list it.
"""


@dataclass(frozen=True, slots=True)
class Decision:
    """The action for one event, and the reason if nothing is read for it.

    `may_exist`: the table may have rows of the content, ingested for another reason than its own
    notification. `kept`: the number of these rows. `detail` explains the reason.
    """

    stored: StoredEvent
    action: Action
    reason: Reason | None = None
    may_exist: bool = False
    kept: int = 0
    detail: str = ""


def is_folder_marker(event: ObjectEvent) -> bool:
    """True if the event is about an empty object with which a console represents a folder."""
    return event.key.endswith("/") and not event.size
