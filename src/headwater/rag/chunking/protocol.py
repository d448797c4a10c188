"""The interface of chunkers."""

from typing import Protocol


class Chunker(Protocol):
    """Splits texts. Pure and thread-safe; the same text always gives the same chunks."""

    def split(self, text: str) -> list[str]:
        """Return the chunks in order, none empty, none larger than the configured size.

        A text that fits is one chunk, unchanged except for space at its ends.
        """
        ...
