"""How far an index has followed the chunks table, as the text that its checkpoint keeps. Pure."""

from dataclasses import dataclass

from headwater.errors import SearchError


@dataclass(frozen=True, slots=True)
class SyncPosition:
    """`table_id` is of the chunks table, which may have been made anew; `completed` of its newest commit;
    `revision` counts its indexing runs; `as_of` is the data table's newest commit that they have seen."""

    table_id: str
    completed: str
    revision: int
    as_of: str

    def to_text(self) -> str:
        """Inverse of `parse_position`."""
        return "/".join((self.table_id, self.completed, str(self.revision), self.as_of))


def parse_position(text: str) -> SyncPosition:
    """The position in a checkpoint. Raises `SearchError` for what nobody of us wrote."""
    parts = text.split("/")
    if len(parts) != 4 or not parts[2].isdecimal():
        raise SearchError(
            f"the index's checkpoint cannot be read: {text!r}", hint="make a new one: headwater index build"
        )
    return SyncPosition(parts[0], parts[1], int(parts[2]), parts[3])
