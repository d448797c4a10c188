"""How far an index has consumed the chunks table, in the form of its checkpoint. Pure."""

from dataclasses import dataclass

from headwater.errors import SearchError


@dataclass(frozen=True, slots=True)
class SyncPosition:
    """`table_id` identifies the chunks table, which may be re-created; `completed` is its newest commit.
    `revision` counts its indexing runs; `as_of` is their newest data table commit."""

    table_id: str
    completed: str
    revision: int
    as_of: str

    def to_text(self) -> str:
        """Serialise for `parse_position`."""
        return "/".join((self.table_id, self.completed, str(self.revision), self.as_of))


def parse_position(text: str) -> SyncPosition:
    """Parse the offset in a checkpoint. Raises `SearchError` for a text of another format."""
    parts = text.split("/")
    if len(parts) != 4 or not parts[2].isdecimal():
        raise SearchError(
            f"cannot parse the checkpoint of the index: {text!r}", hint="rebuild it: headwater index build"
        )
    return SyncPosition(parts[0], parts[1], int(parts[2]), parts[3])
