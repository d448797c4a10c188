"""Pieces of so many characters, cut at paragraphs, sentences and words as far as they fit."""

from semantic_text_splitter import TextSplitter


class CharacterChunker:
    """`size` and `overlap` are characters."""

    def __init__(self, size: int, overlap: int) -> None:
        self._size = size
        self._splitter = TextSplitter(size, overlap)

    def split(self, text: str) -> list[str]:
        """Pieces of at most `size` characters."""
        text = text.strip()
        # Most rows are short, and asking the splitter costs more than looking.
        if len(text) <= self._size:
            return [text] if text else []
        return self._splitter.chunks(text)
