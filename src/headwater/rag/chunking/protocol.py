"""What headwater asks of something that cuts texts."""

from typing import Protocol


class Chunker(Protocol):
    """Pure and thread-safe; the same text always gives the same pieces."""

    def split(self, text: str) -> list[str]:
        """Pieces in their order, none of them empty, none larger than the size asked for.

        A text that fits is one piece, unchanged but for space at its ends.
        """
        ...
