"""Chunks by number of characters, split at paragraphs, sentences and words where possible."""

from semantic_text_splitter import TextSplitter


class CharacterChunker:
    """Splits text into chunks; `size` and `overlap` are in characters."""

    def __init__(self, size: int, overlap: int) -> None:
        self._size = size
        self._splitter = TextSplitter(size, overlap)

    def split(self, text: str) -> list[str]:
        """Split the text into pieces of at most `size` characters."""
        text = text.strip()
        # Most rows are short, and calling the splitter costs more than this check.
        if len(text) <= self._size:
            return [text] if text else []
        return self._splitter.chunks(text)
