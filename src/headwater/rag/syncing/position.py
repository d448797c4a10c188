"""How far an index has consumed the chunks table, in the form of its checkpoint. Pure."""

import json
from dataclasses import dataclass, replace

from headwater.errors import SearchError


@dataclass(frozen=True, slots=True)
class SyncPosition:
    """`table_id` identifies the chunks table, which may be re-created; `completed` is its newest commit.
    `revision` counts its indexing runs; `as_of` is their newest data table commit.

    `ahead` are the keys of rows whose points may be newer than the chunks. With them, the index has the state
    of the data table's commit `ahead_as_of`.
    """

    table_id: str
    completed: str
    revision: int
    as_of: str
    ahead_as_of: str = ""
    ahead: tuple[str, ...] = ()

    @property
    def newest_as_of(self) -> str:
        """Return the newest data table commit in the index."""
        return max(self.as_of, self.ahead_as_of)

    @property
    def of_chunks(self) -> "SyncPosition":
        """Return the offset in the chunks table alone."""
        return replace(self, ahead_as_of="", ahead=())

    def to_text(self) -> str:
        """Serialise for `parse_position`."""
        parts = [self.table_id, self.completed, str(self.revision), self.as_of]
        if self.ahead or self.ahead_as_of:
            parts += [self.ahead_as_of, json.dumps(self.ahead, ensure_ascii=False)]
        return "/".join(parts)


def parse_position(text: str) -> SyncPosition:
    """Parse the offset in a checkpoint. Raises `SearchError` for a text of another format."""
    parts = text.split("/", 5)
    try:
        table_id, completed, revision, as_of, *rest = parts
        ahead_as_of, keys = rest or ("", "[]")
        return SyncPosition(table_id, completed, int(revision), as_of, ahead_as_of, tuple(json.loads(keys)))
    except ValueError as error:
        raise SearchError(
            f"cannot parse the checkpoint of the index: {text!r}", hint="rebuild it: headwater index build"
        ) from error
